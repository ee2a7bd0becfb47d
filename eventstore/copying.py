"""A session as the steps that made it, and such steps made into a session: what copies and exports are.

The steps are the session's log since its last clear, without what no read shows any more: versions that were replaced.
Messages that were deleted are among them, erased, since where they stood decides what later writes hang on. Replayed
into an empty session of any store, every read is the same.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

import attrs

from eventstore import bodies, codec, driver, heads, log, overviews, paths
from eventstore.clock import to_datetime
from eventstore.codec import Encoded
from eventstore.driver import Connection, fetch_one
from eventstore.errors import InvalidArgument
from eventstore.events import Compacted, Deleted, Imported, LeafSelected, MetadataChanged, Updated
from eventstore.infos import Compaction
from eventstore.log import Envelope
from eventstore.reports import ImportReport
from eventstore.segments import shown_on, stretches_of
from eventstore.store import Store
from eventstore.types import Progress, check_progress
from eventstore.writing import Write

REPORT_EVERY = 1_000  # steps between two calls of progress


@attrs.frozen
class Step:
    """One event of a session. Messages are named by their `seq` there: `seq` appends, the others refer to it.

    `body` is `None` where it was not retained, or where a later step replaces it.
    """

    type: str
    seq: int
    at: int  # when it happened, in microseconds: the message's own time where it has one
    id: str | None = None
    message: int | None = None
    parent: int | None = None
    deleted: tuple[int, ...] = ()
    role: str | None = None
    bytes: int | None = None
    tokens: int | None = None
    body: Encoded | None = None


def check_target(other: object, wanted: type) -> None:
    """Raises `InvalidArgument` for what isn't a session of the kind that is copied."""
    if not isinstance(other, wanted):
        raise InvalidArgument(
            f"copy_to() copies into another {wanted.__name__}, store.session(name), and not into {other!r}"
        )


def steps(connection: Connection, session: int) -> Iterator[Step]:
    """The steps of a session, and last its metadata as it stands. Reads as it goes: stay within one state."""
    head = heads.load(connection, session)
    if head is None:
        return
    for envelope in log.read_session(connection, head.last, after=_last_clear(connection, head.last)):
        if envelope.type == log.METADATA:
            continue
        if envelope.type not in (log.APPEND, log.IMPORT, log.UPDATE):
            yield _step(connection, envelope)
        elif (shown := _is_shown(connection, envelope)) or envelope.type != log.UPDATE:
            yield _step(connection, envelope, with_body=shown)
    if head.metadata is not None:
        yield _step(connection, log.read(connection, head.metadata))


def _last_clear(connection: Connection, last: int) -> int:
    row = fetch_one(
        connection,
        "WITH RECURSIVE walk(seq, back, type) AS (SELECT seq, back, type FROM event WHERE seq = ?1 UNION ALL "
        "SELECT e.seq, e.back, e.type FROM walk w JOIN event e ON e.seq = w.seq - w.back "
        "WHERE w.back > 0 AND w.type NOT IN (?2, ?3)) SELECT min(seq) FROM walk WHERE type IN (?2, ?3)",
        (last, log.CLEAR, log.DELETE_SESSION),
    )
    return row[0] or 0


def _is_shown(connection: Connection, e: Envelope) -> bool:
    """Whether a version is the one that its message reads as: not replaced, and its message not deleted."""
    message = e.seq if e.message is None else e.message
    row = fetch_one(
        connection,
        "SELECT coalesce(m.current, m.seq) FROM identity i JOIN message m ON m.chain = i.chain AND m.seq = i.seq "
        "WHERE i.hash = ? AND i.seq = ?",
        (log.hash_id(e.session, log.message_id(connection, message)), message),
    )
    return row is not None and row[0] == e.seq


def _step(connection: Connection, e: Envelope, *, with_body: bool = True) -> Step:
    body = bodies.read(connection, e.seq) if with_body else None
    encoded: Encoded | None = None
    if body is not None:
        encoded = Encoded(body.text, body.value(), e.bytes or 0, body.flags & codec.STRICT, body.media)
    return Step(
        log.TYPE_NAMES[log.IMPORT if e.type == log.APPEND else e.type],
        e.seq,
        e.created_at if e.created_at is not None else e.recorded_at,
        e.id,
        e.message,
        e.parent,
        tuple(message for message, _ in log.deleted(connection, e.seq)) if e.type == log.DELETE else (),
        e.role,
        e.bytes,
        e.tokens,
        encoded,
    )


def path_steps(connection: Connection, name: str, leaf_id: str) -> Iterator[Step]:
    """One path as a session of its own, with the summaries that it shows, anchored to messages that are left."""
    path = paths.find_path(connection, name, leaf_id)
    if path is None:
        return
    parent: int | None = None
    seqs: list[int] = []
    for stretch in stretches_of(connection, path):
        for info in overviews.stretch_infos(connection, stretch, None):
            seq, version = fetch_one(
                connection,
                "SELECT seq, coalesce(current, seq) FROM message WHERE chain = ? AND seq = ?",
                (stretch.chain, info.seq),
            )
            appended = _step(connection, log.read(connection, seq), with_body=version == seq)
            yield attrs.evolve(appended, parent=parent)
            if version != seq:
                yield _step(connection, log.read(connection, version))
            parent = seq
            seqs.append(seq)
    for overlay in sorted(shown_on(connection, path), key=lambda each: each.seq):
        first, last = seqs[bisect_left(seqs, overlay.first)], seqs[bisect_right(seqs, overlay.last) - 1]
        yield attrs.evolve(_step(connection, log.read(connection, overlay.seq)), message=first, parent=last)
    head = heads.load(connection, path.session)
    if head is not None and head.metadata is not None:
        yield _step(connection, log.read(connection, head.metadata))


class Replaying:
    """Steps made into the events of a session that is empty."""

    def __init__(self, write: Write) -> None:
        self.imported = 0
        self._described = False  # whether a step gave metadata
        self._write = write
        self._seqs: dict[int, int] = {}  # there -> here
        self._ids: dict[int, str] = {}  # here -> the message's id, for what listeners hear

    def take_all(self, given: Iterable[Step], progress: Progress | None = None) -> None:
        """Replays every step."""
        for count, step in enumerate(given, 1):
            getattr(self, f"_{step.type}")(step)
            if progress is not None and count % REPORT_EVERY == 0:
                with driver.calling_out():
                    progress(count, None)

    def _here(self, seq: int | None) -> int | None:
        return None if seq is None else self._seqs[seq]

    def _import(self, step: Step) -> None:
        write = self._write
        parent, touch = self._here(step.parent), write.head.touch
        envelope = write.next(
            log.IMPORT,
            id=step.id,
            parent=parent,
            touch=None if touch == parent else touch,
            role=step.role,
            bytes=step.bytes,
            tokens=step.tokens,
            created_at=step.at,
        )
        write.log(envelope, step.body)
        self._seqs[step.seq] = envelope.seq
        self._ids[envelope.seq] = step.id or ""
        self.imported += 1
        if write.is_heard() and step.body is not None:
            write.emit(
                Imported,
                envelope.seq,
                message=codec.own_value(step.body),
                parent_id=None if parent is None else self._ids[parent],
                created_at=to_datetime(step.at),
            )

    def _update(self, step: Step) -> None:
        message = self._here(step.message)
        envelope = self._write.next(
            log.UPDATE, message=message, role=step.role, bytes=step.bytes, tokens=step.tokens, created_at=step.at
        )
        if self._write.keeps_current_only():
            bodies.drop(self._write.connection, message or 0)
        self._write.log(envelope, step.body)
        if self._write.is_heard() and step.body is not None:
            self._write.emit(Updated, envelope.seq, message=codec.own_value(step.body))

    def _delete(self, step: Step) -> None:
        write = self._write
        dead = [self._seqs[seq] for seq in step.deleted]
        if write.keeps_current_only():
            for seq in dead:
                bodies.drop(write.connection, seq)
        envelope = write.next(log.DELETE)
        log.append_deletion(write.connection, envelope.seq, dead)
        write.log(envelope)
        self.imported -= len(dead)
        if write.is_heard():
            write.emit(Deleted, envelope.seq, message_ids=tuple(self._ids[seq] for seq in dead))

    def _select(self, step: Step) -> None:
        message = self._here(step.message)
        envelope = self._write.next(log.SELECT, message=message, touch=self._write.head.touch)
        self._write.log(envelope)
        if self._write.is_heard() and message is not None:
            self._write.emit(LeafSelected, envelope.seq, message_id=self._ids[message])

    def _compaction(self, step: Step) -> None:
        write, first, last = self._write, self._here(step.message), self._here(step.parent)
        envelope = write.next(
            log.COMPACT if step.type == "compact" else log.COMPACTION,
            id=step.id,
            message=first,
            parent=last,
            role=step.role,
            bytes=step.bytes,
            tokens=step.tokens,
            created_at=step.at,
        )
        write.log(envelope, step.body)
        if write.is_heard() and step.body is not None and first is not None and last is not None:
            summary, created_at = codec.decode(step.body.text, step.body.flags), to_datetime(step.at)
            compaction = Compaction(step.id or "", self._ids[first], self._ids[last], summary, created_at, envelope.seq)
            write.emit(Compacted, envelope.seq, type=step.type, compaction=compaction)

    _compact = _compaction

    def finish(self) -> None:
        """Takes away metadata that the session had before, and its source hasn't: after the last step."""
        if self._write.head.metadata is not None and not self._described:
            self._metadata(Step("metadata", 0, 0, body=codec.encode({})))

    def _metadata(self, step: Step) -> None:
        if step.body is None:
            return
        self._described = True
        stored = self._write.head.metadata
        if stored is not None and self._write.keeps_current_only():
            bodies.drop(self._write.connection, stored)
        envelope = self._write.next(log.METADATA, bytes=step.body.size)
        self._write.log(envelope, step.body)
        if self._write.is_heard():
            self._write.emit(MetadataChanged, envelope.seq, metadata=codec.decode(step.body.text, step.body.flags))


def copy_session(
    source: Store, name: str, target: Store, target_name: str, leaf_id: str | None, progress: Progress | None
) -> ImportReport:
    """Copies a session, or one path of it, into an empty session, whole or not at all."""
    check_progress(progress)
    with source.read() as connection:
        session = paths.find_session(connection, name)
        given: Iterable[Step] = () if session is None else steps(connection, session)
        if leaf_id is not None:
            paths.require(connection, session, name, leaf_id, "leaf_id")
            given = path_steps(connection, name, leaf_id)
        return replay_into(target, target_name, given, progress, like_source=True)


def replay_into(
    store: Store, name: str, given: Iterable[Step], progress: Progress | None, *, like_source: bool = False
) -> ImportReport:
    """Replays steps into an empty session; with `like_source`, metadata that no step gave goes.

    Raises `InvalidArgument` when the session holds messages.
    """
    with Write(store, name) as write, write:
        if write.head.messages:
            raise InvalidArgument(
                f"session {name!r} holds {write.head.messages} messages: copy into an empty one, or clear it first"
            )
        replaying = Replaying(write)
        replaying.take_all(given, progress)
        if like_source:
            replaying.finish()
        return ImportReport(replaying.imported, 0)
