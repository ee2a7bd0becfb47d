"""An event-sourced store for conversations, embedded on SQLite."""
