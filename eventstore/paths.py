"""Which path a read is about: the leaf it ends at, and where it is cut."""

from __future__ import annotations

from typing import NamedTuple

from eventstore import heads, log, tree
from eventstore.driver import Connection
from eventstore.errors import InvalidArgument, UnknownMessage
from eventstore.heads import Head
from eventstore.tree import Position


class Path(NamedTuple):
    """The path to a message. `cut` is the first seq that a read leaves out."""

    session: int
    leaf: Position
    cut: int
    head: Head | None = None  # the session's, where it was read to find the path


def find_session(connection: Connection, name: str) -> int | None:
    """The number of a session."""
    return log.session_key(connection, name)


def no_id(given: object, wanted_as: str) -> InvalidArgument:
    """What is raised for something else in the place of an id."""
    return InvalidArgument(f"{wanted_as} must be named by its id, a string, not {given!r}")


def require(connection: Connection, session: int | None, name: str, message_id: str, wanted_as: str) -> Position:
    """The message with this id. Raises `UnknownMessage`, and `InvalidArgument` for what is no id."""
    if not isinstance(message_id, str):
        raise no_id(message_id, wanted_as)
    position = None if session is None else tree.find(connection, session, message_id)
    if position is None:
        raise UnknownMessage([message_id], name, wanted_as)
    return position


def active_leaf(connection: Connection, session: int) -> Position | None:
    """The living message most recently appended, imported or selected."""
    return leaf_of(heads.load(connection, session))


def leaf_of(head: Head | None) -> Position | None:
    """The active leaf as a head has it."""
    if head is None or head.leaf is None or head.leaf_chain is None:
        return None
    return Position(head.leaf_chain, head.leaf)


def find_path(connection: Connection, name: str, leaf_id: str | None, before: str | None = None) -> Path | None:
    """The path that a read asks for, `None` in an empty session. Raises `UnknownMessage` and `InvalidArgument`."""
    if leaf_id is not None:
        head, session = None, find_session(connection, name)
        leaf: Position | None = require(connection, session, name, leaf_id, "leaf_id")
    else:
        head = heads.load_named(connection, name)
        session, leaf = None if head is None else head.session, leaf_of(head)
    if before is None:
        return None if session is None or leaf is None else Path(session, leaf, tree.ENDLESS, head)
    if session is None or leaf is None:
        require(connection, session, name, before, "before")  # raises: there is no message at all
        return None
    return Path(session, leaf, _cut(connection, session, name, leaf, before), head)


def _cut(connection: Connection, session: int, name: str, leaf: Position, before: str) -> int:
    """The first seq that `before` leaves out: a message's, or where an overlay starts."""
    from eventstore import linking

    overlay = linking.find(connection, session, before) if isinstance(before, str) else None
    if overlay is None or tree.find(connection, session, before) is not None:  # an imported one may be named so
        place = cut = require(connection, session, name, before, "before")
    else:
        place, cut = Position(overlay.last_chain, overlay.last), Position(overlay.first_chain, overlay.first)
    if not tree.holds(connection, tree.bound(connection, leaf), place):
        raise InvalidArgument(f"before={before!r} isn't on the path that is read: give the leaf_id of its branch")
    return cut.seq
