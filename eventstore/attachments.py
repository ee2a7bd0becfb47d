"""Bytes taken out of messages: stored once per content, in slices, as long as a piece of a body refers to them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence

from eventstore import media
from eventstore.driver import Connection, fetch, fetch_one
from eventstore.errors import DamagedStore

SLICES = 1 << 20
"""The slices of attachment `key` are numbered from `key * SLICES` on. The number is the rowid: were it a key of several
columns, SQLite would read every row that it passes whole, to compare it."""


def store(connection: Connection, base64: str) -> int:
    """Stores bytes, unless they are there, and returns their key. A piece must refer to them in this transaction."""
    digest, size = _digest(media.decoded(base64))
    row = fetch_one(connection, "SELECT key FROM attachment WHERE digest = ?", (digest,))
    if row is not None:
        return int(row[0])
    (key,) = fetch_one(connection, "INSERT INTO attachment (digest, bytes) VALUES (?, ?) RETURNING key", (digest, size))
    for n, data in enumerate(media.decoded(base64)):
        connection.execute("INSERT INTO attachment_slice VALUES (?, ?)", (key * SLICES + n, data))
    return int(key)


def store_slices(connection: Connection, digest: bytes, slices: list[bytes]) -> int:
    """As `store`, of bytes that were stored elsewhere."""
    size = sum(map(len, slices))
    (key,) = fetch_one(connection, "INSERT INTO attachment (digest, bytes) VALUES (?, ?) RETURNING key", (digest, size))
    for n, data in enumerate(slices):
        connection.execute("INSERT INTO attachment_slice VALUES (?, ?)", (key * SLICES + n, data))
    return int(key)


def _digest(slices: Iterable[bytes]) -> tuple[bytes, int]:
    from hashlib import sha256  # OpenSSL's, which takes as long to load as a dozen modules

    digest, size = sha256(), 0
    for data in slices:
        digest.update(data)
        size += len(data)
    return digest.digest(), size


def _slices(connection: Connection, key: int, size: int) -> Iterator[bytes]:
    """Stored bytes, up to `size` of them: fewer when some are missing."""
    n = found = 0
    while found < size:
        row = fetch_one(connection, "SELECT bytes FROM attachment_slice WHERE number = ?", (key * SLICES + n,))
        if row is None:
            return
        yield row[0]
        n += 1
        found += len(row[0])


def read(connection: Connection, key: int, length: int) -> str:
    """The base64 of stored bytes, of so many characters. Raises `DamagedStore` when that isn't there."""
    pieces = [media.encoded(data) for data in _slices(connection, key, length // 4 * 3)]
    base64 = pieces[0] if len(pieces) == 1 else "".join(pieces)
    if not length or len(base64) != length:
        mend = "verify() says more; where there is no backup, recover() saves the rest"
        raise DamagedStore(f"bytes of attachment {key} are missing; {mend}")
    return base64


def referred(connection: Connection, owner: int, above: int) -> list[int]:
    """The attachments that pieces of a body, of versions above one, refer to."""
    rows = fetch(
        connection,
        "SELECT DISTINCT attachment FROM piece WHERE event = ? AND version > ? AND attachment IS NOT NULL",
        (owner, above),
    )
    return [key for (key,) in rows]


def collect(connection: Connection, keys: Iterable[int]) -> None:
    """Removes those of these attachments that no piece refers to any more."""
    for key in keys:
        if fetch_one(connection, "SELECT 1 FROM piece WHERE attachment = ? LIMIT 1", (key,)) is None:
            numbers = (key * SLICES, (key + 1) * SLICES)
            connection.execute("DELETE FROM attachment_slice WHERE number >= ? AND number < ?", numbers)
            connection.execute("DELETE FROM attachment WHERE key = ?", (key,))


def are_placed(text: str, places: Sequence[tuple[int, int]], size: int) -> bool:
    """Whether base64 of such lengths fills the empty places of a text, and makes it as long as it was in bytes.

    A string that a write emptied ends there, and is all base64 or a data URL up to its comma. No digest covers that.
    """
    before = 0
    for at, length in places:
        end = at - before
        if text[end : end + 1] != '"' or text[end - 1 : end] not in ('"', ","):
            return False
        before += length
    return len(text.encode()) + before == size


def check(connection: Connection) -> Iterator[str]:
    """What is wrong with the attachments: missing, orphaned, or other bytes than their digest says."""
    missing = (
        "SELECT DISTINCT event, attachment FROM piece "
        "WHERE attachment IS NOT NULL AND attachment NOT IN (SELECT key FROM attachment)"
    )
    for event, key in fetch(connection, missing):
        yield f"event {event}: attachment {key} is missing"
    orphans = (
        "SELECT key FROM attachment WHERE key NOT IN (SELECT attachment FROM piece WHERE attachment IS NOT NULL) "
        "UNION SELECT number / ?1 FROM attachment_slice WHERE number / ?1 NOT IN (SELECT key FROM attachment)"
    )
    for (key,) in fetch(connection, orphans, (SLICES,)):
        yield f"attachment {key}: nothing refers to it"
    for key, digest, size in fetch(connection, "SELECT key, digest, bytes FROM attachment"):
        if _digest(_slices(connection, key, sys.maxsize)) != (digest, size):
            yield f"attachment {key}: its bytes don't fit its digest"
