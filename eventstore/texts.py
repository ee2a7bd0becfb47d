"""What of the log is searched: which version has which text, and the next texts behind a cursor."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import NamedTuple

from eventstore import bodies, codec, log, words
from eventstore.driver import Connection, fetch, fetch_one
from eventstore.parts import PARTS

BATCH_MESSAGES = 2_000
BATCH_BYTES = 4 * 1024 * 1024
_BATCH_EVENTS = 20_000
_TOGETHER = 64  # hashes looked up at once


class Batch(NamedTuple):
    """Texts to index, by version, and the cursor behind them."""

    last: int
    texts: list[tuple[int, str]]


_EVENTS = (
    "SELECT e.seq, e.session, a.seq, a.id, e.bytes FROM event e JOIN event a ON a.seq = coalesce(e.message, e.seq) "
    f"WHERE e.seq > ? AND e.seq <= ? AND e.type IN ({log.APPEND}, {log.UPDATE}, {log.IMPORT}) "
    "AND e.digest IS NOT NULL ORDER BY e.seq LIMIT ?"
)
_CURRENT = (
    "SELECT e.seq, e.flags, e.base, e.body FROM identity i JOIN message m ON m.chain = i.chain AND m.seq = i.seq "
    "JOIN event e ON e.seq = coalesce(m.current, m.seq) WHERE i.hash"
)


def has_new(connection: Connection, after: int) -> bool:
    """Whether there may be texts behind the cursor."""
    return bool(fetch(connection, _EVENTS, (after, 1 << 62, 1)))


def read_batch(connection: Connection, after: int, upto: int) -> Batch:
    """The next texts with after < version <= upto."""
    upto = min(upto, after + _BATCH_EVENTS)
    rows = fetch(connection, _EVENTS, (after, upto, BATCH_MESSAGES))
    last = rows[-1][0] if len(rows) == BATCH_MESSAGES else upto
    hashes: dict[int, int] = {}
    size = 0
    for version, session, _, message_id, bytes in rows:
        if size and size + bytes > BATCH_BYTES:
            last = version - 1
            break
        size += bytes
        hashes[version] = log.hash_id(session, message_id)
    found: list[tuple[int, str]] = []
    wanted = list(dict.fromkeys(hashes.values()))
    for start in range(0, len(wanted), _TOGETHER):
        found += _read_current(connection, wanted[start : start + _TOGETHER], hashes)
    return Batch(last, sorted(found))


def _read_current(connection: Connection, hashes: list[int], versions: Container[int]) -> Iterator[tuple[int, str]]:
    """(version, text) of the living messages with these hashes, if it is one of these versions that they read as."""
    marks = ", ".join("?" * len(hashes))
    for version, flags, base, body in fetch(connection, f"{_CURRENT} IN ({marks})", hashes):
        text = read_row(connection, version, flags, base, body) if version in versions else ""
        if text:
            yield version, text


def is_current(connection: Connection, session: int, message: int, version: int) -> bool:
    """Whether a version is what a living message reads as. In the file's own index each is."""
    message_id = log.message_id(connection, message)
    return bool(
        fetch(
            connection,
            f"{_CURRENT} = ? AND i.seq = ? AND e.seq = ?",
            (log.hash_id(session, message_id), message, version),
        )
    )


def read(connection: Connection, version: int) -> str:
    """What of a version is searched: all of it as it was written."""
    return read_row(
        connection, version, *fetch_one(connection, "SELECT flags, base, body FROM event WHERE seq = ?", (version,))
    )


def read_row(connection: Connection, version: int, flags: int, base: int | None, body: str | None) -> str:
    """`read`, for who has read the row."""
    body, flags = read_body(connection, version, flags, base, body)
    return content(flags, body)


def read_body(connection: Connection, version: int, flags: int, base: int | None, body: str | None) -> tuple[str, int]:
    """(JSON without media, flags) of a version whose row was read; ("", 0) when it was not retained."""
    if base is not None or flags & bodies.PIECES:
        return bodies.read_text(connection, version) or ("", 0)
    return body or "", flags


def content(flags: int, body: str) -> str:
    """What of a text that `read_body` gave is searched."""
    if not body:
        return ""
    value = codec.decode(body, flags)
    return words.searchable({"parts": value} if flags & PARTS else value)
