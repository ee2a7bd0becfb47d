"""The two event loops that are known, asyncio and trio, by the few things that are needed of them.

Why neither anyio nor apsw's own controllers: a transaction needs one thread for all its calls, which a pool's functions
can't promise; events are delivered by tasks that nobody's block holds, which a task group can't give; and a controller
belongs to one connection and breaks a call off inside SQLite, where ours must end whole. What is left is this page.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from eventstore.aio.threads import Job, Threads

R = TypeVar("R")


class Signal(Protocol):
    """What both loops call an event: set once, and waited for."""

    def set(self) -> object:
        """Lets go all who wait."""

    async def wait(self) -> object:
        """Returns once it is set."""


class Loop(Protocol):
    """One running loop. All but `answer`, `call_from_thread`, `is_current` and `is_over` is called on it."""

    def is_current(self) -> bool:
        """Whether it is the loop that runs here."""

    def is_over(self) -> bool:
        """Whether it has ended."""

    async def run(self, threads: Threads, job: Job[R], *, cancellable: bool = True) -> R:
        """What a job's call returns, in a thread. Cancelled before the thread begins, it never runs (unless it must:
        `cancellable=False`); cancelled later, the call goes on to its end, and this waits for it."""

    def answer(self, jobs: list[Job[Any]]) -> None:
        """Lets those go on who run these jobs: in a thread, when they are done. All at once, since each time wakes the
        loop."""

    def call_from_thread(self, function: Callable[..., Any], *arguments: object) -> Any:
        """Calls a function on the loop from a thread, awaits what it gives, and returns the result."""

    def spawn(self, function: Callable[[], Awaitable[None]]) -> None:
        """Runs a coroutine function, which raises nothing, in a task of its own."""

    def current_task(self) -> object:
        """The task that runs."""

    def signal(self) -> Signal:
        """A new signal."""

    async def wait(self, signal: Signal, seconds: float) -> bool:
        """Waits for a signal. False when the time was over before."""


def current_loop() -> Loop:
    """The loop that runs here. Raises `RuntimeError` where none does."""
    try:
        return AsyncioLoop(asyncio.get_running_loop())
    except RuntimeError:
        return TrioLoop()


async def result_of(function: Callable[..., Any], *arguments: object) -> Any:
    """What a function returns, or what awaiting that gives."""
    result = function(*arguments)
    return await result if inspect.isawaitable(result) else result


class AsyncioLoop:
    """asyncio's."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._tasks: set[asyncio.Task[None]] = set()  # the loop itself holds them weakly

    def is_current(self) -> bool:
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return False

    def is_over(self) -> bool:
        return self._loop.is_closed()

    async def run(self, threads: Threads, job: Job[R], *, cancellable: bool = True) -> R:
        job.waiter = self._loop.create_future()
        threads.submit(job)
        try:
            await job.waiter
        except asyncio.CancelledError:
            if not (cancellable and job.claim()):
                await self._end_of(job)
            raise
        return job.result()

    async def _end_of(self, job: Job[Any]) -> None:
        """Waits for it, however often that is cancelled."""
        while not job.is_done:
            job.waiter = self._loop.create_future()
            with suppress(asyncio.CancelledError):
                await job.waiter

    def answer(self, jobs: list[Job[Any]]) -> None:
        try:  # noqa: SIM105 - `suppress` is a function of Python's, and this is on the way of every call
            self._loop.call_soon_threadsafe(_wake_futures, jobs)
        except RuntimeError:  # the loop was closed meanwhile: nobody waits
            pass

    def call_from_thread(self, function: Callable[..., Any], *arguments: object) -> Any:
        return asyncio.run_coroutine_threadsafe(result_of(function, *arguments), self._loop).result()

    def spawn(self, function: Callable[[], Awaitable[None]]) -> None:
        async def run() -> None:
            await function()

        task = self._loop.create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def current_task(self) -> object:
        return asyncio.current_task()

    def signal(self) -> Signal:
        return asyncio.Event()

    async def wait(self, signal: Signal, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await signal.wait()
        except TimeoutError:
            return False
        return True


def _wake_futures(jobs: list[Job[Any]]) -> None:
    for job in jobs:
        job.is_done = True
        if not job.waiter.done():
            job.waiter.set_result(None)


class TrioLoop:
    """trio's. It is imported only where it runs."""

    def __init__(self) -> None:
        import trio

        self._trio = trio
        self._token = trio.lowlevel.current_trio_token()
        # Ctrl-C, which asyncio makes a cancellation, would else strike between handing a job over and waiting for it.
        self._run = trio.lowlevel.enable_ki_protection(_run_on_trio)

    def is_current(self) -> bool:
        try:
            return self._trio.lowlevel.current_trio_token() is self._token
        except RuntimeError:
            return False

    def is_over(self) -> bool:
        try:
            self._token.run_sync_soon(lambda: None)
        except self._trio.RunFinishedError:
            return True
        return False

    def run(self, threads: Threads, job: Job[R], *, cancellable: bool = True) -> Coroutine[Any, Any, R]:
        return self._run(self._trio.lowlevel, threads, job, cancellable)

    def answer(self, jobs: list[Job[Any]]) -> None:
        with suppress(self._trio.RunFinishedError):
            self._token.run_sync_soon(self._wake_tasks, jobs)

    def _wake_tasks(self, jobs: list[Job[Any]]) -> None:
        for job in jobs:
            if not job.is_done:  # a thread that was struck may answer twice
                job.is_done = True
                self._trio.lowlevel.reschedule(job.waiter)

    def call_from_thread(self, function: Callable[..., Any], *arguments: object) -> Any:
        return self._trio.from_thread.run(result_of, function, *arguments, trio_token=self._token)

    def spawn(self, function: Callable[[], Awaitable[None]]) -> None:
        self._trio.lowlevel.spawn_system_task(function)

    def current_task(self) -> object:
        return self._trio.lowlevel.current_task()

    def signal(self) -> Signal:
        return self._trio.Event()

    async def wait(self, signal: Signal, seconds: float) -> bool:
        with self._trio.move_on_after(seconds):
            await signal.wait()
            return True
        return False


async def _run_on_trio(lowlevel: Any, threads: Threads, job: Job[R], cancellable: bool) -> R:
    if cancellable:
        await lowlevel.checkpoint_if_cancelled()
    job.waiter = lowlevel.current_task()
    threads.submit(job)

    def abort(_raise: object) -> Any:
        return lowlevel.Abort.SUCCEEDED if cancellable and job.claim() else lowlevel.Abort.FAILED

    await lowlevel.wait_task_rescheduled(abort)
    return job.result()
