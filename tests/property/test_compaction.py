"""Overlays against the oracle: whatever was appended, branched, deleted and summarised, every read of every path shows
what the plain rule says, and nothing else has changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventstore import InvalidCompaction, Session, Sessions, estimate_tokens, segments, totals, tree
from tests.property.compaction_oracle import Oracle, Place, entries, index_of


@pytest.fixture(scope="module", autouse=True)
def _small_windows() -> Iterator[None]:
    """What is looked up at once is made small, so that short histories cross its bounds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree, "_WINDOW", 2)
        patch.setattr(segments, "OVERLAYS_AT_ONCE", 1)
        patch.setattr(totals, "TAIL", 1)
        yield


NUMBERS = st.integers(0, 11)
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 4)),
        st.tuples(st.just("append"), st.integers(1, 4)),
        st.tuples(st.just("branch"), NUMBERS),
        st.tuples(st.just("delete"), NUMBERS),
        st.tuples(st.just("delete"), NUMBERS),
        st.tuples(st.just("delete_branch"), NUMBERS),
        st.tuples(st.just("compact"), NUMBERS, NUMBERS, NUMBERS),
        st.tuples(st.just("compact"), NUMBERS, NUMBERS, NUMBERS),
        st.tuples(st.just("compact"), NUMBERS, NUMBERS, NUMBERS),
        st.tuples(st.just("overtake"), NUMBERS, NUMBERS),
        st.tuples(st.just("select"), NUMBERS),
        st.tuples(st.just("root"), st.just(0)),
    ),
    min_size=2,
    max_size=40,
)


class Driver:
    """Does the same to a session and to the oracle."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.oracle = Oracle()
        self.count = 0
        self.raw: list[str] = []

    def _message(self) -> dict[str, Any]:
        self.count += 1
        return {"id": f"m{self.count}", "role": "user", "parts": [{"type": "text", "text": "x" * (self.count % 7)}]}

    def _chosen(self, number: int) -> str | None:
        living = self.oracle.living()
        return living[number % len(living)].id if living else None

    def append(self, count: int) -> None:
        for _ in range(count):
            leaf = self.session.get_latest_leaf()
            message = self._message()
            self.session.append_message(message)
            self.oracle.append(message["id"], None if leaf is None else leaf["id"])

    def root(self, _: int) -> None:
        message = self._message()
        self.session.append_message(message, parent_id=None)
        self.oracle.append(message["id"], None)

    def branch(self, number: int) -> None:
        parent, message = self._chosen(number), self._message()
        self.session.append_message(message, parent_id=parent)
        self.oracle.append(message["id"], parent)

    def delete(self, number: int) -> None:
        chosen = self._chosen(number)
        if chosen is not None:
            self.oracle.delete(self.session.delete_messages([chosen]))

    def delete_branch(self, number: int) -> None:
        chosen = self._chosen(number)
        if chosen is not None and number % 3 == 0:
            self.oracle.delete(self.session.delete_branch(chosen))

    def select(self, number: int) -> None:
        chosen = self._chosen(number)
        if chosen is not None:
            self.session.select_leaf(chosen)

    def compact(self, leaf: int, start: int, length: int) -> None:
        """Over a range as a read shows it, or (odd) as it lies beneath."""
        chosen = self._chosen(leaf)
        if chosen is None:
            return
        compacted = start % 2 == 0
        shown = self.session.get_history(leaf_id=chosen, compacted=compacted)
        first = shown[start % len(shown)]["id"]
        last = shown[min(len(shown) - 1, start % len(shown) + length % 5)]["id"]
        ends = [self._place(first, 0), self._place(last, 1)]
        text = f"summary {len(self.oracle.summaries) + 1}"
        self.session.add_compaction(text, first, last)
        self.oracle.add(ends[0], ends[1], text)

    def overtake(self, number: int, length: int) -> None:
        """Deletes what a summary starts at, and summarises again from the first message that it still covers."""
        leaf = self.session.get_latest_leaf()
        if leaf is None:
            return
        places = self.oracle.path(self.oracle.place(leaf["id"]))
        shown = self.oracle.shown_on(places)
        if not shown:
            return
        summary = shown[number % len(shown)]
        if summary.first.alive and summary.first.id != leaf["id"]:
            self.oracle.delete(self.session.delete_messages([summary.first.id]))
        start = index_of(summary.first, places)
        living = [place for place in places[start:] if place.alive]
        if living:
            self._summarise(living[0], living[min(length % 4, len(living) - 1)])

    def _summarise(self, first: Place, last: Place) -> None:
        text = f"summary {len(self.oracle.summaries) + 1}"
        self.session.add_compaction(text, first.id, last.id)
        self.oracle.add(first, last, text)

    def _place(self, message_id: str, end: int) -> Any:
        if not message_id.startswith("compaction_"):
            return self.oracle.place(message_id)
        ids = [compaction.id for compaction in self.session.get_compactions()]
        summary = self.oracle.summaries[ids.index(message_id.removeprefix("compaction_"))]
        return (summary.first, summary.last)[end]


def check_path(driver: Driver, session: Any, leaf_id: str) -> None:
    expected = driver.oracle.shows(driver.oracle.place(leaf_id))
    shown = session.get_history(leaf_id=leaf_id)
    assert entries(shown) == expected
    assert entries(session.get_history(leaf_id=leaf_id, newest_first=True)) == expected[::-1]
    assert list(session.history(leaf_id=leaf_id)) == shown
    assert list(session.history(leaf_id=leaf_id, newest_first=True)) == shown[::-1]
    batches = list(session.history_batches(leaf_id=leaf_id, batch_size=2, newest_first=True))
    assert [message for batch in batches for message in batch] == shown[::-1]
    raw = [place.id for place in driver.oracle.path(driver.oracle.place(leaf_id)) if place.alive]
    assert [info.id for info in session.get_history_row_stats(leaf_id=leaf_id)] == raw
    assert [message["id"] for message in session.get_history(leaf_id=leaf_id, compacted=False)] == raw
    for size in range(1, len(shown) + 2):
        recent = session.get_recent_history(max_messages=size, leaf_id=leaf_id)
        assert recent.messages == shown[-size:]
        assert recent.truncated is (size < len(shown))
        older = session.get_recent_history(max_messages=2, leaf_id=leaf_id, before=recent.messages[0]["id"])
        assert older.messages == shown[: -size if size < len(shown) else 0][-2:]
    for message_id in raw:
        before = session.get_history(leaf_id=leaf_id, before=message_id)
        assert entries(before) == driver.oracle.shows(driver.oracle.place(leaf_id), before=message_id)
    stamped = {info.id: info.token_estimate for info in session.get_history_row_stats(leaf_id=leaf_id)}
    tokens = sum(stamped.get(message["id"]) or estimate_tokens(message) for message in shown)
    assert session.token_estimate(leaf_id=leaf_id) == tokens


@given(operations=OPERATIONS)
@settings(max_examples=75)
def test_every_read_of_every_path_is_what_the_rule_says(operations: list[tuple[Any, ...]]) -> None:
    with Sessions() as store:
        driver = Driver(store.session())
        for name, *numbers in operations:
            getattr(driver, name)(*numbers)
            leaf = driver.session.get_latest_leaf()
            if leaf is not None:
                expected = driver.oracle.shows(driver.oracle.place(leaf["id"]))
                assert entries(driver.session.get_history()) == expected
                driver.session.token_estimate()  # what it keeps must not mislead later
        for place in driver.oracle.living():
            check_path(driver, driver.session, place.id)
        report = store.verify()
        assert report.ok, report.problems
        driver.session.copy_to(store.session("copy"))
        view = store.at(store.latest_seq)
        for place in driver.oracle.living():
            expected = driver.oracle.shows(place)
            assert entries(store.session("copy").get_history(leaf_id=place.id)) == expected
            assert entries(view.session().get_history(leaf_id=place.id)) == expected
            fork = store.session(f"fork {place.id}")
            driver.session.copy_to(fork, leaf_id=place.id)
            assert entries(fork.get_history()) == expected
        view.close()
        report = store.verify()
        assert report.ok, report.problems


@given(operations=OPERATIONS, later=OPERATIONS)
@settings(max_examples=40)
def test_a_path_read_window_by_window_stays_that_of_the_first(
    operations: list[tuple[Any, ...]], later: list[tuple[Any, ...]]
) -> None:
    """Appends and compactions meanwhile change nothing of it."""
    with Sessions() as store:
        driver = Driver(store.session())
        for name, *numbers in operations:
            getattr(driver, name)(*numbers)
        for newest_first in (True, False):
            expected = driver.session.get_history(newest_first=newest_first)
            batches = driver.session.history_batches(batch_size=1, newest_first=newest_first)
            read = []
            writes = (write for write in later if write[0] not in ("delete", "delete_branch", "overtake"))
            for batch in batches:
                read += batch
                for name, *numbers in [write for _, write in zip(range(2), writes, strict=False)]:
                    getattr(driver, name)(*numbers)
            assert read == expected


def test_a_range_out_of_order_is_refused() -> None:
    with Sessions() as store:
        session = store.session()
        session.append_messages([{"id": i, "role": "user", "parts": []} for i in "abc"])
        with pytest.raises(InvalidCompaction):
            session.add_compaction("s", "c", "a")
        assert store.latest_seq == 3


def test_an_earlier_range_summarised_while_a_path_is_read_backwards_is_not_shown() -> None:
    with Sessions() as store:
        session = store.session()
        for number in range(1, 11):  # each on a chain of its own
            parent_id = f"m{number - 1}" if number > 1 else None
            session.append_message({"id": f"m{number}", "role": "user", "parts": []}, parent_id=parent_id)
            session.append_message({"id": f"beside {number}", "role": "user", "parts": []}, parent_id=f"m{number}")
        session.select_leaf("m10")
        session.add_compaction("early", "m2", "m3")
        session.add_compaction("late", "m8", "m9")
        expected = session.get_history(newest_first=True)
        batches = session.history_batches(batch_size=1, newest_first=True)
        read = next(batches)
        session.add_compaction("first", "m1", "m2")
        assert read + [message for batch in batches for message in batch] == expected
        assert entries(session.get_history())[0] == ("summary", "first")
