"""Many threads on one store, in memory and on a file: every call whole, every listener in order."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from eventstore import Event, Session, Sessions
from eventstore.testing import check_invariants
from projections import mirror
from tests.processes.together import all_at_once
from tests.unit.talk import Heard, ids, message


def append_many(session: Session, number: int, count: int) -> None:
    """Appends so many messages, one by one."""
    for n in range(count):
        session.append_message(message(f"{number}.{n}"))


def test_eight_threads_of_many_mixed_calls_each(sessions: Sessions) -> None:
    heard = Heard()
    sessions.subscribe(heard)
    appended: list[set[str]] = [set() for _ in range(8)]
    deleted: list[set[str]] = [set() for _ in range(8)]

    def work(number: int) -> None:
        chosen = random.Random(number)
        session = sessions.session(f"s{number % 2}")
        for n in range(150):
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
        while not (heard and stop.is_set()) and len(heard) < 40:
            heard.append(Heard())
            (session if of_session else sessions).subscribe(heard[-1], after=290)

    all_at_once(lambda: write(1), lambda: write(2), subscribe)
    for each in heard:
        assert each.seqs == list(range(291, 601))


def test_receivers_come_and_go_in_many_threads() -> None:
    """Each to senders of its own, which are new: nobody's going meets a registry that changes under it."""
    with Sessions() as store:
        heard: list[str] = []

        def come_and_go(number: int) -> None:
            for n in range(300):
                sender = store.session(f"{number}.{n}")
                receiver = partial(hear, heard)
                store.changed.connect(receiver, sender=sender, weak=False)
                store.changed.disconnect(receiver)

        with frequent_switches():
            all_at_once(*(partial(come_and_go, number) for number in range(4)))
        store.session("0.0").append_message(message("m1"))
        assert heard == []
        assert not store.changed.receivers


def hear(heard: list[str], sender: Session, *, event: Event) -> None:
    heard.append(event.session_id)


@contextmanager
def frequent_switches() -> Iterator[None]:
    """Threads take turns as often as Python can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


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
