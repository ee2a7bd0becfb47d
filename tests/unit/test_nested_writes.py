"""Functions that a write calls while it is at work: what they write to the same store is refused, and does no harm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from itertools import product
from typing import Any

import pytest

from eventstore import (
    CompactResult,
    ImportRow,
    InvalidArgument,
    Session,
    Sessions,
)
from tests.unit.talk import chain, message

ROW = ImportRow(message("i"), parent_id=None, created_at=datetime(2026, 1, 1, tzinfo=UTC))


class Outer:
    """Writes of a store, in the midst of each of which `inner` is called."""

    def __init__(self, place: str) -> None:
        self.inner: Callable[[], object] | None = None
        self.sessions = Sessions(place, durability="normal", count_tokens=self.count, reserved_metadata_keys=["kept"])
        self.session = self.sessions.session()
        chain(self.session, *(f"m{n}" for n in range(1_100)))  # enough for progress
        self.session.on_compaction(lambda messages: CompactResult("m3", "m5", "Much was said."))

    def __call__(self, *_: object) -> None:
        """Calls `inner`, once."""
        inner, self.inner = self.inner, None
        if inner is not None:
            inner()

    def count(self, given: Any) -> int:
        """A counter of tokens, which calls `inner` where it is asked inside a write."""
        if self.sessions._store.at_work:
            self()
        return 1


WRITES: dict[str, Callable[[Outer], object]] = {
    "update": lambda outer: outer.session.update_message(message("m1", "new"), source="client"),
    "upsert": lambda outer: outer.session.upsert_message(message("m1", "new"), source="client"),
    "add_compaction": lambda outer: outer.session.add_compaction("Said.", "m3", "m5"),
    "compact": lambda outer: outer.session.compact(),
    "copy_to": lambda outer: outer.session.copy_to(outer.sessions.session("copy"), progress=outer),
    "rebuild": lambda outer: outer.sessions.rebuild(progress=outer),
}


def nested(session: Session) -> None:
    with session.sessions.transaction():
        session.append_message(message("new"))


INNER: dict[str, Callable[[Session], object]] = {
    "append": lambda session: session.append_message(message("new")),
    "append many": lambda session: session.append_messages([message("new"), message("newer")]),
    "import": lambda session: session.import_messages([ROW]),
    "update": lambda session: session.update_message(message("m7", "other")),
    "delete": lambda session: session.delete_messages(["m3"]),
    "clear": lambda session: session.clear_messages(),
    "select": lambda session: session.select_leaf("m4"),
    "metadata": lambda session: session.set_metadata({"title": "new"}),
    "transaction": nested,
    "rebuild": lambda session: session.sessions.rebuild(),
}


@pytest.fixture
def outer(place: str) -> Iterator[Outer]:
    made = Outer(place)
    with made.sessions:
        yield made


@pytest.mark.parametrize("write", WRITES)
def test_a_function_that_a_write_calls_writes_nothing(outer: Outer, write: str) -> None:
    before = outer.sessions.latest_seq
    for name, inner in product(["", "another"], INNER.values()):
        outer.inner = partial(inner, outer.sessions.session(name))
        with pytest.raises(InvalidArgument, match="has returned"):
            WRITES[write](outer)
        assert outer.sessions.latest_seq == before
    assert outer.sessions.verify().ok
    assert outer.session.append_message(message("after")).seq == before + 1
    assert outer.sessions.verify().ok


@pytest.mark.parametrize("write", WRITES)
def test_a_function_that_bears_it_spoils_nothing(outer: Outer, write: str) -> None:
    def bears_it() -> None:
        for name, inner in product(["", "another"], INNER.values()):
            with pytest.raises(InvalidArgument):
                inner(outer.sessions.session(name))

    outer.inner = bears_it
    WRITES[write](outer)
    assert outer.inner is None, "it was called"
    assert outer.session.append_message(message("after")).inserted
    assert outer.sessions.session("another").get_history() == []
    assert outer.sessions.verify().ok


@pytest.mark.parametrize("write", [name for name in WRITES if name != "compact"])
def test_a_transaction_goes_on_after_it(outer: Outer, write: str) -> None:
    with outer.sessions.transaction():
        outer.session.append_message(message("before"))
        for inner in INNER.values():
            outer.inner = partial(inner, outer.session)
            with pytest.raises(InvalidArgument):
                WRITES[write](outer)
        with outer.sessions.transaction():
            outer.session.append_message(message("after"))
    assert [each["id"] for each in outer.session.get_history()][-3:] == ["m1099", "before", "after"]
    assert outer.sessions.verify().ok


@pytest.mark.parametrize("write", WRITES)
def test_it_may_read(outer: Outer, write: str) -> None:
    found: list[object] = []
    outer.inner = lambda: found.append(outer.sessions.latest_seq)
    WRITES[write](outer)
    assert found
