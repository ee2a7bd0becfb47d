"""Writes that add messages: append one and many, and the first half of upsert."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from eventstore import codec, log, messages, tree
from eventstore.clock import to_datetime
from eventstore.drafting import Draft, Drafts
from eventstore.errors import InvalidArgument, LeafChanged, UnknownMessage
from eventstore.store import Store
from eventstore.tree import Position
from eventstore.types import (
    LATEST,
    UNCHECKED,
    AppendResult,
    ExpectedLeaf,
    MessageLike,
    ParentId,
    Source,
    results_of_new,
)
from eventstore.writing import Write


def append_message(
    store: Store, name: str, message: MessageLike, parent_id: ParentId, expected_leaf: ExpectedLeaf, source: Source
) -> AppendResult:
    """Appends one message."""
    if parent_id is not LATEST:
        check_parent(parent_id)
    if expected_leaf is not UNCHECKED:
        check_expected(expected_leaf)
    draft = store.drafting.new_draft(message, source)
    if codec.is_overlay_id(draft.id):
        store.database.check_writable()
        return answer_overlay(draft)
    with Write(store, name, draft.id) as write, write:
        return Appending(write, parent_id, expected_leaf).append(draft)


def answer_overlay(draft: Draft) -> AppendResult:
    """A summary that a client posted back is answered, and never stored."""
    return AppendResult(False, draft.encoded.value, None)


def append_messages(
    store: Store,
    name: str,
    given: Iterable[MessageLike],
    parent_id: ParentId,
    expected_leaf: ExpectedLeaf,
    source: Source,
) -> list[AppendResult]:
    """Appends messages, each on the one before, in one transaction."""
    if expected_leaf is not UNCHECKED:
        check_expected(expected_leaf)
    check_parent(parent_id)
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        found = type(given).__name__
        raise InvalidArgument(f"messages must be an iterable of messages, not {found}: put one message in a list")
    batch = store.drafting.new_drafts(given, source)
    overlays = codec.count_overlay_ids(batch.ids)
    if overlays == len(batch):
        store.database.check_writable()
        return [answer_overlay(draft) for draft in batch]
    with Write(store, name) as write, write:
        appending = Appending(write, parent_id, expected_leaf)
        if not overlays and appending.are_new(batch.ids):  # what most batches are
            return appending.append_run(batch)
        return appending.append_all(batch)


def check_expected(expected_leaf: object) -> None:
    """Raises `InvalidArgument` for what can't be the id of a leaf."""
    if expected_leaf is not None and not isinstance(expected_leaf, str):
        raise InvalidArgument(
            f"expected_leaf must be a message's id, None for no leaf, or UNCHECKED; not {expected_leaf!r}: "
            "give the id of the last message that was read"
        )


def check_parent(parent_id: object) -> None:
    """Raises `InvalidArgument` for what can't name a parent."""
    if parent_id is not LATEST and parent_id is not None and not isinstance(parent_id, str):
        raise InvalidArgument(f"parent_id must be a message's id, None for a root, or LATEST; not {parent_id!r}")


class Appending:
    """A run of appends in one write."""

    def __init__(self, write: Write, parent_id: ParentId, expected_leaf: ExpectedLeaf) -> None:
        self._write = write
        self._parent: ParentId | Position = parent_id
        self._expected = expected_leaf
        self._hashes: list[int] | None = None  # of a batch of new messages, which goes in as one run

    def are_new(self, ids: Sequence[str]) -> bool:
        """Whether none of a batch is known, as a look at the index tells for sure."""
        if len(set(ids)) != len(ids):
            return False
        write = self._write
        if write.session is None:
            return True
        hashes = log.hash_ids(write.session, ids)
        if tree.known_hashes(write.connection, hashes):
            return False
        self._hashes = hashes
        return True

    def append_all(self, batch: Sequence[Draft]) -> list[AppendResult]:
        """Appends each, and says what became of it."""
        results: list[AppendResult] = []
        run: dict[str, Draft] = {}
        for draft in batch:
            is_overlay, position = codec.is_overlay_id(draft.id), None
            if not is_overlay and draft.id not in run and (position := self._find(draft)) is None:
                run[draft.id] = draft
                continue
            results += self.append_run(list(run.values()))
            run.clear()
            if is_overlay:
                results.append(answer_overlay(draft))
            else:
                results.append(self.append(draft) if position is None else self._repeat(position))
        return results + self.append_run(list(run.values()))

    def append(self, draft: Draft) -> AppendResult:
        """Appends one, or answers with the stored one when its id is known."""
        if (position := self._find(draft)) is not None:
            return self._repeat(position)
        return AppendResult(True, draft.encoded.value, self._add((draft,))[0])

    def _find(self, draft: Draft) -> Position | None:
        write = self._write
        return tree.find(write.connection, write.head.session, draft.id) if write.may_hold(draft.id) else None

    def _repeat(self, position: Position) -> AppendResult:
        """Answers with the message that is there; what follows in a batch hangs on it."""
        from eventstore.events import Appended

        write = self._write
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
        return AppendResult(False, message, None)

    def append_run(self, run: Sequence[Draft]) -> list[AppendResult]:
        """Appends drafts that are new, each on the one before."""
        if not run:
            return []
        drafts = Drafts.of(run)
        return results_of_new(drafts.values, self._add(drafts))

    def _add(self, run: Sequence[Draft]) -> range:
        write = self._write
        self._check_leaf()
        parent, parent_id = self._resolve_parent()
        seqs = write.add(log.APPEND, run, parent, self._hashes)
        self._hashes = None
        if write.is_heard():
            from eventstore.events import Appended  # where nobody listens, no event is made

            created_at = to_datetime(write.now)
            for seq, draft in zip(seqs, run, strict=True):
                message = codec.own_value(draft.encoded)
                write.emit(Appended, seq, message=message, parent_id=parent_id, created_at=created_at)
                parent_id = draft.id
        self._parent = LATEST
        write.store.grew(write.name)
        return seqs

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
        write, parent = self._write, self._parent
        if parent is LATEST:
            leaf = write.head.leaf
            return leaf, None if leaf is None or not write.is_heard() else log.message_id(write.connection, leaf)
        if parent is None:
            return None, None
        if isinstance(parent, Position):
            return parent.seq, log.message_id(write.connection, parent.seq)
        position = None if write.session is None else tree.find(write.connection, write.session, parent)
        if position is None:
            raise UnknownMessage([parent], write.name, "parent_id")
        return position.seq, parent
