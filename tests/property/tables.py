"""Every table of a store's file, row for row, through a connection of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw

Tables = dict[str, list[tuple[Any, ...]]]


def tables(path: Path) -> Tables:
    """All rows of all tables, in the order of their columns. Looks at what is committed, and changes nothing.

    Of the search index, which messages have a word: how FTS5 lays that out in its own tables isn't told.
    """
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        names = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        ]
        found = {
            name: sorted(connection.execute(f'SELECT * FROM "{name}"'), key=repr)
            for name in names
            if name == "search_index" or not name.startswith("search")
        }
        if "search" in names:
            connection.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab('main', 'search', 'instance')")
            found["search"] = sorted(connection.execute("SELECT term, doc FROM temp.words"))
        return found
    finally:
        connection.close()


def postings(path: Path) -> Tables:
    """The tables of the search index; none where nobody has searched."""
    return {name: rows for name, rows in tables(path).items() if name.startswith("search")}
