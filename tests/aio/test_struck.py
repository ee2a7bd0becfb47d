"""Threads that can't be started, and threads that an exception strikes between two calls: every caller gets an answer.
So it does where Ctrl-C strikes the loop's own.

One thread may set an exception in another; that comes where Python looks for it, in our own steps too. First it is set
in a thread that waits, then raised behind each instruction that looks.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from eventstore import AsyncSessions, Sessions
from eventstore.aio import groups, loops, threads
from tests.aio.at_once import Call, at_once
from tests.aio.face import LOOPS, run_on
from tests.aio.kit import Kit
from tests.unit.talk import ids, message
from tests.unit.test_interrupts import TOGETHER, Interrupt

on_both = pytest.mark.parametrize("loop", LOOPS)
NO_SYSTEM_HAS = 1 << 47  # bytes for a thread's stack


class Struck(BaseException):
    """Set in a thread by another."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@contextmanager
def no_thread_starts() -> Iterator[None]:
    """The system refuses each."""
    before = threading.stack_size(NO_SYSTEM_HAS)
    try:
        with pytest.raises(RuntimeError, match="can't start new thread"):
            threading.Thread(target=int).start()
        yield
    finally:
        threading.stack_size(before)


def strike(name: str) -> None:
    """Sets an exception in the threads of that name."""
    for thread in threading.enumerate():
        if thread.name == name:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(Struck))


async def outcome(call: Call, raised: type[BaseException] = Struck) -> Any:
    """What it returns, or what it was struck by."""
    try:
        return await call()
    except raised as error:
        return error


async def twice(call: Call) -> Any:
    """What it returns, made again where it was struck, which happens once."""
    try:
        return await call()
    except KeyboardInterrupt:
        return await call()


# ---- no thread


@on_both
def test_a_store_that_gets_no_thread_is_not_open_and_may_be_opened_again(loop: str, path: Path) -> None:
    async def main() -> None:
        sessions = AsyncSessions(path)
        with no_thread_starts():
            for _ in range(2):
                with pytest.raises(RuntimeError, match="can't start new thread"):
                    await sessions.open()
            await sessions.close()
        assert all(thread.is_alive() for thread in threads._serving)  # those that the interpreter's end waits for
        async with sessions:
            await sessions.session().append_message(message("a"))

    run_on(loop, main)
    with Sessions(path) as found:
        assert ids(found.session().get_history()) == ["a"]


@on_both
def test_a_read_that_gets_no_thread_says_so_and_the_store_works_on(loop: str, path: Path) -> None:
    async def main() -> None:
        async with AsyncSessions(path) as sessions:
            session = sessions.session()
            with no_thread_starts():
                for _ in range(2):
                    with pytest.raises(RuntimeError, match="can't start new thread"):
                        await session.get_history()
                await session.append_message(message("a"))
            assert ids(await session.get_history()) == ["a"]
            with no_thread_starts():
                await session.append_message(message("b"))
        assert all(thread.is_alive() for thread in threads._serving)

    run_on(loop, main)


@on_both
def test_reads_go_on_with_as_many_threads_as_there_are(loop: str, path: Path) -> None:
    kit = Kit(loop)

    async def main() -> None:
        async with AsyncSessions(path) as sessions:
            await sessions.session().get_history()
            names: list[str] = []
            with no_thread_starts():
                read = partial(sessions._store.run_read, lambda: names.append(threading.current_thread().name))
                await kit.together(*[read] * 5)
            assert names == ["eventstore read_0"] * 5

    run_on(loop, main)


# ---- a thread that is struck


@on_both
@pytest.mark.parametrize("name", ["eventstore write_0", "eventstore read_0"])
def test_a_call_that_finds_its_thread_struck_as_it_waited_is_made(loop: str, name: str, path: Path) -> None:
    kit = Kit(loop)

    async def main() -> None:
        async with AsyncSessions(path) as sessions:
            session = sessions.session()
            await session.append_message(message("a"))
            await session.get_history()
            before = set(threading.enumerate())
            for number in range(20):
                strike(name)
                await kit.together(*[partial(session.append_message, message(f"{number} {n}")) for n in range(3)])
                assert len(await session.get_history()) == number * 3 + 4
            assert set(threading.enumerate()) == before
        with Sessions(path) as found:
            assert found.verify().ok

    run_on(loop, main)


class Strike(Interrupt):
    """Raises at one place of what runs between the calls, in the thread that begins it."""

    FILES = (threads.__file__, groups.__file__)

    def begin(self) -> None:
        frame: FrameType | None = sys._getframe()
        while frame is not None:  # those that run already
            frame.f_trace, frame.f_trace_opcodes = self, True
            frame = frame.f_back
        sys.settrace(self)

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename not in self.FILES or frame.f_code is threads.Job.run.__code__:
            return None
        return super().__call__(frame, event, argument)

    def end(self) -> bool:
        """From now on it strikes nobody, as who closes the store. Whether it has struck."""
        number, self._number = self._number, 0
        return self.passed >= number


@on_both
@pytest.mark.skipif(sys.version_info[:2] == (3, 12), reason="CPython 3.12 crashes where several threads trace opcodes")
def test_a_thread_struck_anywhere_between_calls_answers_all_and_goes_on(loop: str) -> None:
    kit = Kit(loop)

    async def struck_at(sessions: AsyncSessions, number: int) -> bool:
        session = sessions.session(f"{number}")
        strike = Strike(number)
        appends = [partial(session.append_message, message(f"{n}")) for n in range(5)]
        calls: list[Call] = [
            partial(sessions._store.run_write, strike.begin, may_share=True),
            *appends[:3],
            partial(session.delete_messages, ["nobody"]),  # is in no group
            *appends[3:],
        ]
        outcomes = await at_once(kit, sessions, [partial(outcome, call, KeyboardInterrupt) for call in calls])
        there = ids(await twice(session.get_history))
        for message_id, result in zip("012 34", outcomes[1:], strict=True):
            assert message_id in (*there, " ") or isinstance(result, KeyboardInterrupt)
        for call in appends:
            await twice(call)
        assert sorted(ids(await twice(session.get_history))) == ["0", "1", "2", "3", "4"]
        return strike.end()

    async def main() -> None:
        number, was_struck = LOOPS.index(loop), True  # what is struck is of no loop: each takes what the other leaves
        while was_struck:
            async with AsyncSessions(":memory:") as sessions:  # goes on behind several
                for _ in range(TOGETHER):
                    number += len(LOOPS)
                    was_struck = was_struck and await struck_at(sessions, number)
                assert (await twice(sessions.verify)).ok
        assert number > 50

    run_on(loop, main)


# ---- Ctrl-C


class CtrlC(Interrupt):
    """Comes at one place as a call is handed over: the loop may put it off."""

    FILES = (threads.__file__, loops.__file__)

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename not in self.FILES:
            return None
        try:
            return super().__call__(frame, event, argument)
        except KeyboardInterrupt:
            signal.raise_signal(signal.SIGINT)
            return self


@pytest.fixture
def ctrl_c_interrupts() -> Iterator[None]:
    """As in a program's main thread, whoever runs the tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c_interrupts")
@pytest.mark.filterwarnings("ignore:coroutine '.*' was never awaited:RuntimeWarning")  # one that it struck before
def test_ctrl_c_as_a_call_is_handed_over_leaves_nobody_waiting(path: Path) -> None:
    """On trio, where it strikes like that: asyncio cancels its main task."""

    def struck_at(number: int) -> bool:
        interrupt = CtrlC(number)

        async def main() -> None:
            async with AsyncSessions(path) as sessions:
                session = sessions.session()
                await session.append_message(message(f"before {number}"))
                traced = sys.gettrace()
                sys.settrace(interrupt)
                try:
                    await session.append_message(message(f"{number}"))
                finally:
                    sys.settrace(traced)

        with suppress(KeyboardInterrupt):
            run_on("trio", main)
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("eventstore")]
        return interrupt.passed >= number

    number = 1
    while struck_at(number):
        number += 1
    assert number > 10
    with Sessions(path) as found:
        there = ids(found.session().get_history())
        assert {f"before {each}" for each in range(1, number + 1)} <= set(there)
        assert found.verify().ok
