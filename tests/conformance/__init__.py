"""Recorded behaviour of the JavaScript reference, replayed against this store: `python -m tests.conformance`."""
