"""Overlays in their read table: the statements that write and read it, and the summaries themselves.

Only the fold writes here. Links (see `overlays`) are kept as overlays come: one that ends behind all others of its
path, as nearly every one does, changes none of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from eventstore import bodies, codec, tree
from eventstore.driver import Connection, fetch, fetch_one
from eventstore.overlays import Overlay, choose, linked
from eventstore.tree import Position, Range
from eventstore.types import Message

_COLUMNS = "seq, first, first_chain, last, last_chain, below, shown, earlier"
_QUALIFIED = ", ".join(f"o.{column}" for column in _COLUMNS.split(", "))


# ---- what the fold does


def add(connection: Connection, session: int, seq: int, first: Position, last: Position) -> None:
    """Adds an overlay, the newest of its session, and sets right the links of those that end behind it."""
    behind = {o.seq: o for o in _rows(connection, "session = ? AND last > ? ORDER BY last, seq", (session, last.seq))}
    below = None if not has_any(connection, session) else _last_end(connection, Range(last.chain, last.seq + 1))
    new = Overlay(seq, first.seq, first.chain, last.seq, last.chain, below)

    def get(other: int) -> Overlay:
        return behind.get(other) or _row(connection, session, other)

    new = linked(new, get)
    row = (session, *new)
    connection.execute("INSERT INTO overlay VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    moved = {seq}
    for overlay in list(behind.values()):
        if overlay.below == below and tree.holds(connection, _end(overlay), last):
            behind[overlay.seq] = overlay._replace(below=seq)
        elif overlay.below not in moved:
            continue
        moved.add(overlay.seq)
        changed = linked(behind[overlay.seq], get)
        behind[overlay.seq] = changed
        if changed != overlay:
            connection.execute(
                "UPDATE overlay SET below = ?, shown = ?, earlier = ? WHERE session = ? AND seq = ?",
                (changed.below, changed.shown, changed.earlier, session, overlay.seq),
            )


def anchor(connection: Connection, session: int, seq: int) -> Position | None:
    """The place of a message, a dead one too, that an overlay starts or ends at."""
    row = fetch_one(
        connection,
        "SELECT CASE WHEN first = ?2 THEN first_chain ELSE last_chain END FROM overlay "
        "WHERE session = ?1 AND (first = ?2 OR last = ?2)",
        (session, seq),
    )
    return None if row is None else Position(row[0], seq)


def _end(overlay: Overlay) -> Range:
    """The path up to an overlay's end."""
    return Range(overlay.last_chain, overlay.last + 1)


def _last_end(connection: Connection, first: Range) -> int | None:
    following: Range | None = first
    while following is not None:
        ranges, following = tree.range_block(connection, following)
        found = last_end(connection, ranges)
        if found is not None:
            return found
    return None


# ---- rows


def _rows(connection: Connection, where: str, bindings: Sequence[object]) -> list[Overlay]:
    return [Overlay(*row) for row in fetch(connection, f"SELECT {_COLUMNS} FROM overlay WHERE {where}", bindings)]


def _row(connection: Connection, session: int, seq: int) -> Overlay:
    return _rows(connection, "session = ? AND seq = ?", (session, seq))[0]


def has_any(connection: Connection, session: int) -> bool:
    """Whether a session has an overlay."""
    return fetch_one(connection, "SELECT 1 FROM overlay WHERE session = ? LIMIT 1", (session,)) is not None


def newest(connection: Connection, session: int) -> int:
    """The seq of a session's newest overlay, 0 when it has none."""
    (seq,) = fetch_one(connection, "SELECT max(seq) FROM overlay WHERE session = ?", (session,))
    return seq or 0


def find(connection: Connection, session: int, message_id: str) -> Overlay | None:
    """The overlay that reads show under this id."""
    if not codec.is_overlay_id(message_id) or codec.has_surrogate(message_id):
        return None
    row = fetch_one(
        connection,
        f"SELECT {_QUALIFIED} FROM overlay o JOIN event e ON e.seq = o.seq WHERE o.session = ? AND e.id = ?",
        (session, message_id[len(codec.OVERLAY_PREFIX) :]),
    )
    return None if row is None else Overlay(*row)


def last_end(connection: Connection, ranges: Sequence[Range]) -> int | None:
    """The overlay that ends last in these ranges of one path, given from the leaf's to the root's."""
    row = fetch_one(
        connection,
        "SELECT found FROM (SELECT r.key, (SELECT o.seq FROM overlay o WHERE o.last_chain = r.value ->> 0 "
        "AND o.last < r.value ->> 1 ORDER BY o.last DESC, o.seq DESC LIMIT 1) AS found FROM json_each(?) r) "
        "WHERE found IS NOT NULL ORDER BY key LIMIT 1",
        (json.dumps(ranges),),
    )
    return None if row is None else int(row[0])


def starting_in(connection: Connection, session: int, low: int, high: int) -> list[Overlay]:
    """Overlays with low < first < high <= last that some path shows."""
    where = "session = ? AND first > ? AND first < ? AND last >= ? AND shown = seq"
    return _rows(connection, where, (session, low, high, high))


# ---- what a path shows


class Shown(NamedTuple):
    """An overlay that a path shows, with its size and estimate. `alive`: a message of its last chain is left."""

    seq: int
    first: int
    first_chain: int
    last: int
    last_chain: int
    earlier: int | None
    bytes: int
    tokens: int
    alive: bool


_SHOWN = (
    "SELECT o.seq, o.first, o.first_chain, o.last, o.last_chain, o.earlier, e.bytes, e.tokens, EXISTS (SELECT 1 "
    "FROM message m WHERE m.chain = o.last_chain AND m.seq <= o.last AND m.seq >= o.first) "
)


def shown(connection: Connection, session: int, end: int, limit: int) -> list[Shown]:
    """What a path shows whose last end is that of overlay `end`, newest first."""
    rows = fetch(
        connection,
        f"WITH RECURSIVE s(seq, n, upto) AS (SELECT shown, 1, {tree.ENDLESS} FROM overlay WHERE session = ?1 "
        "AND seq = ?2 UNION ALL SELECT o.earlier, s.n + 1, o.first FROM s CROSS JOIN overlay o ON o.session = ?1 "
        "AND o.seq = s.seq WHERE o.earlier IS NOT NULL AND s.n < ?3 AND o.last < s.upto) "
        f"{_SHOWN} FROM s CROSS JOIN overlay o ON o.session = ?1 AND o.seq = s.seq JOIN event e ON e.seq = o.seq "
        "ORDER BY s.n",
        (session, end, limit),
    )
    return [Shown(*row) for row in rows]


def shown_then(connection: Connection, session: int, end: int, upto: int) -> list[Shown]:
    """As `shown`, all of them, as it was before the overlays came that are newer than `upto`."""
    rows = fetch(
        connection,
        "WITH RECURSIVE s(seq) AS (SELECT ?2 UNION SELECT o.below FROM s CROSS JOIN overlay o "
        f"ON o.session = ?1 AND o.seq = s.seq WHERE o.below IS NOT NULL) SELECT {_QUALIFIED} "
        "FROM s CROSS JOIN overlay o ON o.session = ?1 AND o.seq = s.seq WHERE o.seq <= ?3",
        (session, end, upto),
    )
    chosen = [overlay.seq for overlay in choose(Overlay(*row) for row in rows)][::-1]
    rows = fetch(
        connection,
        f"{_SHOWN} FROM json_each(?2) r CROSS JOIN overlay o ON o.session = ?1 AND o.seq = r.value "
        "JOIN event e ON e.seq = o.seq ORDER BY r.key",
        (session, json.dumps(chosen)),
    )
    return [Shown(*row) for row in rows]


def is_alive(connection: Connection, overlay: Shown | Overlay) -> bool:
    """Whether a message that it covers is left."""
    place = tree.survivor(connection, tree.ranges_down(connection, Range(overlay.last_chain, overlay.last + 1)))
    return place is not None and place.seq >= overlay.first


def lifeless(connection: Connection, session: int, low: int, high: int) -> list[int]:
    """Overlays over positions in low..high that have a summary, and none of whose messages is left.

    One that ended on a branch which is gone whole counts too, whatever is left before that branch: nothing shows it.
    """
    rows = fetch(
        connection,
        f"SELECT {_QUALIFIED} FROM overlay o JOIN event e ON e.seq = o.seq "
        "WHERE o.session = ? AND o.first <= ? AND o.last >= ? AND e.digest IS NOT NULL",
        (session, high, low),
    )
    return [overlay.seq for overlay in (Overlay(*row) for row in rows) if not is_alive(connection, overlay)]


# ---- what it says


def read(connection: Connection, seqs: Iterable[int]) -> list[Message]:
    """Summaries as messages, in the order given."""
    rows = fetch(
        connection,
        "SELECT e.seq, e.id, e.role, e.digest, e.flags, e.body FROM json_each(?) r CROSS JOIN event e "
        "ON e.seq = r.value ORDER BY r.key",
        (json.dumps(list(seqs)),),
    )
    return [_message(connection, *row) for row in rows]


def _message(
    connection: Connection, seq: int, overlay_id: str, role: str, digest: int | None, flags: int, text: str
) -> Message:
    if digest is None:
        return codec.erased_message(codec.OVERLAY_PREFIX + overlay_id, role)
    if flags & bodies.PIECES:
        body = bodies.read(connection, seq)
        text = "" if body is None else body.text
    return codec.overlay_message(overlay_id, codec.decode(text, flags))
