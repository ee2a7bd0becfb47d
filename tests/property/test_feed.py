"""Several stores on one file, in threads, on event loops and in other processes: whoever wrote, who polls has heard all
of it, in order and with the bodies that are kept, and every list agrees."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from eventstore import Appended, Cleared, Deleted, Event, Message, SessionDeleted, Sessions, Updated
from eventstore.testing import Write, check_invariants, json_text
from tests.property.elsewhere import Elsewhere, Process
from tests.property.hearing import FACES, Here, Small
from tests.property.limits import small_limits
from tests.property.steps import ANY_SESSION, EVERYTHING, NAMES, Nested, nested
from tests.property.telling import Ear, Truth

WRITERS = 3  # two here, and one in another process
STORES = 4  # and one that only reads, in a process of its own. All but the first are sync, or on an event loop


SMALL = st.tuples(
    ANY_SESSION,
    st.sampled_from(("append_message", "update_message", "upsert_message")),
    st.tuples(st.sampled_from("abcd"), st.sampled_from(("", "longer", "x" * 3_000))),
)


def reduced(events: list[Event]) -> list[Message]:
    """What a mirror makes of a log, the plain way."""
    rows: list[Message] = []
    for event in events:
        match event:
            case Appended(erased=False, message=message) | Updated(erased=False, message=message):
                places = [place for place, row in enumerate(rows) if row["id"] == message["id"]]
                if places:
                    rows[places[0]] = message
                elif isinstance(event, Appended):
                    rows.append(message)
            case Deleted(message_ids=message_ids):
                rows = [row for row in rows if row["id"] not in message_ids]
            case Cleared() | SessionDeleted():
                rows = []
            case _:
                pass
    return rows


PROCESSES: list[Process] = []


@pytest.fixture(scope="module", autouse=True)
def _processes() -> Iterator[None]:
    """Two processes, for all examples."""
    PROCESSES[:] = [Process(), Process()]
    yield
    for process in PROCESSES:
        process.close()


class SharedFileMachine(RuleBasedStateMachine):
    """Any store writes, any polls, whenever it likes; after each command what was heard is held against the truth."""

    @initialize(keeps_all=st.booleans(), small=st.booleans(), faces=st.tuples(*[st.sampled_from(FACES)] * (STORES - 1)))
    def open(self, keeps_all: bool, small: bool, faces: tuple[str, ...]) -> None:
        self.stack = ExitStack()
        if small:
            self.stack.enter_context(small_limits())
        path = Path(self.stack.enter_context(tempfile.TemporaryDirectory())) / "store.db"
        self.keeps_all = keeps_all
        self.witness = self.stack.enter_context(
            Sessions(path, retain="all" if keeps_all else "current", durability="normal")
        )
        self.truth = Truth()
        self.stores: list[Here | Elsewhere] = [
            Here(path, read_only=False),
            Here(path, read_only=False, face=faces[0]),
            Elsewhere(PROCESSES[0], path, small=small, read_only=False, face=faces[1]),
            Elsewhere(PROCESSES[1], path, small=small, read_only=True, face=faces[2]),
        ]
        for each in self.stores:
            self.stack.callback(each.close)
        self.ears = [Ear(self.truth) for _ in self.stores]

    def teardown(self) -> None:
        if hasattr(self, "stack"):
            self.stack.close()

    # -- a command, and what must come of it

    def give(self, number: int, command: str, *arguments: Any, in_thread: bool = False, copies: bool = False) -> None:
        """Gives a command to one store. `copies`: it logs versions of which some are without their bodies."""
        low, store = len(self.truth), self.stores[number]
        heard = store.begin(command, *arguments)() if in_thread else store.call(command, *arguments)
        high = self.witness.latest_seq
        if high > low:
            self.note(heard, low, self.truth.copied if copies else self.truth.kept)
        self.ears[number].hear(heard, low, high)
        if high > low:
            self.check(number)

    def note(self, heard: list[Event], low: int, kept: set[int]) -> None:
        """Events after `low` were written: as the log has them for good, or as their writer heard them."""
        if self.keeps_all and kept is self.truth.kept:
            heard = list(self.witness.events(after=low))
        written = (each for each in heard if each.seq > low and not is_repeated(each))
        self.truth.add(written, kept if self.keeps_all else None)

    def check(self, number: int) -> None:
        """A store has heard all, and its lists are what another store says."""
        assert self.ears[number].last == self.witness.latest_seq
        lists = self.stores[number].lists()
        for name in NAMES:
            session = self.witness.session(name)
            shown = [session.get_history(), session.get_history(compacted=False), reduced(list(session.events()))]
            assert lists[name] == [json_text(each) for each in shown]

    # -- commands

    writers = st.integers(0, WRITERS - 1)
    anybody = st.integers(0, STORES - 1)
    histories = st.lists(EVERYTHING, max_size=4)

    @rule(number=writers, name=ANY_SESSION, history=histories, in_thread=st.booleans())
    def write(self, number: int, name: str, history: list[Write], in_thread: bool) -> None:
        self.give(number, "write", name, history, in_thread=in_thread)

    @rule(number=writers, small=st.lists(SMALL, max_size=6))
    def write_in_tasks(self, number: int, small: list[Small]) -> None:
        self.give(number, "write_in_tasks", small)

    @rule(number=writers, tree=nested(1, EVERYTHING), in_thread=st.booleans())
    def transaction(self, number: int, tree: Nested, in_thread: bool) -> None:
        self.give(number, "transaction", tree, in_thread=in_thread)

    @rule(number=writers, name=ANY_SESSION, how=st.sampled_from(("delete_session", "delete_session", "prune")))
    def delete_session(self, number: int, name: str, how: str) -> None:
        self.give(number, how, *[name][: how == "delete_session"])

    @rule(number=writers, name=ANY_SESSION, path=st.none() | st.integers(0, 20))
    def copy(self, number: int, name: str, path: int | None) -> None:
        if path is None:
            self.give(number, "copy_over", name, copies=True)
        else:
            self.give(number, "copy_path", name, path, copies=True)

    @rule(number=writers)
    def rebuild(self, number: int) -> None:
        self.give(number, "rebuild")

    @precondition(lambda self: self.keeps_all)
    @rule(number=writers, certainly=st.integers(0, 3))
    def scavenge(self, number: int, certainly: int) -> None:
        """From now on nobody reads what was replaced."""
        if certainly == 0:
            self.give(number, "scavenge")
            self.keeps_all = False
            self.truth.forget()

    @rule(number=anybody, in_thread=st.booleans())
    def poll(self, number: int, in_thread: bool) -> None:
        self.give(number, "poll", in_thread=in_thread)
        self.check(number)

    @rule(number=anybody, name=ANY_SESSION, spoilt=st.none() | st.integers(0, 20))
    def follow(self, number: int, name: str, spoilt: int | None) -> None:
        """More lists, or lists whose owner spoilt them and has them put right."""
        if spoilt is None:
            self.give(number, "follow_more", name)
        else:
            self.give(number, "spoil_and_refresh", name, spoilt)

    @rule(number=anybody)
    def reopen(self, number: int) -> None:
        """From the last event that it heard on: nothing is missed, and nothing comes twice."""
        self.give(number, "reopen", self.ears[number].last)
        self.check(number)

    @rule(history=st.lists(st.lists(st.tuples(ANY_SESSION, histories), max_size=2), min_size=WRITERS, max_size=WRITERS))
    def write_at_once(self, history: list[list[tuple[str, list[Write]]]]) -> None:
        """Everybody, in threads and processes, while the readers watch."""
        low = len(self.truth)
        begun = [(number, self.stores[number].begin("watch")) for number in range(WRITERS, STORES)]
        for round in range(2):
            for number, each in enumerate(history):
                for name, writes in each[round : round + 1]:
                    begun.append((number, self.stores[number].begin("write", name, writes)))
            answers = [(number, answer()) for number, answer in begun]
            begun, high = [], self.witness.latest_seq
            self.note(list(self.witness.events(after=low)), low, self.truth.kept)
            for number, heard in answers:
                self.ears[number].hear(heard, low, high, bodies=False)
            low = high
        for number, store in enumerate(self.stores):  # a watch may have read some of it before the last write
            self.ears[number].hear(store.call("poll"), low, low, bodies=False)
            self.check(number)

    @rule()
    def verify(self) -> None:
        check_invariants(self.witness)


def is_repeated(event: Event) -> bool:
    return isinstance(event, Appended) and not event.inserted


TestSharedFile = SharedFileMachine.TestCase
TestSharedFile.settings = settings(max_examples=3 * settings().max_examples // 5)  # each asks two processes
