"""The log of a damaged file, row by row: whatever SQLite can still reach, and nothing that isn't of the right shape.

A table is read from both ends up to the damage, and between them row by row, each by its number. Texts are read as
bytes and decoded here: SQLite may give rubbish. What a row says is checked by who asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import attrs

from eventstore import attachments, log, parts
from eventstore.driver import Connection, Error, fetch, fetch_one
from eventstore.log import Envelope

_FAILURES = (Error, UnicodeDecodeError)  # a number may have become a text, and that be rubbish
ROWS_A_PAGE = 100  # no more events lie on a page
_ENVELOPE = (
    "seq, session, back, type, recorded_at, CAST(id AS BLOB), message, parent, touch, CAST(role AS BLOB), bytes, "
    "tokens, created_at, base, digest, flags"
)
_TEXTS = (5, 9)  # columns of it
_NEEDED = (0, 1, 2, 3, 4, 15)
_LAST = (
    "SELECT max(last) FROM head",
    "SELECT max(seq) FROM message",
    "SELECT max(event) FROM deletion",
    "SELECT max(version) FROM piece",
)


@attrs.frozen
class Piece:
    """A row of `piece` with all that it needs."""

    n: int
    version: int
    at: int
    text: str | None
    attachment: int | None


class Salvage:
    """What can be read of a damaged file."""

    def __init__(self, connection: Connection, pages: int) -> None:
        self._connection = connection
        self.is_whole = False  # whether the list of events was read to its end
        self._most = pages * ROWS_A_PAGE  # a number above that is rubbish

    def seqs(self) -> tuple[list[int], int]:
        """(the events that can be read, in order; the newest that there was, as far as anything tells)."""
        found: set[int] = set()
        for order in ("", "DESC"):
            try:
                for (seq,) in self._connection.execute(f"SELECT seq FROM event ORDER BY seq {order}"):
                    found.add(seq)
            except _FAILURES:
                continue
            self.is_whole = True
            numbers = self._sensible(found)
            return numbers, max(numbers, default=0)
        numbers = self._sensible(found)
        last = max((*numbers, *self._told()), default=0) or self._most
        between = [seq for seq in range(1, last + 1) if seq not in found and self._row("1", "event", "seq", seq)]
        numbers = sorted({*numbers, *between})
        return numbers, last if last < self._most else max(numbers, default=0)

    def _sensible(self, seqs: set[int]) -> list[int]:
        return sorted(seq for seq in seqs if 0 < seq < self._most)

    def _told(self) -> list[int]:
        """What other tables say about the newest event."""
        rows = [self._one(query, ()) for query in _LAST]
        return [row[0] for row in rows if row and isinstance(row[0], int) and 0 < row[0] < self._most]

    def _one(self, query: str, bindings: tuple[Any, ...]) -> Any:
        try:
            return fetch_one(self._connection, query, bindings)
        except _FAILURES:
            return None

    def _row(self, columns: str, table: str, key: str, number: int) -> Any:
        return self._one(f"SELECT {columns} FROM {table} WHERE {key} = ?", (number,))

    def event(self, seq: int) -> tuple[Envelope, str | None] | None:
        """(envelope, what its row holds of the body), `None` when the envelope is no envelope."""
        whole = self._row(f"{_ENVELOPE}, CAST(body AS BLOB)", "event", "seq", seq)
        row = whole or self._row(_ENVELOPE, "event", "seq", seq)  # the body may be where the damage is
        if row is None:
            return None
        fields: list[Any] = [_text(value) if n in _TEXTS else _integer(value) for n, value in enumerate(row[:16])]
        if any(fields[n] is None for n in _NEEDED) or fields[0] != seq:
            return None
        envelope = Envelope(*fields)
        row = _text(whole[16]) if whole else None
        if row is not None and row.startswith("["):  # as no whole text does: it needs no flag, which may have flipped
            row = parts.whole(parts.PARTS, row, envelope.id or "", envelope.role or "")
        return envelope, row

    def pieces(self, event: int) -> list[Piece]:
        """The pieces of an event's body, up to the first that can't be read."""
        columns = "n, version, at, CAST(text AS BLOB), attachment"
        try:
            rows = fetch(self._connection, f"SELECT {columns} FROM piece WHERE event = ? ORDER BY n", (event,))
        except _FAILURES:
            rows = list(self._each(f"SELECT {columns} FROM piece WHERE event = ? AND n = ?", event))
        found: list[Piece] = []
        for n, version, at, text, attachment in rows:
            piece = Piece(n, version, at, _text(text), attachment)
            numbers = _integer(version) is not None and version >= event and _integer(at) is not None and at >= 0
            if n != len(found) or not numbers or (piece.text is None) == (_integer(attachment) is None):
                break
            found.append(piece)
        return found

    def deleted(self, event: int) -> list[int]:
        """The messages that a delete event deleted."""
        try:
            rows = fetch(self._connection, "SELECT message FROM deletion WHERE event = ? ORDER BY n", (event,))
        except _FAILURES:
            rows = list(self._each("SELECT message FROM deletion WHERE event = ? AND n = ?", event))
        return [message for (message,) in rows if _integer(message) is not None]

    def _each(self, query: str, event: int) -> Iterator[Any]:
        n = 0
        while (row := self._one(query, (event, n))) is not None:
            yield row
            n += 1

    def name(self, session: int) -> str | None:
        """The name of a session."""
        row = self._row("CAST(name AS BLOB)", "name", "session", session)
        return None if row is None else _text(row[0])

    def has_name(self, name: str) -> bool:
        """Whether a session, maybe a later one, has a name."""
        return self._one("SELECT 1 FROM name WHERE name = ?", (name,)) is not None

    def attachment(self, key: int) -> tuple[bytes, list[bytes]] | None:
        """(digest, slices) of an attachment whose bytes are all there, and right."""
        row = self._row("digest, bytes", "attachment", "key", key)
        if row is None or not isinstance(row[0], bytes) or _integer(row[1]) is None:
            return None
        slices: list[bytes] = []
        while sum(map(len, slices)) < row[1]:
            found = self._row("bytes", "attachment_slice", "number", key * attachments.SLICES + len(slices))
            if found is None or not isinstance(found[0], bytes) or not found[0]:
                return None
            slices.append(found[0])
        right = sum(map(len, slices)) == row[1] and sha256(b"".join(slices)).digest() == row[0]
        return (row[0], slices) if right else None

    def knows(self, session: int, message_id: str, seq: int) -> bool:
        """Whether the table of ids says that event `seq` appended a message with this id, which is alive."""
        key = (log.hash_id(session, message_id), seq)
        return self._one("SELECT 1 FROM identity WHERE hash = ? AND seq = ?", key) is not None

    def retain(self) -> str:
        """The file's retention, "current" where that isn't told: what was deleted isn't kept by mistake."""
        row = self._one("SELECT value FROM setting WHERE name = 'retain'", ())
        return "all" if row is not None and row[0] == "all" else "current"


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: object) -> str | None:
    if not isinstance(value, bytes):
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None
