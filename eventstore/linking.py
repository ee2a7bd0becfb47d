"""Overlays in their read table, row by row: how they are added and linked, and which stand where.

Only the fold writes here. Links (see `overlays`) are kept as overlays come: one that ends behind all others of its
path, as nearly every one does, changes none of them. The module comes with the first overlay.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from eventstore import codec, tree
from eventstore.driver import Connection, fetch, fetch_one
from eventstore.overlays import Overlay, choose, linked
from eventstore.summaries import SHOWN, Shown, is_alive, last_end
from eventstore.tree import Position, Range

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


def starting_in(connection: Connection, session: int, low: int, high: int) -> list[Overlay]:
    """Overlays with low < first < high <= last that some path shows."""
    where = "session = ? AND first > ? AND first < ? AND last >= ? AND shown = seq"
    return _rows(connection, where, (session, low, high, high))


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
        f"{SHOWN} FROM json_each(?2) r CROSS JOIN overlay o ON o.session = ?1 AND o.seq = r.value "
        "JOIN event e ON e.seq = o.seq ORDER BY r.key",
        (session, json.dumps(chosen)),
    )
    return [Shown(*row) for row in rows]
