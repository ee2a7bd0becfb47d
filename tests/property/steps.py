"""What is done to a store and to its oracle in one step, as values: more kinds of writes, and nested transactions.

Those of `eventstore.testing` never fail; these may, and then both sides must fail alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import attrs
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from eventstore import LATEST, CompactResult, EventStoreError, ImportRow, Message, Session
from eventstore.testing import (
    AddCompaction,
    Append,
    AppendMany,
    Delete,
    DeleteBranch,
    Grow,
    Import,
    ImportMany,
    RepeatAppend,
    SelectLeaf,
    SetMetadata,
    Update,
    Upsert,
    Write,
    messages,
)
from eventstore.testing.writes import any_write, existing_id, existing_message, write_kinds

NAMES = ("", "other")
RESERVED = ("model", "turn")
WHEN = datetime(2020, 2, 2, tzinfo=UTC)


@attrs.frozen
class Edit(Write):
    """Replaces a piece of a stored message's last text: it grows, shrinks or changes inside."""

    number: int
    at: int
    removed: int
    added: str

    def apply(self, session: Session) -> None:
        message = existing_message(session, self.number)
        if message is None or not message["parts"] or not isinstance(message["parts"][-1].get("text"), str):
            return
        last = message["parts"][-1]
        at = self.at % (len(last["text"]) + 1)
        text = last["text"][:at] + self.added + last["text"][at + self.removed :]
        session.update_message({**message, "parts": [*message["parts"][:-1], {**last, "text": text}]})


@attrs.frozen
class DeleteActive(Write):
    """Deletes the active leaf again and again: each time the one touched before it becomes the active one."""

    times: int

    def apply(self, session: Session) -> None:
        for _ in range(self.times):
            leaf = session.get_latest_leaf()
            if leaf is not None:
                session.delete_messages([leaf["id"]])


@attrs.frozen
class Expecting(Write):
    """Appends that expect the active leaf, rightly or (a message of that number, or nobody) wrongly."""

    batch: Sequence[Message]
    wrong: int | None
    parent: int | None

    def apply(self, session: Session) -> Any:
        leaf = session.get_latest_leaf()
        expected = None if leaf is None else leaf["id"]
        if self.wrong is not None:
            expected = existing_id(session, self.wrong) or "nobody"
        parent_id: Any = LATEST if self.parent is None else existing_id(session, self.parent)
        if session.get_message(self.batch[0]["id"]) is not None:
            return None  # a known id is answered first, and what follows it isn't said to expect anything
        if len(self.batch) == 1:
            return session.append_message(self.batch[0], parent_id=parent_id, expected_leaf=expected)
        return session.append_messages(self.batch, parent_id=parent_id, expected_leaf=expected)


@attrs.frozen
class Post(Write):
    """Clients and the server write the same few messages, with reserved keys; then the client echoes what is there."""

    verb: str
    source: str
    number: int
    metadata: dict[str, Any]

    def apply(self, session: Session) -> Any:
        message = {"id": f"posted-{self.number}", "role": "user", "parts": [], "metadata": self.metadata}
        result = getattr(session, self.verb)(message, source=self.source)
        stored = session.get_message(f"posted-{self.number}")
        return [result, stored and session.upsert_message(stored, source="client").seq]


@attrs.frozen
class Refused(Write):
    """Ids that no message has, and summaries that a client posts back: an error of ours, or nothing."""

    number: int
    message: Message

    def apply(self, session: Session) -> Any:
        message = self.message
        overlay: Message = {**message, "id": f"compaction_{message['id']}"}
        rows = [
            ImportRow({**message, "id": "orphan"}, parent_id="nobody", created_at=WHEN),
            ImportRow(message, parent_id=None, created_at=WHEN),
        ]
        calls: list[Callable[[], Any]] = [
            lambda: session.append_message(message, parent_id="nobody"),
            lambda: session.append_messages([message, message], parent_id="nobody"),
            lambda: session.upsert_message(message, parent_id="nobody"),
            lambda: session.select_leaf("nobody"),
            lambda: session.delete_branch("nobody"),
            lambda: session.delete_messages(["nobody", "no one"]),
            lambda: [session.append_message(overlay), session.upsert_message(overlay)],
            lambda: session.append_messages([overlay, message, overlay, message]),
            lambda: session.update_message(overlay),
            lambda: session.import_messages(rows),
        ]
        return calls[self.number % len(calls)]()


@attrs.frozen
class Compact(Write):
    """Has the compact function called, or called by an append that is too much: it covers a range of what it is given,
    and now and then nothing."""

    first: int
    length: int
    appended: Message | None

    def apply(self, session: Session) -> None:
        session.on_compaction(self._summarised)
        if self.appended is None:
            session.compact()
        else:
            session.compact_after(0).append_message(self.appended)
            session.compact_after(None)

    def _summarised(self, shown: list[Message]) -> CompactResult | None:
        if self.length == 0 or not shown:
            return None
        first = self.first % len(shown)
        last = min(first + self.length, len(shown)) - 1
        return CompactResult(shown[first]["id"], shown[last]["id"], f"{self.length} in short")


@attrs.frozen
class Nested:
    """A transaction: what is done in it, (session, write) or transactions of their own, and whether it is kept."""

    steps: Sequence[Any]
    kept: bool


_NUMBERS = st.integers(0, 30)
_TYPED = st.sampled_from(("a", "ab", "seed", "語", "\ud83d"))
_METADATA = st.fixed_dictionaries({}, optional=dict.fromkeys(("model", "keep", "turn"), st.integers(0, 2)))
_VERBS = st.sampled_from(("append_message", "update_message", "upsert_message"))
_OURS: dict[type[Write], SearchStrategy[Write]] = {
    Edit: st.builds(Edit, _NUMBERS, st.integers(0, 20), st.integers(0, 2), _TYPED),
    DeleteActive: st.builds(DeleteActive, st.integers(1, 4)),
    Expecting: st.builds(
        Expecting, st.lists(messages(), min_size=1, max_size=3), st.none() | _NUMBERS, st.none() | _NUMBERS
    ),
    Post: st.builds(Post, _VERBS, st.sampled_from(("client", "client", "server")), st.integers(1, 2), _METADATA),
    Refused: st.builds(Refused, _NUMBERS, messages()),
    Compact: st.builds(Compact, _NUMBERS, st.integers(0, 4), st.none() | messages()),
}


def any_of(*kinds: type[Write]) -> SearchStrategy[Write]:
    """Writes of these kinds; one that is named twice comes twice as often."""
    return st.sampled_from(kinds).flatmap(lambda kind: _OURS[kind] if kind in _OURS else write_kinds()[kind])


ANY_SESSION = st.sampled_from(("", "", "", "other"))
ANY_WRITE = any_write().filter(lambda write: not isinstance(write, AddCompaction))  # they have an oracle of their own
ADDITIONS = any_of(Append, Append, Append, AppendMany, Expecting, Import, ImportMany)
CHANGES = any_of(Edit, Edit, Grow, Post, Post, RepeatAppend, SelectLeaf, SelectLeaf, SetMetadata, Update, Upsert)
REMOVALS = any_of(Delete, Delete, DeleteActive, DeleteBranch)
ANYTHING = st.sampled_from((ADDITIONS, ADDITIONS, CHANGES, CHANGES, REMOVALS, any_of(Refused), ANY_WRITE)).flatmap(
    lambda kinds: kinds
)
EVERYTHING = st.one_of(ANYTHING, any_write(), any_of(AddCompaction, AddCompaction, Compact, Compact))
"""Summaries too."""


def nested(depth: int = 2, kinds: SearchStrategy[Write] = ANYTHING) -> SearchStrategy[Nested]:
    """Transactions, nested up to `depth` deep."""
    step: SearchStrategy[Any] = st.tuples(ANY_SESSION, kinds)
    if depth:
        step = st.one_of(step, nested(depth - 1, kinds))
    return st.builds(Nested, st.lists(step, min_size=1, max_size=3), st.booleans())


def outcome(call: Callable[[], Any]) -> Any:
    """What a call returned or raised, comparable."""
    try:
        return comparable(call())
    except EventStoreError as error:
        facts = {name: vars(error).get(name) for name in ("expected", "actual")}
        return [type(error).__name__, facts, sorted(vars(error).get("message_ids", ()))]


def comparable(result: Any) -> Any:
    """A result as JSON."""
    if isinstance(result, list):
        return [comparable(each) for each in result]
    return attrs.asdict(result) if result is not None and attrs.has(type(result)) else result
