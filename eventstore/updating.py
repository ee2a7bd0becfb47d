"""Writes that replace a message: update and upsert.

What an update only inserts into a long text is stored as that insertion (see `deltas`); all else is written whole,
after the old body was dropped, so that the file can use its pages again.
"""

from __future__ import annotations

from eventstore import bodies, codec, deltas, log, messages
from eventstore.appending import answer_overlay, append_new, check_parent
from eventstore.bodies import Growing
from eventstore.drafting import Draft
from eventstore.driver import fetch_one
from eventstore.events import Updated
from eventstore.log import Envelope
from eventstore.seams import reach
from eventstore.store import Store
from eventstore.tree import Position
from eventstore.types import UNCHECKED, AppendResult, Message, MessageLike, ParentId, Source
from eventstore.writing import Write


def update_message(store: Store, name: str, message: MessageLike, source: Source) -> Message | None:
    """Replaces a stored message; `None` when the session doesn't hold it."""
    drafting = store.drafting
    reserved = drafting.has_reserved(source)
    draft = drafting.draft(drafting.prepared(message))
    if codec.is_overlay_id(draft.id):
        store.database.check_writable()
        return None
    with Write(store, name) as write, write:
        position = write.find(draft.id)
        if position is None:
            return None
        if reserved:
            draft = _merged(write, position, draft)
        _replace(write, position, draft)
        replaced: Message = draft.encoded.value
        return replaced


def upsert_message(store: Store, name: str, message: MessageLike, parent_id: ParentId, source: Source) -> AppendResult:
    """Appends when the id is new, else updates."""
    check_parent(parent_id)
    drafting = store.drafting
    reserved = drafting.has_reserved(source)
    draft = drafting.draft(drafting.prepared(message))
    if codec.is_overlay_id(draft.id):
        store.database.check_writable()
        return answer_overlay(draft)
    with Write(store, name) as write, write:
        position = write.find(draft.id)
        if position is None:
            new = drafting.draft(drafting.with_reserved(draft.encoded.value, None)) if reserved else draft
            return append_new(write, new, parent_id, UNCHECKED)
        if reserved:
            draft = _merged(write, position, draft)
        return AppendResult(False, draft.encoded.value, seq=_replace(write, position, draft))


def _merged(write: Write, position: Position, draft: Draft) -> Draft:
    """A client's message with the reserved keys as they are stored. What was given isn't looked at again."""
    stored = messages.read_one(write.connection, position)
    drafting = write.store.drafting
    return drafting.draft(drafting.with_reserved(draft.encoded.value, stored))


def _replace(write: Write, position: Position, draft: Draft) -> int | None:
    """Logs the new version and returns its seq, `None` when it is equal to the one that is there."""
    version, recorded_at, size, digest = fetch_one(
        write.connection,
        "SELECT v.seq, v.recorded_at, v.bytes, v.digest "
        "FROM message m JOIN event v ON v.seq = coalesce(m.current, m.seq) WHERE m.chain = ? AND m.seq = ?",
        position,
    )
    text = draft.encoded.text
    if size == draft.encoded.size and digest == codec.digest(text):
        stored = bodies.read(write.connection, version)
        if stored is not None and (stored.text, stored.media) == (text, draft.encoded.media):
            return None
    envelope = write.next(
        log.UPDATE, message=position.seq, role=draft.role, bytes=draft.encoded.size, tokens=draft.tokens
    )
    write.unindex([version])
    longer = len(draft.encoded.text) >= deltas.LEAST_BASE and draft.encoded.size > size
    growing = _growing(write, position.seq, (version, recorded_at)) if longer else None
    inserted = None if growing is None else bodies.grows(growing, draft.encoded)
    if growing is not None and inserted is not None:
        reach("decided")
        if write.keeps_current_only():
            bodies.forget_digest(write.connection, version)
        envelope = envelope._replace(base=growing.owner, digest=codec.digest(text), flags=draft.encoded.flags)
        pieces = bodies.add_insertion(write.connection, growing, envelope.seq, *inserted)
        write.append(envelope, None)
        grown = Growing(growing.owner, growing.base_size, growing.pieces + pieces, text, draft.encoded.media)
    else:
        pieces = _rewrite(write, envelope, version, draft)
        grown = Growing(envelope.seq, len(text), pieces, text, draft.encoded.media)
    write.store.growing.put(position.seq, (envelope.seq, envelope.recorded_at), grown)
    if write.is_heard():
        write.emit(Updated, envelope.seq, message=codec.own_value(draft.encoded))
    return envelope.seq


def _rewrite(write: Write, envelope: Envelope, version: int, draft: Draft) -> int:
    """Logs a version whole, and returns in how many pieces beside its row.

    The old body goes first, so that the file can use its pages; but attachments are referred to anew before that, so
    that those of both versions stay where they are.
    """
    drops = write.keeps_current_only()
    if drops and not draft.encoded.media:
        bodies.drop(write.connection, version)
    pieces = write.log(envelope, draft.encoded)
    if drops and draft.encoded.media:
        bodies.drop(write.connection, version)
    return pieces


def _growing(write: Write, message: int, version: tuple[int, int]) -> Growing:
    """The stored version, as the new one may have grown from it."""
    return write.store.growing.get(message, version) or bodies.read_growing(write.connection, version[0])
