"""Files of peers, touched beside the peer: by the standard library's sqlite3."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path


def make_wal(path: Path) -> None:
    """Gives a file the journal mode that it then keeps: for peers whose connections can't be told."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = wal")
    connection.close()


def multiply(path: Path, table: str, rows: Iterable[Mapping[str, object]]) -> None:
    """Fills a table with copies of its only row, each with some columns of its own: as the peer wrote it."""
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    row = dict(connection.execute(f"SELECT * FROM {table}").fetchone())
    names, marks = ", ".join(f'"{name}"' for name in row), ", ".join(f":{name}" for name in row)
    connection.execute(f"DELETE FROM {table}")
    connection.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", ({**row, **own} for own in rows))
    connection.commit()
    connection.close()
