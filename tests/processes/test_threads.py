"""Many threads on one store, in memory and on a file: every call whole, every listener in order."""

from __future__ import annotations

import random
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from eventstore import Appended, Event, LeafChanged, Session, Sessions, StoreBusy, StoreClosed, UnknownMessage
from eventstore.testing import check_invariants
from projections import mirror
from tests.unit.talk import Heard, ids, message

LONG = 30.0  # seconds that a thread is waited for: a test that needs them has failed


@pytest.fixture(params=["memory", "file"])
def sessions(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sessions]:
    place = ":memory:" if request.param == "memory" else str(tmp_path / "store.db")
    with Sessions(place, durability="normal", busy_timeout=LONG) as opened:
        yield opened


def all_at_once(*work: Callable[[], object]) -> None:
    """Runs each in a thread of its own, begun together; raises what one of them raised."""
    together = threading.Barrier(len(work))

    def begin(each: Callable[[], object]) -> None:
        together.wait(LONG)
        each()

    with ThreadPoolExecutor(len(work)) as pool:
        for future in [pool.submit(begin, each) for each in work]:
            future.result(LONG)


def append_many(session: Session, number: int, count: int) -> None:
    """Appends so many messages, one by one."""
    for n in range(count):
        session.append_message(message(f"{number}.{n}"))


@pytest.fixture(autouse=True)
def _switching_often() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def test_eight_threads_of_three_hundred_mixed_calls_each(sessions: Sessions) -> None:
    heard = Heard()
    sessions.subscribe(heard)
    appended: list[set[str]] = [set() for _ in range(8)]
    deleted: list[set[str]] = [set() for _ in range(8)]

    def work(number: int) -> None:
        chosen = random.Random(number)
        session = sessions.session(f"s{number % 2}")
        for n in range(300):
            name = f"{number}.{n}"
            what = chosen.random()
            if what < 0.35:
                session.append_message(message(name))
                appended[number].add(name)
            elif what < 0.4:
                with sessions.transaction():
                    session.append_message(message(name))
                    session.update_message(message(name, "twice"))
                appended[number].add(name)
            elif what < 0.5 and appended[number] - deleted[number]:
                gone = chosen.choice(sorted(appended[number] - deleted[number]))
                assert session.delete_messages([gone]) == [gone]
                deleted[number].add(gone)
            elif what < 0.6 and appended[number] - deleted[number]:
                again = chosen.choice(sorted(appended[number] - deleted[number]))
                assert session.update_message(message(again, name)) is not None
            elif what < 0.7:
                assert len(session.get_recent_history(max_messages=5).messages) <= 5
            elif what < 0.8:
                for _ in zip(session.history(newest_first=True), range(60), strict=False):
                    pass
            elif what < 0.9:
                assert session.get_message(f"{number}.none") is None
                session.get_leaves()
            else:
                list(sessions.list_sessions())
                sessions.poll()

    all_at_once(*(partial(work, number) for number in range(8)))
    living = {
        f"s{half}": set().union(*(appended[n] - deleted[n] for n in range(8) if n % 2 == half)) for half in (0, 1)
    }
    for name, expected in living.items():
        assert {info.id for info in sessions.session(name).tree()} == expected
    assert heard.seqs == list(range(1, sessions.latest_seq + 1))
    assert sessions.verify().ok
    check_invariants(sessions)


def test_every_thread_sees_its_own_write_at_once(sessions: Sessions) -> None:
    def work(number: int) -> None:
        session = sessions.session(str(number))
        for n in range(60):
            result = session.append_message(message(f"m{n}"))
            assert session.get_message(f"m{n}") is not None
            assert (result.seq or 0) <= sessions.latest_seq
            assert session.get_recent_history().total_content_bytes == session.info().bytes

    all_at_once(*(partial(work, number) for number in range(4)))


def test_appends_of_many_threads_make_one_path(sessions: Sessions) -> None:
    session = sessions.session()
    all_at_once(*(partial(append_many, session, number, 100) for number in range(4)))
    path = ids(session.get_history())
    assert len(path) == 400
    for number in range(4):
        assert [name for name in path if name.startswith(f"{number}.")] == [f"{number}.{n}" for n in range(100)]


def test_when_a_write_returns_its_event_has_been_heard(sessions: Sessions) -> None:
    session = sessions.session()
    heard: set[int] = set()
    sessions.subscribe(lambda event: heard.add(event.seq))
    missing: list[int] = []

    def work(number: int) -> None:
        for n in range(100):
            seq = session.append_message(message(f"{number}.{n}")).seq or 0
            if seq not in heard:
                missing.append(seq)

    all_at_once(*(partial(work, number) for number in range(4)))
    assert missing == []


def test_listeners_run_one_at_a_time_and_in_order(sessions: Sessions) -> None:
    inside = threading.Lock()
    heard = Heard()

    def listener(event: Event) -> None:
        assert inside.acquire(blocking=False)
        heard(event)
        if event.seq % 10 == 0:
            sessions.session("answers").append_message(message(f"to {event.seq}"))
        inside.release()

    sessions.subscribe(listener)
    all_at_once(*(partial(append_many, sessions.session(), number, 60) for number in range(4)))
    assert heard.seqs == list(range(1, sessions.latest_seq + 1))
    assert len(heard) > 240


@pytest.mark.parametrize("of_session", [False, True])
def test_a_cursor_taken_up_while_others_write_loses_and_repeats_nothing(sessions: Sessions, of_session: bool) -> None:
    session = sessions.session()
    session.append_messages([message(f"before {n}") for n in range(300)])
    stop = threading.Event()
    heard: list[Heard] = []

    def write(number: int) -> None:
        for n in range(150):
            session.append_message(message(f"{number}.{n}"))
        stop.set()

    def subscribe() -> None:
        while not stop.is_set():
            heard.append(Heard())
            (session if of_session else sessions).subscribe(heard[-1], after=290)

    all_at_once(lambda: write(1), lambda: write(2), subscribe)
    assert heard
    for each in heard:
        assert each.seqs == list(range(291, 601))


def test_subscriptions_that_come_and_go_while_others_write(sessions: Sessions) -> None:
    session = sessions.session()
    stop = threading.Event()

    def write(number: int) -> None:
        for n in range(150):
            session.append_message(message(f"{number}.{n}"))
        stop.set()

    def come_and_go() -> None:
        cursor = 0
        heard = Heard()
        while not stop.is_set():
            with session.subscribe(heard, after=cursor):
                pass
            cursor = heard.seqs[-1] if heard else 0
        session.subscribe(heard, after=cursor)()
        seen.append(heard)

    seen: list[Heard] = []
    all_at_once(lambda: write(1), lambda: write(2), come_and_go, come_and_go)
    sessions.subscribe(lambda _event: None)
    for heard in seen:
        assert heard.seqs == list(range(1, len(heard) + 1))


def test_a_mirror_is_in_step_with_writers_in_other_threads(sessions: Sessions) -> None:
    session = sessions.session()
    rows: list[object] = []
    mirror(session, rows)  # type: ignore[arg-type]
    all_at_once(*(partial(append_many, session, number, 80) for number in range(3)))
    assert rows == session.get_history()


# ---- transactions


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
    sessions = Sessions(tmp_path / "store.db")
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
    assert [file.name for file in tmp_path.iterdir()] == ["store.db"]


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
