"""A store that came into a child by fork: refused whatever is asked of it, and no harm to the parent's."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from eventstore import AsyncSessions, Sessions, StoreClosed, StoreForked, seams
from tests.unit.every_call import every_call
from tests.unit.talk import Heard, ids, message


def in_a_child(work: Callable[[], object]) -> None:
    """Runs `work` in a forked child. Fails with what it says when it raises."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover
        said = ""
        signal.alarm(30)  # ends a child that waits for a lock
        try:
            work()
        except BaseException:  # noqa: BLE001
            said = traceback.format_exc()
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    assert (said, status) == ("", 0)


@pytest.fixture
def sessions(tmp_path: Path) -> Iterator[Sessions]:
    with Sessions(tmp_path / "store.db", durability="normal") as opened:
        yield opened


pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]


def test_everything_is_refused_in_a_child(sessions: Sessions, tmp_path: Path) -> None:
    session = sessions.session()
    session.append_messages([message("a"), message("b")])
    reading = session.history()
    calls = every_call(sessions, tmp_path / "copy.db")

    def work() -> None:
        for number, call in enumerate(calls):
            with pytest.raises(StoreForked, match="one store per worker") as caught:
                call()
            assert isinstance(caught.value, StoreClosed), number
        sessions.close()  # quietly: the parent has it open

    in_a_child(work)
    session.append_message(message("c"))
    assert ids(session.get_history()) == ["a", "b", "c"]
    assert ids(reading) == ["a", "b"]


def test_a_child_is_refused_whatever_its_parent_was_doing(sessions: Sessions) -> None:
    """Inside a transaction, or inside a listener: locks that the parent held at the fork keep no child waiting."""
    session = sessions.session()

    def work() -> None:
        for call in (
            lambda: session.append_message(message("c")),
            lambda: session.get_history(),
            lambda: sessions.poll(),
            lambda: sessions.subscribe(print),
            lambda: sessions.transaction().__enter__(),
        ):
            with pytest.raises(StoreForked):
                call()

    with sessions.transaction():
        session.append_message(message("a"))
        in_a_child(work)
    sessions.subscribe(lambda _event: in_a_child(work))
    session.append_message(message("b"))
    assert ids(session.get_history()) == ["a", "b"]


@pytest.mark.parametrize("inside", ["transaction", "listener"])
def test_a_child_of_another_thread_is_refused_and_not_kept_waiting(sessions: Sessions, inside: str) -> None:
    session = sessions.session()
    held, go = threading.Event(), threading.Event()

    def hold(_event: object = None) -> None:
        held.set()
        go.wait(30)

    def write() -> None:
        if inside == "listener":
            sessions.subscribe(hold)
            session.append_message(message("a"))
        else:
            with sessions.transaction():
                session.append_message(message("a"))
                hold()

    def work() -> None:
        for call in (
            lambda: sessions.subscribe(print),
            lambda: session.subscribe(print),
            lambda: sessions.poll(),
            lambda: session.append_message(message("c")),
        ):
            with pytest.raises(StoreForked):
                call()

    thread = threading.Thread(target=write)
    thread.start()
    assert held.wait(30)
    in_a_child(work)
    go.set()
    thread.join(30)
    assert ids(session.get_history()) == ["a"]


def test_four_children_that_open_their_own_write_all(tmp_path: Path, sessions: Sessions) -> None:
    """The pattern of pre-forking servers: opened at import, then a store of its own for each worker."""
    session = sessions.session()
    heard = Heard()
    sessions.subscribe(heard)
    session.append_message(message("parent"))
    children = []
    for number in range(4):
        child = os.fork()
        if child == 0:  # pragma: no cover
            status = 1
            try:
                with Sessions(tmp_path / "store.db", durability="normal", busy_timeout=30) as own:
                    for n in range(50):
                        own.session().append_message(message(f"{number}.{n}"))
                gc.collect()
                status = 0
            except BaseException:  # noqa: BLE001
                traceback.print_exc(file=sys.stderr)
            os._exit(status)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 4
    assert sessions.poll() == 200
    session.append_message(message("parent again"))
    assert heard.seqs == list(range(1, 203))
    assert len(session.get_history()) == 202
    assert sessions.verify().ok


def test_a_fork_waits_for_a_write_of_another_thread(sessions: Sessions, tmp_path: Path) -> None:
    """SQLite's note of the lock comes along, and nobody in the child would ever give it back."""
    writing = threading.Event()

    def hold(step: str) -> None:
        if step == "decided":
            writing.set()
            time.sleep(0.05)

    def work() -> None:
        seams.hook = None
        with Sessions(tmp_path / "store.db", durability="normal", busy_timeout=2) as own:
            own.session().append_message(message("b"))

    seams.hook = hold
    thread = threading.Thread(target=lambda: sessions.session().append_message(message("a")))
    try:
        thread.start()
        assert writing.wait(30)
        in_a_child(work)
    finally:
        seams.hook = None
        thread.join(30)
    assert ids(sessions.session().get_history()) == ["a", "b"]


def test_what_a_child_writes_is_kept_when_the_parent_closes_first(sessions: Sessions, tmp_path: Path) -> None:
    """Without locks of its own, the last to close would be taken to be the parent, and delete the WAL."""
    sessions.session().append_message(message("parent"))
    written, closed = os.pipe(), os.pipe()

    def work() -> None:
        own = Sessions(tmp_path / "store.db", durability="normal")
        own.session().append_message(message("a"))
        os.write(written[1], b".")
        os.read(closed[0], 1)
        own.session().append_message(message("b"))  # and it ends without closing

    def close() -> None:
        os.read(written[0], 1)
        sessions.close()
        os.write(closed[1], b".")

    thread = threading.Thread(target=close)
    thread.start()
    in_a_child(work)
    thread.join(30)
    with Sessions(tmp_path / "store.db") as again:
        assert ids(again.session().get_history()) == ["parent", "a", "b"]
    for end in (*written, *closed):
        os.close(end)


def test_children_of_a_busy_event_loop_write_all(tmp_path: Path) -> None:
    begun, over = threading.Event(), threading.Event()
    store = AsyncSessions(tmp_path / "store.db", durability="normal")

    async def write(task: int) -> None:
        number = 0
        while not over.is_set():
            await store.session(f"{task}").append_message(message(f"{number}"))
            await store.session(f"{task}").get_recent_history(max_messages=3)
            number += 1
            begun.set()

    async def serve() -> None:
        async with store:
            await asyncio.gather(*map(write, range(4)))

    def work() -> None:
        async def write() -> None:
            for refused in (store.session().append_message(message("a")), store.session().info(), store.open()):
                with pytest.raises(StoreForked):
                    await refused
            async with AsyncSessions(tmp_path / "store.db", durability="normal", busy_timeout=5) as own:
                await own.session("children").append_message(message(f"{os.getpid()}"))

        asyncio.run(write())

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert begun.wait(30)
        for _ in range(5):
            in_a_child(work)
    finally:
        over.set()
        thread.join(30)
    with Sessions(tmp_path / "store.db") as again:
        assert len(again.session("children").get_history()) == 5
        assert again.verify().ok


def test_a_child_that_ends_takes_nothing_from_its_parent(tmp_path: Path, sessions: Sessions) -> None:
    """An ordinary exit runs the destructors of what was inherited."""
    session = sessions.session()
    session.append_message(message("a"))
    child = os.fork()
    if child == 0:  # pragma: no cover
        sessions._store.database.__dict__.clear()
        gc.collect()
        os._exit(0)
    os.waitpid(child, 0)
    assert (tmp_path / "store.db-wal").exists()
    session.append_message(message("b"))
    with Sessions(tmp_path / "store.db") as other:
        assert ids(other.session().get_history()) == ["a", "b"]
        assert other.verify().ok
