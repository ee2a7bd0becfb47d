"""Messages by their places: stretches of chains read with their bodies, or as infos without them."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import attrs

from eventstore import bodies, codec, tree
from eventstore.clock import to_datetime
from eventstore.driver import Connection, array_of, fetch, fetch_one
from eventstore.parts import PARTS
from eventstore.tree import Position
from eventstore.types import Message, MessageInfo


class Stretch(NamedTuple):
    """The living messages of one chain with low <= seq < high: a piece of a path."""

    chain: int
    low: int
    high: int


# The last column tells what `body` is: the parts alone (NULL), the whole text (0), or not all of the version named.
_BODY = (
    f"v.id, v.role, v.body, CASE WHEN v.flags = {PARTS} THEN NULL "
    "WHEN v.flags = 0 AND v.body IS NOT NULL THEN 0 ELSE v.seq END"
)
_BODIES = (
    f"SELECT {_BODY} FROM message m JOIN event v ON v.seq = coalesce(m.current, m.seq) "
    "WHERE m.chain = ? AND m.seq >= ? AND m.seq < ? ORDER BY m.seq"
)


def read(connection: Connection, stretch: Stretch) -> list[Message]:
    """The messages of a stretch, oldest first."""
    decode = codec.decode_plain
    return [
        {"id": id, "role": role, "parts": decode(body)}
        if version is None
        else (_assembled(connection, version) if version else decode(body))
        for id, role, body, version in fetch(connection, _BODIES, stretch)
    ]


_MANY_BODIES = (
    f"SELECT r.key, {_BODY} FROM json_each(?) r "
    "CROSS JOIN message m ON m.chain = r.value ->> 0 AND m.seq >= r.value ->> 1 AND m.seq < r.value ->> 2 "
    "CROSS JOIN event v ON v.seq = coalesce(m.current, m.seq) ORDER BY r.key, m.seq"
)


def read_stretches(connection: Connection, stretches: Sequence[Stretch]) -> list[list[Message]]:
    """The messages of many stretches, each oldest first, in one statement."""
    if len(stretches) <= 1:
        return [read(connection, stretch) for stretch in stretches]
    decode = codec.decode_plain
    found: list[list[Message]] = [[] for _ in stretches]
    for n, id, role, body, version in fetch(connection, _MANY_BODIES, (json.dumps(stretches),)):
        found[n].append(
            {"id": id, "role": role, "parts": decode(body)}
            if version is None
            else (_assembled(connection, version) if version else decode(body))
        )
    return found


def read_one(connection: Connection, position: Position) -> Message:
    """One living message."""
    return read(connection, Stretch(position.chain, position.seq, position.seq + 1))[0]


def read_each(connection: Connection, positions: Iterable[Position]) -> list[Message]:
    """Messages here and there."""
    return [read_one(connection, position) for position in positions]


def _assembled(connection: Connection, version: int) -> Message:
    body = bodies.read(connection, version)
    if body is not None:
        message: Message = body.value()
        return message
    message_id, role = fetch_one(
        connection,
        "SELECT a.id, v.role FROM event v JOIN event a ON a.seq = coalesce(v.message, v.seq) WHERE v.seq = ?",
        (version,),
    )
    return codec.erased_message(message_id, role)


def sizes(connection: Connection, stretch: Stretch, limit: int, *, newest_first: bool) -> list[tuple[int, int]]:
    """(seq, bytes) of the first messages of a stretch from either end, from the index alone."""
    return fetch(
        connection,
        "SELECT seq, bytes FROM message WHERE chain = ? AND seq >= ? AND seq < ? "
        f"ORDER BY seq {'DESC' if newest_first else 'ASC'} LIMIT ?",
        (*stretch, limit),
    )


def totals(connection: Connection, stretch: Stretch) -> tuple[int, int, int]:
    """(messages, bytes, tokens) of a stretch, from the index alone."""
    row: tuple[int, int, int] = fetch_one(
        connection,
        "SELECT count(*), coalesce(sum(bytes), 0), coalesce(sum(tokens), 0) FROM message "
        "WHERE chain = ? AND seq >= ? AND seq < ?",
        stretch,
    )
    return row


# ---- infos

_INFO_COLUMNS = (
    "m.chain, m.seq, a.id, coalesce(v.role, a.role), m.bytes, m.tokens, coalesce(a.created_at, a.recorded_at), "
    "coalesce(v.created_at, v.recorded_at, a.created_at, a.recorded_at)"
)
_INFO_JOINS = "JOIN event a ON a.seq = m.seq LEFT JOIN event v ON v.seq = m.current"
_INFOS_AT_ONCE = 500


def _info(row: Any, parent_id: str | None) -> MessageInfo:
    _, seq, message_id, role, size, tokens, created_at, updated_at = row
    return MessageInfo(message_id, parent_id, role, size, tokens, to_datetime(created_at), to_datetime(updated_at), seq)


def id_of(connection: Connection, position: Position | None) -> str | None:
    """The id of a message."""
    if position is None:
        return None
    return str(fetch_one(connection, "SELECT id FROM event WHERE seq = ?", (position.seq,))[0])


def info(connection: Connection, position: Position) -> MessageInfo:
    """One living message's info."""
    return infos(connection, [position])[0]


_EACH_INFO = (
    f"SELECT {_INFO_COLUMNS} FROM json_each(?) r CROSS JOIN message m ON m.chain = r.value ->> 0 "
    f"AND m.seq = r.value ->> 1 CROSS {_INFO_JOINS} ORDER BY r.key"
)
_IDS = "SELECT e.seq, e.id FROM carray(?) c CROSS JOIN event e ON e.seq = c.value"


def infos(connection: Connection, positions: Sequence[Position]) -> list[MessageInfo]:
    """The infos of living messages here and there, in the order given."""
    found = []
    for start in range(0, len(positions), _INFOS_AT_ONCE):
        some = positions[start : start + _INFOS_AT_ONCE]
        above = tree.parents(connection, some)
        ids: dict[int, str] = dict(fetch(connection, _IDS, (array_of(p.seq for p in above if p is not None),)))
        rows = fetch(connection, _EACH_INFO, (json.dumps(some),))
        for row, parent in zip(rows, above, strict=True):
            found.append(_info(row, None if parent is None else ids[parent.seq]))
    return found


def stretch_infos(
    connection: Connection, stretch: Stretch, parent_id: str | None, limit: int = tree.ENDLESS
) -> list[MessageInfo]:
    """The infos of a stretch, oldest first. `parent_id` is what the first of them follows."""
    rows = fetch(
        connection,
        f"SELECT {_INFO_COLUMNS} FROM message m {_INFO_JOINS} "
        "WHERE m.chain = ? AND m.seq >= ? AND m.seq < ? ORDER BY m.seq LIMIT ?",
        (*stretch, limit),
    )
    infos = []
    for row in rows:
        infos.append(_info(row, parent_id))
        parent_id = row[2]
    return infos


def path_infos(connection: Connection, stretches: Iterable[Stretch]) -> list[MessageInfo]:
    """The infos of a path, given root first."""
    infos: list[MessageInfo] = []
    for stretch in stretches:
        infos += stretch_infos(connection, stretch, infos[-1].id if infos else None)
    return infos


def next_infos(
    connection: Connection, chains: list[int], after: Position, upto: int, limit: int
) -> list[tuple[Position, MessageInfo]]:
    """The next infos behind `after` of messages with seq <= upto, chain by chain in the order of `chains` (ascending):
    parents come first."""
    found: list[tuple[Position, MessageInfo]] = []
    for chain in chains[bisect_left(chains, after.chain) :]:
        low = after.seq + 1 if chain == after.chain else 0
        infos = stretch_infos(connection, Stretch(chain, low, upto + 1), None, limit - len(found))
        if infos:  # else what was left of the chain has been deleted, and maybe the chain with it
            parent = tree.parent(connection, Position(chain, low))
            infos[0] = attrs.evolve(infos[0], parent_id=id_of(connection, parent))
        found += [(Position(chain, info.seq), info) for info in infos]
        if len(found) >= limit:
            break
    return found
