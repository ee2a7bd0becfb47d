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
        if (position := write.find(draft.id)) is not None:
            return _repeat(write, position)
        return append_new(write, draft, parent_id, expected_leaf)


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
        are_new, hashes = (False, None) if overlays else _look_up(write, batch.ids)
        if are_new:  # what most batches are
            return _append_run(write, batch, parent_id, expected_leaf, hashes)
        return _append_each(write, batch, parent_id, expected_leaf)


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


def append_new(write: Write, draft: Draft, parent: ParentId, expected: ExpectedLeaf) -> AppendResult:
    """Appends a message that isn't there."""
    return AppendResult(True, draft.encoded.value, _add(write, (draft,), parent, expected)[0])


def _look_up(write: Write, ids: Sequence[str]) -> tuple[bool, Sequence[int] | None]:
    """Whether none of a batch is known, as a look at the index tells for sure, and then the hashes, where it needed
    them."""
    if len(set(ids)) != len(ids):
        return False, None
    if write.session is None:
        return True, None
    hashes = log.hash_ids(write.session, ids)
    return not tree.known_hashes(write.connection, hashes), hashes


def _append_run(
    write: Write,
    run: Sequence[Draft],
    parent: ParentId | Position,
    expected: ExpectedLeaf,
    hashes: Sequence[int] | None = None,
) -> list[AppendResult]:
    """Appends drafts that are new, each on the one before."""
    drafts = Drafts.of(run)
    return results_of_new(drafts.values, _add(write, drafts, parent, expected, hashes))


def _append_each(
    write: Write, batch: Iterable[Draft], parent: ParentId | Position, expected: ExpectedLeaf
) -> list[AppendResult]:
    """Appends a batch and says what became of each. What follows one that is there hangs on that."""
    results: list[AppendResult] = []
    run: dict[str, Draft] = {}

    def append_what_is_new() -> None:
        nonlocal parent, expected
        if run:
            results.extend(_append_run(write, list(run.values()), parent, expected))
            parent, expected = LATEST, UNCHECKED
            run.clear()

    for draft in batch:
        if codec.is_overlay_id(draft.id):
            append_what_is_new()
            results.append(answer_overlay(draft))
            continue
        if draft.id in run:
            append_what_is_new()
        if (position := write.find(draft.id)) is None:
            run[draft.id] = draft
        else:
            append_what_is_new()
            parent = position
            results.append(_repeat(write, position))
    append_what_is_new()
    return results


def _repeat(write: Write, position: Position) -> AppendResult:
    """Answers with the message that is there."""
    message = messages.read_one(write.connection, position)
    if write.has_listeners:
        from eventstore import overviews
        from eventstore.events import Appended

        info = overviews.info(write.connection, position)
        write.emit_repeated(
            Appended,
            message=codec.encode(message).value,
            parent_id=info.parent_id,
            created_at=info.created_at,
            inserted=False,
        )
    return AppendResult(False, message, None)


def _add(
    write: Write,
    run: Sequence[Draft],
    parent: ParentId | Position,
    expected: ExpectedLeaf,
    hashes: Sequence[int] | None = None,
) -> range:
    if expected is not UNCHECKED:
        _check_leaf(write, expected)
    above, parent_id = _resolve(write, parent)
    seqs = write.add(log.APPEND, run, above, hashes)
    if write.is_heard():
        from eventstore.events import Appended  # where nobody listens, no event is made

        created_at = to_datetime(write.now)
        for seq, draft in zip(seqs, run, strict=True):
            message = codec.own_value(draft.encoded)
            write.emit(Appended, seq, message=message, parent_id=parent_id, created_at=created_at)
            parent_id = draft.id
    write.store.grew(write.name)
    return seqs


def _check_leaf(write: Write, expected: str | None) -> None:
    leaf = write.head.leaf
    actual = None if leaf is None else log.message_id(write.connection, leaf)
    if actual != expected:
        raise LeafChanged(expected, actual)


def _resolve(write: Write, parent: ParentId | Position) -> tuple[int | None, str | None]:
    """(seq, id) of the parent that the next message gets; the id where somebody hears it."""
    if parent is LATEST:
        leaf = write.head.leaf
        return leaf, None if leaf is None or not write.is_heard() else log.message_id(write.connection, leaf)
    if parent is None:
        return None, None
    if isinstance(parent, Position):
        return parent.seq, log.message_id(write.connection, parent.seq)
    position = write.find(parent)
    if position is None:
        raise UnknownMessage([parent], write.name, "parent_id")
    return position.seq, parent
