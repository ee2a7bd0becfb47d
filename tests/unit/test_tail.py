"""`tail()` and `watch()`: what comes is heard in order, once, by who asked for it, and all ends with the store."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest

from eventstore import Appended, InvalidArgument, Session, Sessions, StoreClosed, Subscription
from tests.unit.talk import Heard, chain, message

QUICK = 0.005
PATIENCE = 10.0


def until(reached: Callable[[], object]) -> None:
    """Waits until something is the case."""
    end = time.monotonic() + PATIENCE
    while not reached():
        assert time.monotonic() < end, "it didn't come about"
        time.sleep(QUICK)


def watchers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "eventstore watch"]


# ---- tail


def test_it_gives_the_log_and_then_what_comes(sessions: Sessions, session: Session) -> None:
    chain(session, "a", "b")
    tail = sessions.tail(after=1, interval=QUICK)
    assert [event.seq for event in islice(tail, 1)] == [2]
    writer = threading.Timer(0.05, chain, (sessions.session("elsewhere"), "c", "d"))
    writer.start()
    assert [(event.seq, event.session_id) for event in islice(tail, 2)] == [(3, "elsewhere"), (4, "elsewhere")]
    writer.join()


def test_left_out_the_cursor_is_the_head_at_the_call(sessions: Sessions, session: Session) -> None:
    chain(session, "a")
    tail = sessions.tail(timeout=0)
    chain(session, "b")
    assert [event.seq for event in tail] == [2]


def test_a_sessions_tail_gives_only_its_own(sessions: Sessions, session: Session) -> None:
    chain(session, "a")
    chain(sessions.session("elsewhere"), "b")
    tail = session.tail(after=0, interval=QUICK, timeout=0.2)
    assert [event.seq for event in islice(tail, 1)] == [1]
    chain(sessions.session("elsewhere"), "c")
    chain(session, "d")
    assert [event.seq for event in tail] == [4]


def test_it_is_what_the_log_holds_and_moves_no_listener(sessions: Sessions, session: Session) -> None:
    heard = Heard()
    chain(session, "a", "b")
    sessions.subscribe(heard)
    session.append_message(message("a"))  # known: heard, and in no log
    session.delete_messages(["a"])
    assert list(sessions.tail(after=0, timeout=0)) == list(sessions.events())
    assert heard.seqs == [2, 3]


def test_what_others_wrote_is_tailed_and_not_polled(path: Path) -> None:
    with Sessions(path) as one, Sessions(path) as other:
        heard = Heard()
        one.subscribe(heard)
        chain(other.session(), "a")
        assert [event.seq for event in one.tail(after=0, timeout=0)] == [1]
        assert heard == []
        assert one.poll() == 1


def test_a_cursor_survives(path: Path) -> None:
    cursor, seen = 0, []
    for number in range(5):
        with Sessions(path) as sessions:
            chain(sessions.session(), f"a{number}", f"b{number}")
            for event in islice(sessions.tail(after=cursor, timeout=0), 3):
                cursor = event.seq
                seen.append(cursor)
    with Sessions(path, read_only=True) as sessions:
        seen += [event.seq for event in sessions.tail(after=cursor, timeout=0)]
        assert seen == list(range(1, sessions.latest_seq + 1))


def test_it_ends_when_nothing_came_for_its_time(sessions: Sessions, session: Session) -> None:
    chain(session, "a")
    begin = time.monotonic()
    tail = sessions.tail(after=0, interval=QUICK, timeout=0.2)
    assert next(tail).seq == 1
    time.sleep(0.3)  # the consumer's own time isn't waited time
    chain(session, "b")
    assert [event.seq for event in tail] == [2]
    assert time.monotonic() - begin > 0.5


def test_closing_the_store_ends_it_at_once(sessions: Sessions) -> None:
    threading.Timer(0.05, sessions.close).start()
    begin = time.monotonic()
    with pytest.raises(StoreClosed):
        next(sessions.tail(interval=PATIENCE))
    assert time.monotonic() - begin < PATIENCE / 2


def test_inside_a_transaction_it_gives_what_is_committed(sessions: Sessions, session: Session) -> None:
    chain(session, "a")
    with sessions.transaction():
        chain(session, "b")
        assert [event.seq for event in sessions.tail(after=0, timeout=0)] == [1]
    assert [event.seq for event in sessions.tail(after=0, timeout=0)] == [1, 2]


@pytest.mark.parametrize(
    "arguments",
    [{"after": -1}, {"after": True}, {"after": "1"}, {"interval": 0}, {"interval": -1}, {"interval": float("nan")},
     {"interval": True}, {"interval": "1"}, {"timeout": -1}, {"timeout": "1"}],
    ids=str,
)  # fmt: skip
def test_odd_arguments_are_refused_in_the_call(sessions: Sessions, session: Session, arguments: dict[str, int]) -> None:
    for each in (sessions, session):
        with pytest.raises(InvalidArgument):
            each.tail(**arguments)
    if "interval" in arguments:
        with pytest.raises(InvalidArgument):
            sessions.watch(**arguments)


def test_after_close_it_is_refused_in_the_call(sessions: Sessions, session: Session) -> None:
    sessions.close()
    for call in (sessions.tail, session.tail, sessions.watch):
        with pytest.raises(StoreClosed):
            call()


# ---- watch


@pytest.mark.parametrize("read_only", [False, True])
def test_it_polls_until_it_is_closed(path: Path, read_only: bool) -> None:
    with Sessions(path) as writer, Sessions(path, read_only=read_only) as reader:
        heard = Heard()
        reader.subscribe(heard)
        with reader.watch(interval=QUICK):
            chain(writer.session(), "a", "b")
            until(lambda: len(heard) == 2)
        assert not watchers()
        chain(writer.session(), "c")
        time.sleep(10 * QUICK)
        assert heard.seqs == [1, 2]
        assert reader.poll() == 1


def test_a_watch_keeps_the_order_while_the_store_writes_too(path: Path) -> None:
    with Sessions(path, durability="normal") as one, Sessions(path, durability="normal") as other:
        heard = Heard()
        one.subscribe(heard)
        with one.watch(interval=QUICK):

            def write() -> None:
                for number in range(100):
                    other.session().append_message(message(f"other {number}"))

            thread = threading.Thread(target=write)
            thread.start()
            for number in range(100):
                one.session().append_message(message(f"one {number}"))
            thread.join()
            until(lambda: len(heard) == 200)
        assert heard.seqs == list(range(1, 201))
        assert [event.message["id"] for event in heard if isinstance(event, Appended)] == [
            event.message["id"] for event in one.events() if isinstance(event, Appended)
        ]


def test_a_reader_that_takes_no_locks_watches_on_when_a_writer_comes(path: Path) -> None:
    Sessions(path).close()
    with Sessions(path, read_only=True) as reader:
        heard = Heard()
        reader.subscribe(heard)
        with reader.watch(interval=QUICK):
            for number in range(20):
                with Sessions(path, durability="normal") as writer:
                    chain(writer.session(), f"m{number}")
            until(lambda: len(heard) == 20)
        assert heard.seqs == list(range(1, 21))


def test_closing_the_store_ends_its_threads(path: Path) -> None:
    with Sessions(path) as sessions:
        sessions.watch()
        watch = sessions.watch(interval=PATIENCE)
        assert len(watchers()) == 2
    assert not watchers()
    watch.close()


def test_a_listener_may_end_the_watch_that_calls_it_and_close_its_store(path: Path) -> None:
    with Sessions(path) as writer:
        reader = Sessions(path)
        heard = Heard()
        watch: list[Subscription] = []
        reader.subscribe(heard)
        reader.subscribe(lambda _: watch[0].close())
        watch.append(reader.watch(interval=QUICK))
        chain(writer.session(), "a")
        until(lambda: not watchers())
        reader.subscribe(lambda _: reader.close())
        reader.watch(interval=QUICK)
        chain(writer.session(), "b")
        until(lambda: not watchers())
        assert heard.seqs == [1, 2]
        with pytest.raises(StoreClosed):
            reader.poll()


def test_a_listener_of_a_write_may_end_a_watch_that_waits_for_it(path: Path) -> None:
    with Sessions(path) as sessions:
        watch = sessions.watch(interval=0.001)

        def end(_event: object) -> None:
            time.sleep(0.02)  # the watch waits for this delivery by now
            watch.close()

        sessions.subscribe(end)
        chain(sessions.session(), "a")
        until(lambda: not watchers())


def test_inside_a_transaction_a_watch_may_be_ended(sessions: Sessions, session: Session) -> None:
    sessions.subscribe(Heard())
    watch = sessions.watch(interval=QUICK)
    with sessions.transaction():
        chain(session, "a")
        time.sleep(4 * QUICK)
        watch.close()
    until(lambda: not watchers())


def test_trouble_is_said_once(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    Sessions(path).close()
    with Sessions(path, read_only=True) as reader, reader.watch(interval=QUICK):
        path.rename(path.with_suffix(".away"))
        until(lambda: caplog.records)
        time.sleep(20 * QUICK)
        path.with_suffix(".away").rename(path)
    assert len(caplog.records) == 1
    assert "goes on trying" in caplog.text


# ---- polling costs next to nothing


def test_polling_with_nothing_new_reads_one_number(path: Path) -> None:
    with Sessions(path, durability="normal") as writer, Sessions(path, read_only=True) as reader:
        chain(writer.session(), *map(str, range(300)))
        reader.subscribe(Heard())
        reader.poll()
        assert best(reader.poll) < best(lambda: reader.latest_seq) * 2


def best(call: Callable[[], object]) -> float:
    """The least seconds of one of many calls."""
    times = []
    for _ in range(300):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)
