"""The same work done by the store, by what people use today, and by bare SQLite. See ../README.md."""
