"""Threads that wait for each other: transactions, stores that are closed, and answers to a leaf that was expected."""

from __future__ import annotations

import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from eventstore import Appended, Event, LeafChanged, Sessions, StoreBusy, StoreClosed, UnknownMessage
from tests.processes.together import LONG, all_at_once
from tests.unit.talk import Heard, ids, message


def test_other_threads_see_the_last_committed_state_of_a_file(tmp_path: Path) -> None:
    with Sessions(tmp_path / "store.db") as sessions, ThreadPoolExecutor(1) as elsewhere:
        session = sessions.session()
        session.append_message(message("a"))
        with sessions.transaction():
            session.append_message(message("b"))
            assert ids(session.get_history()) == ["a", "b"]
            assert ids(elsewhere.submit(session.get_history).result(LONG)) == ["a"]
            assert elsewhere.submit(lambda: sessions.latest_seq).result(LONG) == 1
            assert elsewhere.submit(sessions.poll).result(LONG) == 0
        assert ids(elsewhere.submit(session.get_history).result(LONG)) == ["a", "b"]


def test_other_threads_wait_for_a_store_in_memory() -> None:
    with Sessions() as sessions, ThreadPoolExecutor(1) as elsewhere:
        session = sessions.session()
        with sessions.transaction():
            session.append_message(message("a"))
            reading = elsewhere.submit(session.get_history)
            assert not reading.done()
            session.append_message(message("b"))
        assert ids(reading.result(LONG)) == ["a", "b"]


@pytest.mark.parametrize("place", ["memory", "file"])
def test_who_waits_too_long_is_told_that_the_store_is_busy(tmp_path: Path, place: str) -> None:
    path = ":memory:" if place == "memory" else str(tmp_path / "store.db")
    with Sessions(path, busy_timeout=0.05) as sessions, ThreadPoolExecutor(1) as elsewhere:
        session = sessions.session()
        heard = Heard()
        sessions.subscribe(heard)
        with sessions.transaction():
            session.append_message(message("a"))
            begin = sessions.transaction().__enter__
            for call in (lambda: session.append_message(message("b")), begin, sessions.close):
                with pytest.raises(StoreBusy) as caught:
                    elsewhere.submit(call).result(LONG)
                assert isinstance(caught.value, TimeoutError)
                assert "busy_timeout" in str(caught.value)
        assert heard.seqs == [1]
        assert elsewhere.submit(lambda: session.append_message(message("b")).seq).result(LONG) == 2


def test_transactions_of_many_threads_are_each_whole(sessions: Sessions) -> None:
    """Money moved between two sessions by threads: no reader ever sees it twice, or not at all."""
    one, two = sessions.session("one"), sessions.session("two")
    one.append_messages([message(f"m{n}") for n in range(10)])
    wrong: list[object] = []

    def move(number: int) -> None:
        chosen = random.Random(number)
        for _ in range(25):
            with sessions.transaction():
                here, there = chosen.sample((one, two), 2)
                names = ids(here.get_history())
                if names:
                    name = chosen.choice(names)
                    here.delete_messages([name])
                    there.append_message(message(name))
                total = Counter(ids(one.get_history()) + ids(two.get_history()))
                if sorted(total) != sorted(f"m{n}" for n in range(10)) or max(total.values()) > 1:
                    wrong.append(total)

    all_at_once(*(partial(move, number) for number in range(4)))
    assert wrong == []
    assert sessions.verify().ok


def test_closing_while_other_threads_read_ends_them_with_our_error(tmp_path: Path) -> None:
    for number in range(20):  # now and then a reader was the last to close the file, and can't clear the WAL away
        folder = tmp_path / f"{number}"
        folder.mkdir()
        close_while_others_read(folder / "store.db")
        assert [file.name for file in folder.iterdir()] == ["store.db"]


def close_while_others_read(path: Path) -> None:
    sessions = Sessions(path)
    session = sessions.session()
    session.append_messages([message(f"m{n}", "x" * 500) for n in range(300)])
    reading = threading.Event()
    ends: list[BaseException] = []

    def read() -> None:
        try:
            while True:
                for _ in session.history():
                    reading.set()
        except StoreClosed as error:
            ends.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert reading.wait(LONG)
    sessions.close()
    for thread in threads:
        thread.join(LONG)
    assert len(ends) == 4


def test_a_leaf_expected_by_two_is_given_to_one(sessions: Sessions) -> None:
    session = sessions.session()
    session.append_message(message("a"))
    won: list[int] = []

    def append(number: int) -> None:
        try:
            session.append_message(message(f"reply {number}"), expected_leaf="a")
            won.append(number)
        except LeafChanged as error:
            assert error.expected == "a"  # noqa: PT017
            assert error.actual in ("reply 0", "reply 1", "reply 2", "reply 3")  # noqa: PT017

    all_at_once(*(partial(append, number) for number in range(4)))
    assert len(won) == 1
    assert ids(session.get_history()) == ["a", f"reply {won[0]}"]


def test_reads_and_deletes_of_one_message_race_without_a_fault(sessions: Sessions) -> None:
    session = sessions.session()

    def write() -> None:
        for _ in range(80):
            session.append_message(message("x"), parent_id=None)
            session.append_message(message("y"), parent_id="x")
            session.delete_messages(["x"])
            session.delete_messages(["y"])

    def read() -> None:
        for _ in range(80):
            try:
                session.get_history(leaf_id="y")
                session.get_branches("x")
                session.get_latest_leaf(below="x")
            except UnknownMessage:
                pass
            info = session.get_message_info("y")
            assert info is None or info.parent_id in ("x", None)

    all_at_once(write, read, read)
    assert session.get_history() == []


def test_events_and_appends_agree_in_every_thread(sessions: Sessions) -> None:
    """What a listener is told of a write is what the write returned."""
    session = sessions.session()
    told: dict[int, str] = {}

    def listener(event: Event) -> None:
        if isinstance(event, Appended):
            told[event.seq] = event.message["id"]

    sessions.subscribe(listener)
    returned: dict[int, str] = {}

    def work(number: int) -> None:
        for n in range(50):
            result = session.append_message(message(f"{number}.{n}"))
            returned[result.seq or 0] = result.message["id"]

    all_at_once(*(partial(work, number) for number in range(4)))
    assert told == returned
