"""Every table of a store's file, row for row, through a connection of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw

Tables = dict[str, list[tuple[Any, ...]]]


def tables(path: Path) -> Tables:
    """All rows of all tables, in the order of their columns. Looks at what is committed, and changes nothing."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        names = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        ]
        return {name: sorted(connection.execute(f'SELECT * FROM "{name}"'), key=repr) for name in names}
    finally:
        connection.close()
