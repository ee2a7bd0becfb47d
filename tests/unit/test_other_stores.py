"""Several stores of one file: each hears what the others write, before its own, in one order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventstore import Event, Sessions
from eventstore.testing import same_json
from tests.unit.talk import Heard, chain, message


@pytest.fixture
def other(path: Path) -> Iterator[Sessions]:
    """A store on the same file as `mine`."""
    with Sessions(path, durability="normal") as opened:
        yield opened


@pytest.fixture
def mine(path: Path) -> Iterator[Sessions]:
    with Sessions(path, durability="normal") as opened:
        yield opened


def test_what_others_wrote_comes_before_ones_own_and_in_order(mine: Sessions, other: Sessions) -> None:
    heard = Heard()
    mine.subscribe(heard)
    chain(other.session(), "a", "b")
    assert heard == []
    mine.session().append_message(message("c"))
    assert heard.seqs == [1, 2, 3]
    other.session().update_message(message("a", "new"))
    mine.session().append_message(message("a"))  # repeated: it tells of the last that was heard
    assert [(event.seq, event.type) for event in heard[3:]] == [(4, "update"), (4, "append")]
    assert mine.poll() == 0


def test_polling_tells_how_many_it_delivered(mine: Sessions, other: Sessions) -> None:
    heard, of_session = Heard(), Heard()
    mine.subscribe(heard)
    mine.session("one").subscribe(of_session)
    assert mine.poll() == 0
    for n in range(600):  # more than two windows
        other.session("one" if n % 2 else "two").append_message(message(f"m{n}"))
    assert mine.poll() == 600
    assert mine.poll() == 0
    assert heard.seqs == list(range(1, 601))
    assert of_session.seqs == list(range(2, 601, 2))
    with other.transaction():
        chain(other.session(), "a", "b")
    assert mine.poll() == 2
    assert other.poll() == 0  # its own are told already


def test_what_came_while_nobody_listened_is_not_told_later(mine: Sessions, other: Sessions) -> None:
    chain(other.session(), "a", "b")
    heard = Heard()
    mine.subscribe(heard)
    assert mine.poll() == 0
    assert heard == []
    other.session().append_message(message("c"))
    assert mine.poll() == 1
    assert heard.seqs == [3]


def test_a_subscription_drains_the_feed_to_the_others_first(mine: Sessions, other: Sessions) -> None:
    first, second, third = Heard(), Heard(), Heard()
    mine.subscribe(first)
    chain(other.session(), "a", "b")
    mine.subscribe(second)
    assert (first.seqs, second.seqs) == ([1, 2], [])
    other.session().append_message(message("c"))
    mine.subscribe(third, after=1)
    assert (first.seqs, second.seqs, third.seqs) == ([1, 2, 3], [3], [2, 3])


def test_a_listener_that_writes_is_kept_in_step_with_others(mine: Sessions, other: Sessions) -> None:
    heard = Heard()

    def listener(event: Event) -> None:
        heard(event)
        if event.seq == 2:
            other.session().append_message(message("theirs"))
            mine.session().append_message(message("mine"))

    mine.subscribe(listener)
    chain(other.session(), "a", "b", "c")
    assert mine.poll() == 5
    assert heard.seqs == [1, 2, 3, 4, 5]


def test_an_update_of_another_store_that_is_superseded_is_told_as_it_stands(mine: Sessions, other: Sessions) -> None:
    heard = Heard()
    mine.subscribe(heard)
    session = other.session()
    session.append_message(message("a", "one"))
    session.update_message(message("a", "two"))
    session.append_message(message("b", "gone"))
    session.delete_messages(["b"])
    assert mine.poll() == 4
    told: Any = heard
    assert same_json([event.message for event in told[:2]], [message("a", "two")] * 2)
    assert [event.erased for event in told] == [False, False, True, False]


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from(("append", "poll", "batch", "leave", "come"))), max_size=25)
)
def test_any_number_of_stores_tell_one_order(steps: list[tuple[int, str]]) -> None:
    """Each listener hears every event from its cursor on once, in the order of the log, whoever wrote it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        stores = [Sessions(path, durability="normal") for _ in range(3)]
        heard = [Heard() for _ in stores]
        subscriptions = [store.subscribe(each, after=0) for store, each in zip(stores, heard, strict=True)]
        for n, (who, what) in enumerate(steps):
            store = stores[who]
            if what == "append":
                store.session(f"s{n % 2}").append_message(message(f"m{n}"))
            elif what == "batch":
                store.session().append_messages([message(f"m{n}.{i}") for i in range(3)])
            elif what == "poll":
                store.poll()
            elif what == "leave":
                subscriptions[who].close()
            else:
                subscriptions[who].close()
                subscriptions[who] = store.subscribe(heard[who], after=heard[who].seqs[-1] if heard[who] else 0)
            if what != "leave" and heard[who]:
                assert heard[who].seqs == list(range(1, len(heard[who]) + 1))
        for store, each, subscription in zip(stores, heard, subscriptions, strict=True):
            subscription.close()
            store.subscribe(each, after=len(each))
            assert each.seqs == list(range(1, store.latest_seq + 1))
            assert same_json([e.to_dict() for e in each], [e.to_dict() for e in store.events()])
            store.close()


def test_a_title_set_by_one_who_read_long_ago_takes_nothing_away(mine: Sessions, other: Sessions) -> None:
    session = mine.session()
    session.append_message(message("a"))
    title = session.get_metadata()
    chain(other.session(), "b", "c", parent_id="a")
    other.session().update_message(message("a", "new"))
    session.set_metadata({**title, "title": "Weather"})
    assert [each["id"] for each in session.get_history()] == ["a", "b", "c"]
    assert same_json(session.get_message("a"), message("a", "new"))
