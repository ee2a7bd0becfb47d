"""The threads behind a store on a loop: how many, what they keep, and how they end, also when nobody closes it."""

from __future__ import annotations

import contextvars
import gc
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from eventstore import AsyncSessions, Sessions, StoreClosed
from eventstore.aio.threads import Job, Line, Threads
from tests.aio.cancelling import leftovers
from tests.aio.face import LOOPS, run_on
from tests.aio.kit import Kit
from tests.processes.running import run
from tests.unit.talk import ids, message

on_both = pytest.mark.parametrize("loop", LOOPS)


def is_gone(kept: weakref.ref[Any]) -> bool:
    return kept() is None


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def eventually(holds: Callable[[], bool]) -> bool:
    """Whether it holds before long."""
    end = time.monotonic() + 20
    while not holds() and time.monotonic() < end:
        time.sleep(0.005)
    return holds()


@on_both
def test_one_thread_writes_and_reads_have_as_many_as_they_need_up_to_four(loop: str, path: Path) -> None:
    kit = Kit(loop)

    async def main() -> None:
        async with AsyncSessions(path) as sessions:
            names: list[str] = []
            most = 0
            reading = threading.Semaphore(0)
            running = 0

            def name() -> str:
                return threading.current_thread().name

            def read() -> None:
                nonlocal most, running
                running += 1
                most = max(most, running)
                if running == 4:
                    reading.release(5)
                reading.acquire(timeout=30)
                running -= 1
                names.append(name())

            assert await sessions._store.run_write(name) == "eventstore write_0"
            for _ in range(5):
                assert await sessions._store.run_read(name) == "eventstore read_0"
            await kit.together(*[partial(sessions._store.run_read, read)] * 5)
            assert most == 4
            assert set(names) == {f"eventstore read_{number}" for number in range(4)}

    run_on(loop, main)


@on_both
def test_calls_do_not_run_in_the_context_of_their_task(loop: str) -> None:
    variable = contextvars.ContextVar("variable", default="none")

    async def main() -> None:
        async with AsyncSessions() as sessions:
            variable.set("the task's")
            assert await sessions._store.run_write(variable.get) == "none"

    run_on(loop, main)


@on_both
@pytest.mark.parametrize("raised", [ValueError, SystemExit, KeyboardInterrupt, GeneratorExit])
def test_whatever_a_call_raises_reaches_its_caller(loop: str, raised: type[BaseException]) -> None:
    def fail() -> None:
        raise raised("no")

    async def main() -> None:
        async with AsyncSessions() as sessions:
            for run_call in (sessions._store.run_write, sessions._store.run_read):
                with pytest.raises(raised, match="no"):
                    await run_call(fail)
            await sessions.session().append_message(message("a"))

    run_on(loop, main)


@on_both
def test_a_thread_that_waits_keeps_nothing_of_its_last_call(loop: str, path: Path) -> None:
    class Large:
        pass

    def fail(_given: Large) -> None:
        raise ZeroDivisionError

    async def main() -> None:
        async with AsyncSessions(path) as sessions:
            for run_call in (sessions._store.run_write, sessions._store.run_read):
                large = Large()
                kept = weakref.ref(large)
                assert await run_call(partial(lambda given: given, large)) is large
                with suppress(ZeroDivisionError):
                    await run_call(partial(fail, large))
                del large
                assert eventually(partial(is_gone, kept))

    gc.disable()  # nothing goes in circles either
    try:
        run_on(loop, main)
    finally:
        gc.enable()


def test_threads_that_nobody_refers_to_end() -> None:
    answered = threading.Event()
    threads = Threads("some", 2, lambda _jobs: answered.set())
    threads.submit(Job(lambda: None))
    assert answered.wait(30)
    (thread,) = threads._threads
    del threads
    gc.collect()
    assert eventually(lambda: not thread.is_alive())


def test_shut_down_they_have_done_what_was_handed_over_and_take_no_more() -> None:
    done: list[int] = []
    threads = Threads("some", 1, lambda _jobs: None)
    for number in range(20):
        threads.submit(Job(partial(done.append, number)))
    threads.shutdown()
    threads.shutdown()
    assert done == list(range(20))
    with pytest.raises(StoreClosed):
        threads.submit(Job(lambda: None))


@on_both
def test_a_store_that_is_dropped_without_being_closed_leaves_no_thread_and_no_file(loop: str, path: Path) -> None:
    Sessions(path).close()

    async def drop() -> None:
        sessions = await AsyncSessions(path).open()
        await sessions.session().append_message(message("a"))
        await sessions.session().get_history()

    run_on(loop, drop)
    before = leftovers()
    run_on(loop, drop)
    assert eventually(lambda: leftovers() <= before)


def test_a_line_in_which_some_always_wait_does_not_grow() -> None:
    line = Line()
    for _ in range(1_000):
        line.put(Job(lambda: None))
        if line.unfinished() > 3:
            job = line.take()
            assert job is not None
            line.finished([job])
    assert line._calls.qsize() <= 4


def test_no_job_is_left_while_a_thread_waits() -> None:
    """However they come, and whoever takes them."""
    done = threading.Semaphore(0)
    threads = Threads("some", 4, lambda jobs: done.release(len(jobs)))
    for number in range(2_000):
        most = 1 + number % 7
        for _ in range(most):
            threads.submit(Job(lambda: None))
        for _ in range(most):
            assert done.acquire(timeout=30)
    threads.shutdown()


# ---- the interpreter's end

LEFT_OPEN = """
import asyncio, threading

begun = threading.Event()

def count_tokens(message):
    if message["id"] == "slow":
        begun.set()
        time.sleep(0.5)
    return 1

async def main():
    sessions = AsyncSessions(sys.argv[1], count_tokens=count_tokens)
    await sessions.open()
    await sessions.session().append_message(message("a"))
    await sessions.session().get_history()
    if sys.argv[2] == "at work":
        write = sessions.session().append_message
        tasks = [asyncio.ensure_future(write(message(name))) for name in ("slow", "last")]
        while not begun.is_set():
            await asyncio.sleep(0.001)
    return sessions, locals()

loop = asyncio.new_event_loop()
kept = loop.run_until_complete(main())
if sys.argv[2] == "forked":  # not inside the loop, which from Python 3.14 on doesn't run in a child
    child = os.fork()
    if not child:
        sys.exit()
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.parametrize(("how", "stored"), [("idle", ["a"]), ("at work", ["a", "slow", "last"]), ("forked", ["a"])])
def test_an_interpreter_exits_with_a_store_left_open_and_what_was_called_is_done(
    path: Path, how: str, stored: list[str]
) -> None:
    run(LEFT_OPEN, path, how)
    with Sessions(path) as sessions:
        assert ids(sessions.session().get_history()) == stored
        assert sessions.verify().ok
