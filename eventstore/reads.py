"""What the reads of a session's messages answer, each from one connection that shows one state.

Plain functions over a connection: the store's own reads, those inside a transaction and those of a view in time are the
same. Paging and streaming is in `history`, infos of messages and sessions in `overviews`.
"""

from __future__ import annotations

from typing import Any

from eventstore import bodies, codec, heads, messages, paths, tree
from eventstore.driver import Connection
from eventstore.errors import UnknownMessage
from eventstore.heads import Head
from eventstore.tree import Position
from eventstore.types import Message


def get_message(connection: Connection, name: str, message_id: str) -> Message | None:
    """A message, `None` when the session doesn't hold it. Raises `InvalidArgument` for what is no id."""
    position = find(connection, name, message_id)
    return None if position is None else messages.read_one(connection, position)


def find(connection: Connection, name: str, message_id: str) -> Position | None:
    """Where the session has a message, `None` when it doesn't hold it. Raises `InvalidArgument` for what is no id."""
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


# ---- the session itself


def get_metadata(connection: Connection, name: str) -> dict[str, Any]:
    """The session's metadata, `{}` when it was never set."""
    session = paths.find_session(connection, name)
    head = None if session is None else heads.load(connection, session)
    return {} if head is None else metadata(connection, head)


def metadata(connection: Connection, head: Head) -> dict[str, Any]:
    """The metadata of a session with this head, `{}` when it was never set."""
    if head.metadata is None:
        return {}
    body = bodies.read(connection, head.metadata)
    if body is None:
        return {}
    value: dict[str, Any] = codec.decode(body.text, body.flags)
    return value
