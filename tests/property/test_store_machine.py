"""Every write verb, in any order, against the oracle: results, errors, reads, log, past, mirrors and tables."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from eventstore.testing import Write, check_invariants
from tests.property.pair import Pair
from tests.property.steps import (
    ADDITIONS,
    ANY_SESSION,
    ANY_WRITE,
    ANYTHING,
    CHANGES,
    NAMES,
    REMOVALS,
    Nested,
    nested,
)

LOOKS = st.sampled_from(("back", "back", "copied", "replayed", "reopened", "in every way"))

TYPED = ("seed", "seed 1", "a", "ab", "words two", "мир", "世", "语", "語", "caf", "café", "line separator", "b", "")


class StoreMachine(RuleBasedStateMachine):
    """After each step everything is compared, so each rule does a few things."""

    @initialize(
        retain=st.sampled_from(("current", "all")), small=st.booleans(), seeds=st.lists(st.integers(0, 9), max_size=10)
    )
    def start(self, retain: str, small: bool, seeds: list[int]) -> None:
        """A new file, and a tree to begin with."""
        self.steps = 0
        self.pair = Pair(retain, small=small)
        self.pair.plant(seeds)

    def teardown(self) -> None:
        if hasattr(self, "pair"):
            self.pair.close()

    @rule(name=ANY_SESSION, history=st.lists(ANYTHING, min_size=2, max_size=6))
    def write(self, name: str, history: list[Write]) -> None:
        self.pair.apply(name, history)

    @rule(name=ANY_SESSION, history=st.lists(ADDITIONS, min_size=1, max_size=4))
    def add(self, name: str, history: list[Write]) -> None:
        self.pair.apply(name, history)

    @rule(name=ANY_SESSION, history=st.lists(CHANGES, min_size=1, max_size=4))
    def change(self, name: str, history: list[Write]) -> None:
        self.pair.apply(name, history)

    @rule(name=ANY_SESSION, history=st.lists(REMOVALS, min_size=1, max_size=3))
    def take_away(self, name: str, history: list[Write]) -> None:
        self.pair.apply(name, history)

    @rule(name=ANY_SESSION, how=st.sampled_from(("", "", "", "clear", "delete")))
    def empty(self, name: str, how: str) -> None:
        """Now and then: a history that is emptied often stays small."""
        if how == "clear":
            self.pair.both(name, lambda s: s.clear_messages())
        elif how == "delete":
            self.pair.delete_session(name)

    @rule(tree=nested())
    def transaction(self, tree: Nested) -> None:
        self.pair.perform(tree)

    @rule(name=ANY_SESSION, foreign=ANY_WRITE, own=ANY_WRITE, polled=st.booleans())
    def write_elsewhere(self, name: str, foreign: Write, own: Write, polled: bool) -> None:
        """Another store writes, and this one's next write comes after it, on the state that it left."""
        before = self.pair.model.latest_seq
        self.pair.write_elsewhere(name, foreign)
        if polled:
            assert self.pair.sessions.poll() == self.pair.model.latest_seq - before
        self.pair.both(name, own.apply)
        self.pair.sessions.poll()  # what changed nothing has told nothing

    @rule(source=ANY_SESSION, number=st.none() | st.integers(0, 20))
    def copy(self, source: str, number: int | None) -> None:
        """The whole of a session, or one path, into another of the store: from then on compared like any other."""
        model, target = self.pair.model, NAMES[1 - NAMES.index(source)]
        nodes = model.state(source).by_age()
        leaf_id = None if number is None or not nodes else nodes[number % len(nodes)].id
        if model.state(source).metadata_version or not model.state(target).metadata_version:
            self.pair.copy(source, target, leaf_id)

    @rule(typed=st.sampled_from(TYPED), where=st.sampled_from(("here", "here", "second", "read-only")))
    def search(self, typed: str, where: str) -> None:
        """By any store that has the file open: the first one makes the index, which the fold keeps from then on."""
        self.pair.check_search(typed, where)

    @rule(name=ANY_SESSION, how=LOOKS, number=st.integers(0, 200))
    def look(self, name: str, how: str, number: int) -> None:
        """At the past, at a copy, after a replay, after closing: nothing is written."""
        pair = self.pair
        if how == "back":
            pair.check_past(number % (pair.model.latest_seq + 1))
        elif how == "copied":
            pair.check_copy(name)
        elif how == "replayed":
            pair.check_replay()
        elif how == "reopened":
            pair.reopen()
        else:
            check_invariants(pair.second)

    @invariant()
    def everything_agrees(self) -> None:
        self.pair.check_store()
        self.steps += 1
        if self.steps % 2:  # so that it finds two steps at once, as often as one
            self.pair.check_file()


TestStore = StoreMachine.TestCase
TestStore.settings = settings(max_examples=3 * settings().max_examples // 5)  # `test_store_histories` has as many
