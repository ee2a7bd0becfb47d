"""Bodies of a damaged log, as far as they can be vouched for: their digest fits, and so do those of their attachments.

Pieces and attachments go into the new log as their event comes; at the end, what no retained version stands on goes.
"""

from __future__ import annotations

from typing import Any

from eventstore import attachments, bodies, codec, strict
from eventstore.bodies import Hole
from eventstore.codec import Encoded
from eventstore.driver import Connection, fetch
from eventstore.log import Envelope
from eventstore.media import Taken
from eventstore.salvaging import Piece, Salvage


class Vouching:
    """Takes bodies out of the damaged log, in the order of their events."""

    def __init__(self, connection: Connection, salvage: Salvage) -> None:
        self._connection = connection
        self._salvage = salvage
        self._attachments: dict[int, int | None] = {}  # by their key in the old log; `None`: lost
        self._broken: dict[int, int] = {}  # owner -> the first version whose attachments aren't all there
        self._with_media: set[int] = set()  # owners of texts that attachments were taken out of, or should have been
        self._owners: set[int] = set()  # events whose body goes on in pieces

    def take(self, e: Envelope, row: str | None) -> tuple[Envelope, str | None, Any]:
        """The event with its flags and size set right, what its row is to hold, and what its body says: each of the
        two `None` when it is lost.

        A row's text may have to stay though nothing can be said of it: later versions may stand on it.
        """
        owns = self._take_pieces(e)
        if e.base is not None:
            row = None  # it stands on another's; a flipped bit may have put a number there
        checked = None if e.digest is None else self._checked(e, row)
        if checked is None:
            return e._replace(flags=e.flags & bodies.STRICT | owns, digest=None), row if owns else None, None
        return e._replace(flags=checked.flags | owns, bytes=checked.size), row, checked.value

    def forget(self, seq: int) -> None:
        """Takes the pieces of an event away that can't stand."""
        self._connection.execute("DELETE FROM piece WHERE event = ?", (seq,))
        self._owners.discard(seq)

    def finish(self) -> None:
        """Takes away what no retained version stands on, at the end."""
        for owner in sorted(self._owners):
            bodies.trim(self._connection, owner)
        unused = "SELECT key FROM attachment WHERE key NOT IN (SELECT attachment FROM piece WHERE attachment NOTNULL)"
        attachments.collect(self._connection, [key for (key,) in fetch(self._connection, unused)])

    def _take_pieces(self, e: Envelope) -> int:
        """Stores the pieces that an event owns, and returns the flags that say so."""
        pieces = self._salvage.pieces(e.seq) if e.base is None else []
        flags = 0
        if e.flags & bodies.ATTACHMENTS or any(piece.attachment is not None for piece in pieces):
            self._with_media.add(e.seq)
        for piece in pieces:
            key = None if piece.attachment is None else self._attachment(piece.attachment)
            if piece.attachment is not None and key is None:
                self._broken[e.seq] = min(piece.version, self._broken.get(e.seq, piece.version))
                break
            self._insert(e.seq, piece, key)
            flags |= bodies.PIECES | (bodies.ATTACHMENTS if key is not None else 0)
        if flags:
            self._owners.add(e.seq)
        return flags

    def _insert(self, owner: int, piece: Piece, key: int | None) -> None:
        row = (owner, piece.n, piece.version, piece.at, piece.text, key)
        self._connection.execute("INSERT INTO piece VALUES (?, ?, ?, ?, ?, ?)", row)

    def _attachment(self, key: int) -> int | None:
        if key not in self._attachments:
            found = self._salvage.attachment(key)
            self._attachments[key] = None if found is None else attachments.store_slices(self._connection, *found)
        return self._attachments[key]

    def _checked(self, e: Envelope, row: str | None) -> Encoded | None:
        """A body, `None` unless it is what was written."""
        owner = e.base or e.seq
        if e.seq >= self._broken.get(owner, e.seq + 1):
            return None
        if e.base is not None:
            row = bodies.read_base(self._connection, e.base)
        if row is None:
            return None
        text, holes = bodies.joined(self._connection, row, owner, e.seq)
        if codec.digest(text) != e.digest:
            return None
        size = len(text.encode()) + sum(hole.length for hole in holes)
        if owner in self._with_media and not (size == e.bytes and self._in_place(text, e.flags, holes)):
            return None
        plain = _plainly(text)
        if plain is not None:
            return Encoded(text, plain, size, 0)
        return Encoded(text, strict.decode(text), size, bodies.STRICT)

    def _in_place(self, text: str, flags: int, holes: list[Hole]) -> bool:
        """Whether attachments are where a write would have taken them out: no digest covers that."""
        taken = [Taken(hole.at, attachments.read(self._connection, hole.key, hole.length)) for hole in holes]
        try:
            again = codec.encode_message(codec.decode_with(text, flags, taken))
        except (ValueError, TypeError, KeyError, IndexError):
            return False
        return again.text == text and list(again.media) == taken


def _plainly(text: str) -> Any:
    """The value of a text that needs no strict decoding, `None` for another one."""
    try:
        value = codec.decode(text, 0)
        return value if strict.encode(value) == text else None
    except (ValueError, TypeError, RecursionError):
        return None


def identity(value: Any) -> tuple[str, str] | None:
    """(id, role) that a message names, `None` when a body is no message."""
    if not isinstance(value, dict) or not all(isinstance(value.get(key), str) and value[key] for key in ("id", "role")):
        return None
    if codec.has_surrogate(value["id"]) or codec.has_surrogate(value["role"]):
        return None
    return value["id"], value["role"]


def unvouched_identity(row: str | None) -> tuple[str, str] | None:
    """As `identity`, of a text whose digest is gone: it tells at least whose text it was."""
    try:
        return None if row is None else identity(codec.decode(row, 0))
    except ValueError:
        return None
