"""Whole histories against the oracle: longer than the state machine's, compared at their end, at each point of the past
and after a replay."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis import given, settings
from hypothesis import strategies as st

from eventstore.testing import Append, Grow, SelectLeaf, Update, Write
from tests.property.observed import check_session
from tests.property.pair import Pair
from tests.property.steps import ANY_SESSION, ANYTHING, DeleteActive, Edit, any_of

RETAIN = st.sampled_from(("current", "all"))
SEEDS = st.lists(st.integers(0, 9), min_size=1, max_size=10)
HALF = settings(max_examples=settings().max_examples // 2)  # these compare after every write
LINE = list(range(8))  # each on the one before


@contextmanager
def compared(retain: str, seeds: list[int], *, small: bool) -> Iterator[Pair]:
    """A store and its oracle, which agree about the present and all of the past at the end."""
    pair = Pair(retain, small=small)
    try:
        pair.plant(seeds)
        yield pair
        pair.check()
        pair.check_replay()
        for seq in range(pair.model.latest_seq + 1):
            pair.check_past(seq)
    finally:
        pair.close()


@given(RETAIN, SEEDS, st.booleans(), st.lists(st.tuples(ANY_SESSION, ANYTHING), max_size=20))
def test_any_history(retain: str, seeds: list[int], small: bool, history: list[tuple[str, Write]]) -> None:
    with compared(retain, seeds, small=small) as pair:
        for name, write in history:
            pair.both(name, write.apply)


@HALF
@given(RETAIN, st.lists(any_of(Edit, Edit, Grow, Update), min_size=1, max_size=12), st.booleans())
def test_texts_that_grow_and_change(retain: str, history: list[Write], reopened: bool) -> None:
    """What an update only inserts is stored as that: every version reads back, and its size is right."""
    with compared(retain, LINE[:4], small=True) as pair:
        for write in history:
            pair.both("", write.apply)
            check_session(pair.sessions.session(), pair.model.state(""))
            if reopened:
                pair.reopen()


@HALF
@given(SEEDS, st.lists(any_of(Append, DeleteActive, DeleteActive, SelectLeaf, SelectLeaf), min_size=3, max_size=12))
def test_the_leaf_touched_before_becomes_the_active_one(seeds: list[int], history: list[Write]) -> None:
    with compared("current", seeds, small=False) as pair:
        for write in history:
            pair.both("", write.apply)


@HALF
@given(st.lists(st.tuples(any_of(Append, Append, Edit), any_of(Append, Append, Edit)), min_size=3, max_size=6))
def test_nothing_is_remembered_of_what_was_rolled_back(histories: list[tuple[Write, Write]]) -> None:
    """Numbers are given out again after a rollback: nothing in memory may be taken for what they stood for before."""
    with compared("current", LINE, small=True) as pair:
        with pair.rolled_back():
            for undone, _ in histories:
                pair.both("", undone.apply)
                check_session(pair.sessions.session(), pair.model.state(""))
        for _, done in histories:
            pair.both("", done.apply)
