"""What lies in a file, seen by a connection of its own."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import apsw

from eventstore.attachments import SLICES


def attachments(path: Path) -> dict[bytes, bytes]:
    """The bytes that are stored apart, by their SHA-256; asserts that digests, lengths and slices fit."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        found: dict[bytes, bytes] = {}
        rows: Any = connection.execute("SELECT key, digest, bytes FROM attachment").fetchall()
        for key, digest, size in rows:
            number = key * SLICES
            slices: Any = connection.execute(
                "SELECT bytes FROM attachment_slice WHERE number >= ? AND number < ? ORDER BY number",
                (number, number + SLICES),
            )
            found[digest] = b"".join(data for (data,) in slices)
            assert sha256(found[digest]).digest() == digest
            assert len(found[digest]) == size
        (loose,) = connection.execute(
            "SELECT count(*) FROM attachment_slice WHERE number / ? NOT IN (SELECT key FROM attachment)",
            (SLICES,),
        ).fetchall()
        assert loose == (0,)
        return found
    finally:
        connection.close()


def contents(path: Path) -> set[bytes]:
    """The bytes that are stored apart."""
    return set(attachments(path).values())
