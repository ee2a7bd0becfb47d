"""Writes as values: drawn once, then applied to any session, where each of them means something.

A write names an existing message by a number, which is resolved against the session's messages as they are when the
write is applied (`number % how many`, oldest first). So a history of writes never fails by accident, and stays
meaningful when hypothesis leaves out some of its members. On an empty session a write that needs a message does
nothing, and one that needs a parent makes a root.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Literal, TypeAlias

import attrs
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from eventstore import LATEST, ImportRow, Message, Session
from eventstore.testing.strategies import conversations, messages
from eventstore.testing.values import objects, texts, times
from eventstore.types import Sentinel

Place: TypeAlias = int | Literal[Sentinel.LATEST] | None
"""Where a message goes: under the message of that number, under the active leaf, or (None) as a root."""


def existing_id(session: Session, number: int) -> str | None:
    """The id that `number` stands for in the session as it is now; None when it is empty."""
    infos = sorted(session.tree(), key=lambda info: info.seq)
    return infos[number % len(infos)].id if infos else None


def existing_message(session: Session, number: int) -> Message | None:
    """The message that `number` stands for; None when the session is empty."""
    message_id = existing_id(session, number)
    return None if message_id is None else session.get_message(message_id)


def _parent_id(session: Session, place: Place) -> str | Literal[Sentinel.LATEST] | None:
    return existing_id(session, place) if isinstance(place, int) else place


def _with_id(message: Message, message_id: str) -> Message:
    return {**message, "id": message_id}


class Write(abc.ABC):
    """One write. Frozen, and its repr is the code that makes it."""

    __slots__ = ()

    @abc.abstractmethod
    def apply(self, session: Session) -> None:
        """Performs it on `session`."""


@attrs.frozen
class Append(Write):
    """Appends a message; when the session holds its id already, nothing."""

    message: Message
    parent: Place = LATEST

    def apply(self, session: Session) -> None:
        session.append_message(self.message, parent_id=_parent_id(session, self.parent))


@attrs.frozen
class AppendMany(Write):
    """Appends messages, each on the one before."""

    messages: Sequence[Message]
    parent: Place = LATEST

    def apply(self, session: Session) -> None:
        session.append_messages(self.messages, parent_id=_parent_id(session, self.parent))


@attrs.frozen
class RepeatAppend(Write):
    """Appends a stored message once more, as a client does that missed the answer: stores nothing."""

    number: int

    def apply(self, session: Session) -> None:
        message = existing_message(session, self.number)
        if message is not None:
            session.append_message(message)


@attrs.frozen
class Update(Write):
    """Replaces a stored message by another that takes over its id."""

    number: int
    message: Message

    def apply(self, session: Session) -> None:
        message_id = existing_id(session, self.number)
        if message_id is not None:
            session.update_message(_with_id(self.message, message_id))


@attrs.frozen
class Grow(Write):
    """Adds text at the end of a stored message, as a reply does that streams in."""

    number: int
    added: str

    def apply(self, session: Session) -> None:
        message = existing_message(session, self.number)
        if message is None:
            return
        last = message["parts"][-1] if message["parts"] else {}
        if last.get("type") == "text" and isinstance(last.get("text"), str):
            parts = [*message["parts"][:-1], {**last, "text": last["text"] + self.added}]
        else:
            parts = [*message["parts"], {"type": "text", "text": self.added}]
        session.update_message({**message, "parts": parts})


@attrs.frozen
class Upsert(Write):
    """Replaces the stored message `number` by `message`; with `number` None, appends it or replaces its own id's."""

    message: Message
    number: int | None = None
    parent: Place = LATEST

    def apply(self, session: Session) -> None:
        message_id = None if self.number is None else existing_id(session, self.number)
        message = self.message if message_id is None else _with_id(self.message, message_id)
        session.upsert_message(message, parent_id=_parent_id(session, self.parent))


@attrs.frozen
class Delete(Write):
    """Deletes messages; what followed them follows their nearest surviving ancestors."""

    numbers: Sequence[int]

    def apply(self, session: Session) -> None:
        ids = [existing_id(session, number) for number in self.numbers]
        session.delete_messages([message_id for message_id in ids if message_id is not None])


@attrs.frozen
class DeleteBranch(Write):
    """Deletes a message and everything under it."""

    number: int

    def apply(self, session: Session) -> None:
        message_id = existing_id(session, self.number)
        if message_id is not None:
            session.delete_branch(message_id)


@attrs.frozen
class Clear(Write):
    """Deletes every message. The session's metadata stays."""

    def apply(self, session: Session) -> None:
        session.clear_messages()


@attrs.frozen
class SelectLeaf(Write):
    """Makes the path to a message, an inner one too, the active one."""

    number: int

    def apply(self, session: Session) -> None:
        message_id = existing_id(session, self.number)
        if message_id is not None:
            session.select_leaf(message_id)


@attrs.frozen
class SetMetadata(Write):
    """Replaces the session's own metadata."""

    metadata: dict[str, Any]

    def apply(self, session: Session) -> None:
        session.set_metadata(self.metadata)


@attrs.frozen
class Import(Write):
    """Imports a message with a time of its own."""

    message: Message
    created_at: datetime
    parent: int | None = None

    def apply(self, session: Session) -> None:
        parent_id = None if self.parent is None else existing_id(session, self.parent)
        session.import_message(self.message, parent_id=parent_id, created_at=self.created_at)


@attrs.frozen
class ImportMany(Write):
    """Imports a conversation, a second from one message to the next; its roots go under message `parent`."""

    conversation: Sequence[tuple[Message, str | None]]
    created_at: datetime
    parent: int | None = None

    def apply(self, session: Session) -> None:
        under = None if self.parent is None else existing_id(session, self.parent)
        session.import_messages(
            ImportRow(
                message,
                parent_id=under if parent_id is None else parent_id,
                created_at=self.created_at + timedelta(seconds=index),
            )
            for index, (message, parent_id) in enumerate(self.conversation)
        )


@attrs.frozen
class AddCompaction(Write):
    """Shows a summary in the place of a range, on the path to message `leaf`, of entries as a read shows them there."""

    summary: str
    leaf: int
    first: int
    length: int

    def apply(self, session: Session) -> None:
        leaf_id = existing_id(session, self.leaf)
        if leaf_id is None:
            return
        shown = [message["id"] for message in session.get_history(leaf_id=leaf_id)]
        first = self.first % len(shown)
        session.add_compaction(self.summary, shown[first], shown[min(first + self.length, len(shown) - 1)])


_NUMBERS = st.integers(0, 30)
_PARENTS = st.none() | _NUMBERS
_PLACES: SearchStrategy[Any] = st.just(LATEST) | _PARENTS
_RARE = frozenset({Clear, DeleteBranch, RepeatAppend, SetMetadata})
"""What ends a history, or adds little to it."""


@cache
def write_kinds(
    *, ids: SearchStrategy[str] | None = None, roles: SearchStrategy[str] | None = None
) -> dict[type[Write], SearchStrategy[Write]]:
    """How each kind of write is drawn. `ids` and `roles` narrow the new messages in them."""
    new = messages(ids=ids, roles=roles)
    trees = conversations(ids=ids, roles=roles, max_size=5)
    summaries = texts().filter(lambda text: bool(text.strip()))
    return {
        Append: st.builds(Append, new, _PLACES),
        AppendMany: st.builds(AppendMany, st.lists(new, max_size=4), _PLACES),
        RepeatAppend: st.builds(RepeatAppend, _NUMBERS),
        Update: st.builds(Update, _NUMBERS, new),
        Grow: st.builds(Grow, _NUMBERS, texts()),
        Upsert: st.builds(Upsert, new, st.none() | _NUMBERS, _PLACES),
        Delete: st.builds(Delete, st.lists(_NUMBERS, min_size=1, max_size=4)),
        DeleteBranch: st.builds(DeleteBranch, _NUMBERS),
        Clear: st.builds(Clear),
        SelectLeaf: st.builds(SelectLeaf, _NUMBERS),
        SetMetadata: st.builds(SetMetadata, objects()),
        Import: st.builds(Import, new, times(), _PARENTS),
        AddCompaction: st.builds(AddCompaction, summaries, _NUMBERS, _NUMBERS, st.integers(0, 4)),
        ImportMany: st.builds(ImportMany, trees.flatmap(st.permutations), times(), _PARENTS),
    }


_ANY_KIND = st.deferred(
    lambda: st.sampled_from([kind for kind in write_kinds() for _ in range(1 if kind in _RARE else 3)])
)


@st.composite
def any_write(draw: DrawFn, ids: SearchStrategy[str] | None = None, roles: SearchStrategy[str] | None = None) -> Write:
    """One write: the rare kinds less often, or most sessions stay almost empty."""
    return draw(write_kinds(ids=ids, roles=roles)[draw(_ANY_KIND)])


def writes(
    *,
    ids: SearchStrategy[str] | None = None,
    roles: SearchStrategy[str] | None = None,
    min_size: int = 0,
    max_size: int = 12,
) -> SearchStrategy[list[Write]]:
    """Histories of one session: lists of writes of every kind, to be applied in order.

    `ids` and `roles` narrow the new messages in them.
    """
    return st.lists(any_write(ids, roles), min_size=min_size, max_size=max_size)
