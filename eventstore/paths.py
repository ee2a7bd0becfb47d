"""Which path a read is about: the leaf it ends at, where it is cut, as stretches of chains."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from eventstore import heads, log, tree
from eventstore.driver import Connection
from eventstore.errors import InvalidArgument, UnknownMessage
from eventstore.messages import Stretch
from eventstore.tree import Position, Range


@attrs.frozen
class Path:
    """The path to a message. `cut` is the first seq that a read leaves out."""

    session: int
    leaf: Position
    cut: int

    def ranges(self, connection: Connection) -> Iterator[Range]:
        """Its positions, dead ones too, from the leaf's chain to the root's."""
        return tree.path(connection, self.leaf)

    def stretches(self, connection: Connection) -> Iterator[Stretch]:
        """Its living messages below the cut, from the leaf's chain to the root's.

        They end at the leaf itself: what a later write puts behind it is not on this path.
        """
        first = Range(self.leaf.chain, self.leaf.seq + 1)
        for chain, end in tree.ranges_down(connection, first):
            yield Stretch(chain, 0, min(end, self.cut))

    def oldest_first(self, connection: Connection) -> list[Stretch]:
        """`stretches` from the root's chain on."""
        return list(self.stretches(connection))[::-1]


def find_session(connection: Connection, name: str) -> int | None:
    """The number of a session."""
    return log.session_key(connection, name)


def require(connection: Connection, session: int | None, name: str, message_id: str, wanted_as: str) -> Position:
    """The message with this id. Raises `UnknownMessage`."""
    if not isinstance(message_id, str):
        raise InvalidArgument(f"{wanted_as} must be named by its id, a string, not {message_id!r}")
    position = None if session is None else tree.find(connection, session, message_id)
    if position is None:
        raise UnknownMessage([message_id], name, wanted_as)
    return position


def active_leaf(connection: Connection, session: int) -> Position | None:
    """The living message most recently appended, imported or selected."""
    head = heads.load(connection, session)
    if head is None or head.leaf is None or head.leaf_chain is None:
        return None
    return Position(head.leaf_chain, head.leaf)


def find_path(connection: Connection, name: str, leaf_id: str | None, before: str | None = None) -> Path | None:
    """The path that a read asks for, `None` in an empty session. Raises `UnknownMessage` and `InvalidArgument`."""
    session = find_session(connection, name)
    if leaf_id is not None:
        leaf: Position | None = require(connection, session, name, leaf_id, "leaf_id")
    else:
        leaf = None if session is None else active_leaf(connection, session)
    if before is None:
        return None if session is None or leaf is None else Path(session, leaf, tree.ENDLESS)
    cut = require(connection, session, name, before, "before")
    if session is None or leaf is None or not _is_on(connection, leaf, cut):
        raise InvalidArgument(f"before={before!r} isn't on the path that is read: give the leaf_id of its branch")
    return Path(session, leaf, cut.seq)


def _is_on(connection: Connection, leaf: Position, position: Position) -> bool:
    for chain, end in tree.path(connection, leaf):
        if chain == position.chain:
            return position.seq < end
        if end <= position.seq:  # a fork's bound is above all that lies below it
            return False
    return False
