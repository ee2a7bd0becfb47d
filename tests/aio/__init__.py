"""The store on event loops."""
