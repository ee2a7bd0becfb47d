"""Infos: what is told of messages, summaries and sessions without what messages say.

As in `reads`, plain functions over a connection that shows one state. The module comes with the first of these reads.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs

from eventstore import bodies, codec, heads, log, paths, reads, tree
from eventstore.clock import to_datetime
from eventstore.driver import Connection, array_of, fetch
from eventstore.heads import Head
from eventstore.infos import Compaction, MessageInfo, SessionInfo
from eventstore.messages import Stretch, id_of
from eventstore.segments import stretches_of
from eventstore.tree import Position


def get_message_info(connection: Connection, name: str, message_id: str) -> MessageInfo | None:
    """A message's info, `None` when the session doesn't hold it. Raises `InvalidArgument` for what is no id."""
    position = reads.find(connection, name, message_id)
    return None if position is None else info(connection, position)


def get_leaves(connection: Connection, name: str) -> list[MessageInfo]:
    """All leaves, most recent first."""
    session = paths.find_session(connection, name)
    if session is None:
        return []
    return infos(connection, tree.leaves(connection, session))


def get_history_row_stats(connection: Connection, name: str, leaf_id: str | None) -> list[MessageInfo]:
    """The infos of a path, covered messages too."""
    path = paths.find_path(connection, name, leaf_id)
    if path is None:
        return []
    return path_infos(connection, stretches_of(connection, path))


def get_compactions(connection: Connection, name: str) -> list[Compaction]:
    """Every overlay of a session, oldest first."""
    session = paths.find_session(connection, name)
    return [] if session is None else compactions(connection, session)


# ---- infos of messages, by their places

_INFO_COLUMNS = (
    "m.seq, a.id, coalesce(v.role, a.role), m.bytes, m.tokens, coalesce(a.created_at, a.recorded_at), "
    "coalesce(v.created_at, v.recorded_at, a.created_at, a.recorded_at)"
)
_INFO_JOINS = "JOIN event a ON a.seq = m.seq LEFT JOIN event v ON v.seq = m.current"
_INFOS_AT_ONCE = 500


def _infos(rows: Iterable[Any], parent_ids: Iterable[str | None]) -> Iterator[MessageInfo]:
    for (seq, id, role, size, tokens, created_at, updated_at), parent_id in zip(rows, parent_ids, strict=True):
        created, updated = to_datetime(created_at), to_datetime(updated_at)
        yield MessageInfo(id, parent_id, role, size, tokens, created, updated, seq)


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
    found: list[MessageInfo] = []
    for start in range(0, len(positions), _INFOS_AT_ONCE):
        some = positions[start : start + _INFOS_AT_ONCE]
        above = tree.parents(connection, some)
        ids: dict[int, str] = dict(fetch(connection, _IDS, (array_of(p.seq for p in above if p is not None),)))
        rows = fetch(connection, _EACH_INFO, (json.dumps(some),))
        found += _infos(rows, (None if parent is None else ids[parent.seq] for parent in above))
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
    return list(_infos(rows, [parent_id, *(id for _, id, *_ in rows)][: len(rows)]))


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


# ---- summaries


def compactions(connection: Connection, session: int) -> list[Compaction]:
    """All overlays of a session, in the order in which they were stored. A summary that is gone is empty."""
    rows = fetch(
        connection,
        "SELECT o.seq, e.id, a.id, z.id, coalesce(e.created_at, e.recorded_at) FROM overlay o "
        "JOIN event e ON e.seq = o.seq JOIN event a ON a.seq = o.first JOIN event z ON z.seq = o.last "
        "WHERE o.session = ? ORDER BY o.seq",
        (session,),
    )
    return [
        Compaction(overlay_id, first, last, _summary(connection, seq), to_datetime(created_at), seq)
        for seq, overlay_id, first, last, created_at in rows
    ]


def _summary(connection: Connection, seq: int) -> str:
    body = bodies.read(connection, seq)
    return "" if body is None else codec.decode(body.text, body.flags)


# ---- sessions


def session_info(connection: Connection, name: str) -> SessionInfo:
    """The session's info; one that has no event is empty, as of the epoch."""
    session = paths.find_session(connection, name)
    head = None if session is None else heads.load(connection, session)
    return _info(connection, name, head or Head(0))


def _info(connection: Connection, name: str, head: Head) -> SessionInfo:
    created_at = head.created_at if head.created_at is not None else head.updated_at
    return SessionInfo(
        name,
        head.messages,
        head.bytes,
        head.tokens,
        reads.metadata(connection, head),
        to_datetime(created_at),
        to_datetime(head.updated_at),
        head.last,
    )


def list_sessions(connection: Connection, sessions: Iterable[int]) -> list[SessionInfo]:
    """The infos of these sessions, in this order, without those that are listed no longer."""
    found = (heads.load(connection, session) for session in sessions)
    return [
        _info(connection, log.session_name(connection, head.session), head)
        for head in found
        if head is not None and head.created_at is not None
    ]
