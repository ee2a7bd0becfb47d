"""Summaries as reads show them: which a path shows, by the links that `linking` keeps, and what they say."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from eventstore import bodies, codec, tree
from eventstore.driver import Connection, fetch, fetch_one
from eventstore.tree import Range
from eventstore.types import Message

if TYPE_CHECKING:
    from eventstore.overlays import Overlay


def newest(connection: Connection, session: int) -> int:
    """The seq of a session's newest overlay, 0 when it has none."""
    (seq,) = fetch_one(connection, "SELECT max(seq) FROM overlay WHERE session = ?", (session,))
    return seq or 0


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


SHOWN = (
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
        f"{SHOWN} FROM s CROSS JOIN overlay o ON o.session = ?1 AND o.seq = s.seq JOIN event e ON e.seq = o.seq "
        "ORDER BY s.n",
        (session, end, limit),
    )
    return [Shown(*row) for row in rows]


def is_alive(connection: Connection, overlay: Shown | Overlay) -> bool:
    """Whether a message that it covers is left."""
    place = tree.survivor(connection, tree.ranges_down(connection, Range(overlay.last_chain, overlay.last + 1)))
    return place is not None and place.seq >= overlay.first


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
