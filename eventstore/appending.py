"""Writes that add messages: append one and many, and the first half of upsert."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from eventstore import codec, log, messages, tree
from eventstore.clock import to_datetime
from eventstore.errors import InvalidArgument, LeafChanged, UnknownMessage
from eventstore.events import Appended
from eventstore.store import Draft, Store
from eventstore.tree import Position
from eventstore.types import (
    LATEST,
    UNCHECKED,
    AppendResult,
    ExpectedLeaf,
    Message,
    MessageLike,
    ParentId,
    Sentinel,
    Source,
)
from eventstore.writing import Write


@attrs.frozen
class Overlay:
    """A summary that a client posted back: answered, never stored."""

    message: Message


def drafts(store: Store, given: Iterable[MessageLike], source: Source) -> list[Draft | Overlay]:
    """Messages on their way in: prepared, stripped of a client's reserved keys, checked and encoded."""
    reserved = store.has_reserved(source)
    found: list[Draft | Overlay] = []
    for message in given:
        message = store.prepared(message)
        draft = store.draft(store.with_reserved(message, None) if reserved else message)
        found.append(Overlay(draft.encoded.value) if codec.is_overlay_id(draft.id) else draft)
    return found


def append_message(
    store: Store, name: str, message: MessageLike, parent_id: ParentId, expected_leaf: ExpectedLeaf, source: Source
) -> AppendResult:
    """Appends one message."""
    return append_messages(store, name, [message], parent_id, expected_leaf, source)[0]


def append_messages(
    store: Store,
    name: str,
    given: Iterable[MessageLike],
    parent_id: ParentId,
    expected_leaf: ExpectedLeaf,
    source: Source,
) -> list[AppendResult]:
    """Appends messages, each on the one before, in one transaction."""
    check_parent(parent_id)
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise InvalidArgument(f"messages must be an iterable of messages, not {type(given).__name__}")
    batch = drafts(store, given, source)
    if all(isinstance(draft, Overlay) for draft in batch):
        store.database.check_writable()
        return [AppendResult(False, draft.message, None) for draft in batch if isinstance(draft, Overlay)]
    with Write(store, name) as write:
        return Appending(write, parent_id, expected_leaf).append_all(batch)


def check_parent(parent_id: object) -> None:
    """Raises `InvalidArgument` for what can't name a parent."""
    if parent_id is not None and parent_id is not LATEST and not isinstance(parent_id, str):
        raise InvalidArgument(f"parent_id must be a message's id, None for a root, or LATEST; not {parent_id!r}")


class Appending:
    """A run of appends in one write."""

    def __init__(self, write: Write, parent_id: ParentId, expected_leaf: ExpectedLeaf) -> None:
        self._write = write
        self._parent: ParentId | Position = parent_id
        self._expected = expected_leaf
        self._fresh: dict[str, Draft] = {}  # what this write appends
        self._maybe_known: set[str] | None = None  # of a batch, the ids that the index may hold; `None`: any

    def append_all(self, batch: Sequence[Draft | Overlay]) -> list[AppendResult]:
        """Appends each, and says what became of it."""
        new = [draft for draft in batch if isinstance(draft, Draft)]
        if len(batch) > 1 and self._write.session is not None:
            ids = [draft.id for draft in new]
            self._maybe_known = tree.maybe_known(self._write.connection, self._write.session, ids)
            if not self._maybe_known and len(set(ids)) == len(batch):  # what most batches are: all of it is new
                return self._append(new)
        results: list[AppendResult] = []
        run: list[Draft] = []
        for draft in batch:
            if isinstance(draft, Overlay):
                results += self._append(run)
                results.append(AppendResult(False, draft.message, None))
            elif (known := self._known(draft, run)) is not None:
                results += known
            else:
                run.append(draft)
                self._fresh[draft.id] = draft
        return results + self._append(run)

    def append(self, draft: Draft) -> AppendResult:
        """Appends one, or answers with the stored one when its id is known."""
        return self.append_all([draft])[0]

    def _known(self, draft: Draft, run: list[Draft]) -> list[AppendResult] | None:
        """The results up to a draft whose id is known, after `run` was appended; `None` when it is new."""
        write = self._write
        fresh = self._fresh.get(draft.id)
        if fresh is None and (self._maybe_known is not None and draft.id not in self._maybe_known):
            return None
        if fresh is None and (write.session is None or tree.find(write.connection, write.session, draft.id) is None):
            return None
        results = self._append(run)
        write.finish()
        position = tree.find(write.connection, write.session or 0, draft.id)
        if position is None:
            raise LookupError(draft.id)
        self._parent = position
        message = messages.read_one(write.connection, position)
        info = messages.info(write.connection, position)
        write.emit_repeated(
            Appended,
            message=codec.encode(message).value,
            parent_id=info.parent_id,
            created_at=info.created_at,
            inserted=False,
        )
        return [*results, AppendResult(False, message, None)]

    def _append(self, run: list[Draft]) -> list[AppendResult]:
        """Appends what was gathered, and empties it."""
        if not run:
            return []
        write = self._write
        self._check_leaf()
        parent, parent_id = self._resolve_parent()
        envelopes = write.add(log.APPEND, run, parent)
        if write.is_heard():
            created_at = to_datetime(write.now)
            for envelope, draft in zip(envelopes, run, strict=True):
                message = codec.own_value(draft.encoded)
                write.emit(Appended, envelope.seq, message=message, parent_id=parent_id, created_at=created_at)
                parent_id = draft.id
        self._parent = LATEST
        write.store.grew(write.name)
        results = [AppendResult(True, draft.encoded.value, e.seq) for draft, e in zip(run, envelopes, strict=True)]
        run.clear()
        return results

    def _check_leaf(self) -> None:
        if self._expected is UNCHECKED:
            return
        head = self._write.head
        actual = None if head.leaf is None else log.message_id(self._write.connection, head.leaf)
        if actual != self._expected:
            raise LeafChanged(self._expected, actual)
        self._expected = UNCHECKED

    def _resolve_parent(self) -> tuple[int | None, str | None]:
        """(seq, id) of the parent that the next message gets."""
        write = self._write
        parent: ParentId | Position = self._parent
        if isinstance(parent, Position):
            return parent.seq, log.message_id(write.connection, parent.seq)
        if parent is None:
            return None, None
        if isinstance(parent, Sentinel):
            leaf = write.head.leaf
            if leaf is None or not write.is_heard():
                return leaf, None
            write.finish()
            return leaf, log.message_id(write.connection, leaf)
        position = None if write.session is None else tree.find(write.connection, write.session, parent)
        if position is None:
            raise UnknownMessage([parent], write.name, "parent_id")
        return position.seq, parent
