"""Messages by their places: stretches of chains read with their bodies, or summed without them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from eventstore import bodies, codec
from eventstore.driver import Connection, fetch, fetch_one
from eventstore.parts import PARTS
from eventstore.tree import Position
from eventstore.types import Message


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


def id_of(connection: Connection, position: Position | None) -> str | None:
    """The id of a message."""
    if position is None:
        return None
    return str(fetch_one(connection, "SELECT id FROM event WHERE seq = ?", (position.seq,))[0])
