"""Writes that store a summary: `add_compaction`, and what a compact function gave.

A compaction is an event and a row of the overlay table; no message is touched. Its ends are kept as positions, so that
it outlives the messages that it starts and ends at.
"""

from __future__ import annotations

from datetime import datetime
from uuid import uuid4

from eventstore import clock, codec, linking, log, paths, tree
from eventstore.driver import fetch_one
from eventstore.errors import InvalidArgument, InvalidCompaction, UnknownMessage
from eventstore.events import Compacted
from eventstore.infos import Compaction
from eventstore.reports import CompactResult
from eventstore.store import Store
from eventstore.tree import Position, Range
from eventstore.types import check_aware
from eventstore.writing import Write


def add_compaction(
    store: Store, name: str, summary: str, from_message_id: str, to_message_id: str, created_at: datetime | None
) -> Compaction:
    """Stores a summary of a range. Raises `InvalidCompaction` and `UnknownMessage`."""
    at = None if created_at is None else clock.to_microseconds(check_aware("created_at", created_at))
    given = CompactResult(from_message_id, to_message_id, summary)
    _check(given)
    with Write(store, name) as write, write:
        return _store(write, log.COMPACTION, given, _range(write, given), at)


def store_result(store: Store, name: str, result: object, since: int) -> Compaction | None:
    """Stores what a compact function gave for the session as it was at its event `since`.

    `None` when it is out of date: another compaction was stored since then, or a message that it covers is gone.
    """
    if not isinstance(result, CompactResult):
        raise InvalidArgument(f"a compact function returns a CompactResult, or None; not {type(result).__name__}")
    _check(result)
    with Write(store, name) as write, write:
        if _was_emptied_or_compacted(write, since):
            return None
        gone = _deleted(write, since)
        if {result.from_message_id, result.to_message_id} & set(gone.values()):
            return None
        first, last = _range(write, result)
        if any(seq in gone for seq in _covered(write, first, last, gone)):
            return None
        return _store(write, log.COMPACT, result, (first, last), None)


def _check(given: CompactResult) -> None:
    if not isinstance(given.summary, str) or not given.summary.strip():
        raise InvalidCompaction(f"a summary must be a text that isn't blank, not {given.summary!r:.200}")
    for end in ("from_message_id", "to_message_id"):
        if not isinstance(getattr(given, end), str):
            raise paths.no_id(getattr(given, end), end)


def _store(
    write: Write, type: int, given: CompactResult, ends: tuple[Position, Position], created_at: int | None
) -> Compaction:
    first, last = ends
    first = _taken_over(write, first, last)
    overlay_id = uuid4().hex
    summary = codec.encode(given.summary)
    envelope = write.next(
        type,
        id=overlay_id,
        message=first.seq,
        parent=last.seq,
        role="assistant",
        bytes=summary.size,
        tokens=write.store.drafting.stamp(codec.overlay_message(overlay_id, given.summary)),
        created_at=created_at,
    )
    write.log(envelope, summary)
    compaction = Compaction(
        overlay_id,
        log.message_id(write.connection, first.seq),
        log.message_id(write.connection, last.seq),
        given.summary,
        clock.to_datetime(write.now if created_at is None else created_at),
        envelope.seq,
    )
    if write.is_heard():
        write.emit(Compacted, envelope.seq, type=log.TYPE_NAMES[type], compaction=compaction)
    return compaction


def _range(write: Write, given: CompactResult) -> tuple[Position, Position]:
    """The places of a range's ends. Raises `UnknownMessage`, `InvalidCompaction` where no path has them in order."""
    first = _place(write, given.from_message_id, "from_message_id")
    last = _place(write, given.to_message_id, "to_message_id", last=True)
    if not tree.holds(write.connection, Range(last.chain, last.seq + 1), first):
        raise InvalidCompaction(
            f"a compaction covers a range of one path, in order; {given.from_message_id!r} doesn't come before "
            f"{given.to_message_id!r} on any: name both ends of a range that a read showed"
        )
    return first, last


def _place(write: Write, message_id: str, wanted_as: str, *, last: bool = False) -> Position:
    """Where a message is, or the first or last message that an overlay covers."""
    try:
        return paths.require(write.connection, write.session, write.name, message_id, wanted_as)
    except UnknownMessage:
        overlay = None
        if write.session is not None:
            overlay = linking.find(write.connection, write.session, message_id)
        if overlay is None:
            raise
    if not tree.has_chain(write.connection, overlay.last_chain):
        raise InvalidCompaction(f"{message_id!r} is on no path any more: the branch that it ended on was deleted")
    if last:
        return Position(overlay.last_chain, overlay.last)
    return Position(overlay.first_chain, overlay.first)


def _taken_over(write: Write, first: Position, last: Position) -> Position:
    """The start of a shown overlay whose first survivor is `first`: else that one would be asked before the new one."""
    connection = write.connection
    before = tree.parent(connection, first)
    low = 0 if before is None else before.seq
    new_end = Range(last.chain, last.seq + 1)
    for overlay in linking.starting_in(connection, write.session or 0, low, first.seq):
        start = Position(overlay.first_chain, overlay.first)
        end = Range(overlay.last_chain, overlay.last + 1)
        meets = tree.holds(connection, end, last) or tree.holds(
            connection, new_end, Position(overlay.last_chain, overlay.last)
        )
        if meets and tree.holds(connection, new_end, start) and start.seq < first.seq:
            first = start
    return first


# ---- what happened while a summariser ran


def _was_emptied_or_compacted(write: Write, since: int) -> bool:
    types = (log.CLEAR, log.DELETE_SESSION, log.COMPACT, log.COMPACTION)
    return any(log.read(write.connection, seq).type in types for seq in _events(write, since))


def _events(write: Write, since: int) -> list[int]:
    return log.session_seqs(write.connection, write.head.last, since) if write.head.last else []


def _deleted(write: Write, since: int) -> dict[int, str]:
    """The ids of the messages that were deleted, by their seqs."""
    events = _events(write, since)
    return {seq: message_id for event in events for seq, message_id in log.deleted(write.connection, event)}


def _covered(write: Write, first: Position, last: Position, gone: dict[int, str]) -> list[int]:
    """Those of `gone` that lie in a range: by the log, which keeps the parents that messages were given."""
    found = []
    seq: int | None = last.seq if any(first.seq <= each <= last.seq for each in gone) else None
    while seq is not None and seq >= first.seq:
        if seq in gone:
            found.append(seq)
        (seq,) = fetch_one(write.connection, "SELECT parent FROM event WHERE seq = ?", (seq,))
    return found
