"""Writes that take away: messages, branches, everything in a session, the session itself."""

from __future__ import annotations

from collections.abc import Iterable

from eventstore import bodies, index, linking, log, messages, paths, tree
from eventstore.driver import fetch_one
from eventstore.errors import InvalidArgument
from eventstore.events import Cleared, Deleted, SessionDeleted
from eventstore.heads import Head
from eventstore.store import Store
from eventstore.tree import Position
from eventstore.writing import Write


def delete_messages(store: Store, name: str, message_ids: Iterable[str]) -> list[str]:
    """Deletes messages, and returns the ids of those that were there, in the order given."""
    if isinstance(message_ids, (str, bytes)) or not isinstance(message_ids, Iterable):
        raise InvalidArgument(f"message_ids must be a list of ids, not {message_ids!r}: put one id in a list")
    given = list(message_ids)
    for message_id in given:
        if not isinstance(message_id, str):
            raise InvalidArgument(f"a message's id is a string, not {message_id!r}")
    wanted = list(dict.fromkeys(given))
    with Write(store, name) as write, write:
        found = {each: position for each in wanted if (position := write.find(each)) is not None}
        _delete(write, list(found.values()), list(found))
        return list(found)


def delete_branch(store: Store, name: str, message_id: str) -> list[str]:
    """Deletes a message and everything under it. Raises `UnknownMessage`."""
    with Write(store, name) as write, write:
        position = paths.require(write.connection, write.session, name, message_id, "a branch to delete")
        positions = tree.subtree(write.connection, write.session or 0, position)
        ids = [str(messages.id_of(write.connection, each)) for each in positions]
        _delete(write, positions, ids)
        return ids


def _delete(write: Write, positions: list[Position], ids: list[str]) -> None:
    if not positions:
        return
    versions = [_version(write, position) for position in positions]
    write.unindex(versions)
    if write.keeps_current_only():
        for version in versions:
            bodies.drop(write.connection, version)
    envelope = write.next(log.DELETE)
    log.append_deletion(write.connection, envelope.seq, [position.seq for position in positions])
    write.log(envelope)
    if write.keeps_current_only():
        _drop_summaries(write, [position.seq for position in positions])
    if write.is_heard():
        write.emit(Deleted, envelope.seq, message_ids=tuple(ids))


def _drop_summaries(write: Write, dead: list[int]) -> None:
    """Takes away the summaries that no read can show any more: of overlays none of whose messages is left."""
    for seq in linking.lifeless(write.connection, write.session or 0, min(dead), max(dead)):
        bodies.drop(write.connection, seq)


def _version(write: Write, position: Position) -> int:
    (version,) = fetch_one(
        write.connection, "SELECT coalesce(current, seq) FROM message WHERE chain = ? AND seq = ?", position
    )
    return int(version)


def clear_messages(store: Store, name: str) -> None:
    """Empties a session of messages and overlays. Always an event: lists that follow may hold more than it did."""
    with Write(store, name) as write, write:
        _drop_bodies(write, write.head)
        envelope = write.next(log.CLEAR)
        write.log(envelope)
        if write.is_heard():
            write.emit(Cleared, envelope.seq)


def delete_session(store: Store, name: str, *, idle_since: int | None = None) -> bool:
    """Empties a session and takes it from the list, its metadata too, and says whether it did.

    One that isn't listed is left as it is; with `idle_since` also one that was written to at that time or later.
    """
    with Write(store, name) as write, write:
        head = write.head
        if head.created_at is None or (idle_since is not None and head.updated_at >= idle_since):
            return False
        _drop_bodies(write, head)
        if head.metadata is not None and write.keeps_current_only():
            bodies.drop(write.connection, head.metadata)
        envelope = write.next(log.DELETE_SESSION)
        write.log(envelope)
        if write.is_heard():
            write.emit(SessionDeleted, envelope.seq)
        return True


def _drop_bodies(write: Write, head: Head) -> None:
    index.remove_session(write.connection, head.session)
    if write.keeps_current_only():
        bodies.drop_messages(write.connection, head.session)
        bodies.drop_summaries(write.connection, head.session)
