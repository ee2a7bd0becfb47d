"""Envelopes read back as the feed's events, with their bodies by the rule of retention.

A body that is no longer kept is delivered as the message stands now; when the message is gone, as the erased
placeholder, with `erased` true.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from eventstore import bodies, codec, feed, heads, log, messages, tree
from eventstore.clock import to_datetime
from eventstore.driver import Connection, fetch_one
from eventstore.errors import InvalidArgument
from eventstore.history import Read
from eventstore.log import Envelope
from eventstore.types import Message

if TYPE_CHECKING:
    from eventstore.events import Event

WINDOW_BYTES = 4 * 1024 * 1024  # of bodies, after which a window ends


def check_cursor(after: object) -> None:
    """Raises `InvalidArgument` unless `after` can be a cursor."""
    if not isinstance(after, int) or isinstance(after, bool) or after < 0:
        raise InvalidArgument(f"after must be an event's seq, or 0 for all of the log; not {after!r}")


def session_seqs(connection: Connection, name: str, after: int, upto: int) -> list[int]:
    """The seqs of a session's events with after < seq <= upto, in order."""
    session = log.session_key(connection, name)
    head = None if session is None else heads.load(connection, session)
    if head is None or head.last <= after:  # which may be more than SQLite can hold
        return []
    seqs = log.session_seqs(connection, head.last, after)
    return seqs[: bisect_right(seqs, upto)]


def read_store(read: Read, after: int, upto: int) -> Iterator[Event]:
    """The events of all sessions with after < seq <= upto, in windows: nothing is held between two."""
    while after < upto:
        with read() as connection:
            events = read_window(connection, after, upto)
        if not events:
            return
        yield from events
        after = events[-1].seq


def read_session(read: Read, name: str, after: int, upto: int) -> Iterator[Event]:
    """As `read_store`, those of a session."""
    with read() as connection:
        seqs = session_seqs(connection, name, after, upto)
    while seqs:
        with read() as connection:
            events = read_events(connection, (log.read(connection, seq) for seq in seqs))
        yield from events
        del seqs[: len(events)]


def read_window(connection: Connection, after: int, upto: int) -> list[Event]:
    """The first events with after < seq <= upto."""
    return read_events(connection, log.read_range(connection, after, upto, feed.WINDOW_EVENTS))


def read_events(connection: Connection, envelopes: Iterable[Envelope]) -> list[Event]:
    """The first of these events: as many as fit a window, at least one."""
    found: list[Event] = []
    room = WINDOW_BYTES
    for envelope in envelopes:
        room -= envelope.bytes or 0
        if found and room < 0:
            break
        found.append(read_event(connection, envelope))
    return found


def read_event(connection: Connection, e: Envelope) -> Event:
    """One event."""
    from eventstore.events import Appended, Cleared, Deleted, Imported, LeafSelected, SessionDeleted, Updated

    common: dict[str, Any] = {
        "seq": e.seq,
        "session_id": log.session_name(connection, e.session),
        "recorded_at": to_datetime(e.recorded_at),
    }
    if e.type in (log.APPEND, log.IMPORT):
        message, erased = _message(connection, e, e.seq, e.id or "")
        kind = Appended if e.type == log.APPEND else Imported
        return kind(
            **common,
            erased=erased,
            message=message,
            parent_id=None if e.parent is None else _id(connection, e.parent),
            created_at=to_datetime(e.created_at if e.created_at is not None else e.recorded_at),
        )
    if e.type == log.UPDATE:
        message, erased = _message(connection, e, e.message or 0, _id(connection, e.message or 0))
        return Updated(**common, erased=erased, message=message)
    if e.type == log.DELETE:
        return Deleted(**common, message_ids=tuple(message_id for _, message_id in log.deleted(connection, e.seq)))
    if e.type == log.SELECT:
        return LeafSelected(**common, message_id=_id(connection, e.message or 0))
    if e.type == log.METADATA:
        return _metadata(connection, e, common)
    if e.type in (log.COMPACT, log.COMPACTION):
        return _compacted(connection, e, common)
    return Cleared(**common) if e.type == log.CLEAR else SessionDeleted(**common)


def _id(connection: Connection, seq: int) -> str:
    return str(fetch_one(connection, "SELECT id FROM event WHERE seq = ?", (seq,))[0])


def _message(connection: Connection, e: Envelope, seq: int, message_id: str) -> tuple[Message, bool]:
    """(message, erased) of a version: its own body, else the message as it stands."""
    body = bodies.read(connection, e.seq)
    if body is not None:
        return body.value(), False
    position = tree.find_seq(connection, e.session, seq, message_id)
    if position is not None:
        return messages.read_one(connection, position), False
    return codec.erased_message(message_id, e.role or ""), True


def _metadata(connection: Connection, e: Envelope, common: dict[str, Any]) -> Event:
    from eventstore.events import MetadataChanged

    body = bodies.read(connection, e.seq)
    if body is not None:
        return MetadataChanged(**common, metadata=body.value())
    head = heads.load(connection, e.session)
    current = None if head is None or head.metadata is None else bodies.read(connection, head.metadata)
    metadata = {} if current is None else current.value()
    return MetadataChanged(**common, erased=current is None, metadata=metadata)


def _compacted(connection: Connection, e: Envelope, common: dict[str, Any]) -> Event:
    from eventstore.events import Compacted
    from eventstore.infos import Compaction

    body = bodies.read(connection, e.seq)
    compaction = Compaction(
        e.id or "",
        _id(connection, e.message or 0),
        _id(connection, e.parent or 0),
        "" if body is None else body.value(),
        to_datetime(e.created_at if e.created_at is not None else e.recorded_at),
        e.seq,
    )
    kind: Any = log.TYPE_NAMES[e.type]
    return Compacted(**common, type=kind, erased=body is None, compaction=compaction)
