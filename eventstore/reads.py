"""What the reads of a session answer, each from one connection that shows one state.

Plain functions over a connection: the store's own reads, those inside a transaction and those of a view in time are the
same. Paging and streaming is in `history`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from eventstore import bodies, codec, heads, log, messages, paths, summaries, tree
from eventstore.clock import to_datetime
from eventstore.driver import Connection
from eventstore.errors import UnknownMessage
from eventstore.heads import Head
from eventstore.segments import stretches_of
from eventstore.tree import Position
from eventstore.types import Compaction, Message, MessageInfo, SessionInfo


def get_message(connection: Connection, name: str, message_id: str) -> Message | None:
    """A message, `None` when the session doesn't hold it. Raises `InvalidArgument` for what is no id."""
    position = _find(connection, name, message_id)
    return None if position is None else messages.read_one(connection, position)


def get_message_info(connection: Connection, name: str, message_id: str) -> MessageInfo | None:
    """A message's info, `None` when the session doesn't hold it. Raises `InvalidArgument` for what is no id."""
    position = _find(connection, name, message_id)
    return None if position is None else messages.info(connection, position)


def _find(connection: Connection, name: str, message_id: str) -> Position | None:
    if not isinstance(message_id, str):
        raise paths.no_id(message_id, "a message")
    session = paths.find_session(connection, name)
    return None if session is None else tree.find(connection, session, message_id)


def get_branches(connection: Connection, name: str, message_id: str | None) -> list[Message]:
    """A message's children, or the roots, oldest first. Raises `UnknownMessage`."""
    session = paths.find_session(connection, name)
    position = None
    if message_id is not None:
        position = paths.require(connection, session, name, message_id, "a message")
    if session is None:
        return []
    return messages.read_each(connection, tree.children(connection, session, position))


def get_leaves(connection: Connection, name: str) -> list[MessageInfo]:
    """All leaves, most recent first."""
    session = paths.find_session(connection, name)
    if session is None:
        return []
    return messages.infos(connection, tree.leaves(connection, session))


def latest_leaf(connection: Connection, name: str, below: str | None) -> Position | None:
    """The active leaf, or the most recent message of a subtree. Raises `UnknownMessage`."""
    session = paths.find_session(connection, name)
    if below is None:
        return None if session is None else paths.active_leaf(connection, session)
    position = paths.require(connection, session, name, below, "below")
    if session is None:
        raise UnknownMessage([below], name, "below")
    return tree.latest_below(connection, session, position)


def get_latest_leaf(connection: Connection, name: str, below: str | None) -> Message | None:
    """`latest_leaf`, read."""
    position = latest_leaf(connection, name, below)
    return None if position is None else messages.read_one(connection, position)


def get_history_row_stats(connection: Connection, name: str, leaf_id: str | None) -> list[MessageInfo]:
    """The infos of a path, covered messages too."""
    path = paths.find_path(connection, name, leaf_id)
    if path is None:
        return []
    return messages.path_infos(connection, stretches_of(connection, path))


def get_compactions(connection: Connection, name: str) -> list[Compaction]:
    """Every overlay of a session, oldest first."""
    session = paths.find_session(connection, name)
    return [] if session is None else summaries.compactions(connection, session)


# ---- the session itself


def get_metadata(connection: Connection, name: str) -> dict[str, Any]:
    """The session's metadata, `{}` when it was never set."""
    session = paths.find_session(connection, name)
    head = None if session is None else heads.load(connection, session)
    return {} if head is None else _metadata(connection, head)


def _metadata(connection: Connection, head: Head) -> dict[str, Any]:
    if head.metadata is None:
        return {}
    body = bodies.read(connection, head.metadata)
    if body is None:
        return {}
    value: dict[str, Any] = codec.decode(body.text, body.flags)
    return value


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
        _metadata(connection, head),
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
