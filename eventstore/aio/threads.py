"""Threads that run a loop's calls in the order in which they were made, and answer them on the loop.

Why not `concurrent.futures`: its futures, conditions and callbacks make each hop longer, and a job there can't take
those behind it along. As there, the threads keep no interpreter from exiting, but what was handed over by then is done
first; they end, too, when nobody refers to a `Threads` any more.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections.abc import Callable
from math import inf
from queue import SimpleQueue
from typing import Any, Generic, TypeAlias, TypeVar

from eventstore.errors import StoreClosed
from eventstore.store import Store

R = TypeVar("R")


class Job(Generic[R]):
    """A call on its way through a thread and back. `store`: whose transaction it may share with other jobs, if any."""

    __slots__ = ("_call", "_error", "_value", "claim", "is_done", "since", "store", "waiter")

    def __init__(self, call: Callable[[], R], store: Store | None = None) -> None:
        self._call = call
        self._value: Any = None
        self._error: BaseException | None = None
        self.claim: Callable[[bool], bool] = threading.Lock().acquire
        """`claim(False)` is true for one caller: for the thread that will run it, or for who cancels it before."""
        self.store = store
        self.since = time.monotonic()
        self.waiter: Any = None  # what the loop wakes
        self.is_done = False  # as the loop knows

    def run(self) -> BaseException | None:
        """Makes the call, and keeps what it gives. Returns what it raised, which is kept too."""
        try:
            self._value, self._error = self._call(), None
        except BaseException as error:  # noqa: BLE001 - it is the caller's
            self._error = error
        return self._error

    def fail(self, error: BaseException) -> None:
        """Keeps an error in the place of what the call gave."""
        self._error = error

    def result(self) -> R:
        """What the call returned. Raises what it raised. To be asked for once."""
        error, self._error = self._error, None
        if error is None:
            value: R = self._value
            return value
        try:
            raise error
        finally:
            del error  # its traceback has this frame: nothing is to go in circles


class Line:
    """The jobs that wait, in their order."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Job[Any] | None] = SimpleQueue()
        self._back: list[Job[Any] | None] = []  # one that was looked at, and put back
        self._counting = threading.Lock()
        self._unfinished = 0  # jobs that wait or run

    def put(self, job: Job[Any]) -> int:
        """Adds a job behind the others. Returns how many aren't done, with this one."""
        with self._counting:
            self._unfinished += 1
            unfinished = self._unfinished
        self._queue.put(job)
        return unfinished

    def end(self) -> None:
        """Ends the threads that take from it, behind the last job."""
        self._queue.put(None)

    def finished(self, count: int) -> None:
        """Notes that so many jobs are done, or were cancelled."""
        with self._counting:
            self._unfinished -= count

    def is_idle(self) -> bool:
        """Whether none waits or runs."""
        return self._unfinished == 0

    def take(self) -> Job[Any] | None:
        """The next job that nobody cancelled: waits for one. `None` at the end."""
        while (job := self._back.pop() if self._back else self._queue.get()) is not None:
            if job.claim(False):
                return job
            self.finished(1)
        self.end()  # for the other threads
        return None

    def take_sharing(self, store: Store, before: float = inf) -> Job[Any] | None:
        """The next job, if it waits already (since `before`) and may share a transaction of `store`. For one thread's
        line."""
        while self._back or not self._queue.empty():
            job = self._back.pop() if self._back else self._queue.get()
            if job is None or job.store is not store or job.since > before:
                self._back.append(job)
                break
            if job.claim(False):
                return job
            self.finished(1)
        return None


Run: TypeAlias = Callable[[Job[Any], Line], list[Job[Any]]]
"""Runs a job, and any that it takes from behind it; returns those that are done."""


def run_one(job: Job[Any], _line: Line) -> list[Job[Any]]:
    """Runs the job alone."""
    job.run()
    return [job]


class Threads:
    """At most `most` threads, begun as they are needed. `answer(jobs)` is called in them with jobs that are done."""

    def __init__(self, name: str, most: int, answer: Callable[[list[Job[Any]]], object], run: Run = run_one) -> None:
        self._name = name
        self._most = most
        self._work = (answer, run)
        self._line = Line()
        self._threads: list[threading.Thread] = []
        self._is_closed = False
        weakref.finalize(self, self._line.end).atexit = False  # then all threads are waited for, too

    def submit(self, job: Job[Any]) -> None:
        """Hands a job over. Called in one thread only. Raises `StoreClosed` after `shutdown()`."""
        if self._is_closed:
            raise StoreClosed("the store was closed meanwhile: open it again")
        if self._line.put(job) > len(self._threads) < self._most:
            self._begin_one()

    def is_idle(self) -> bool:
        """Whether all that was handed over is done."""
        return self._line.is_idle()

    def _begin_one(self) -> None:
        name = f"{self._name}_{len(self._threads)}"
        thread = threading.Thread(target=_serve, args=(self._line, *self._work), name=name, daemon=True)
        _serving[thread] = self._line
        thread.start()
        self._threads.append(thread)

    def shutdown(self) -> None:
        """Ends the threads, and waits until all that was handed over is done."""
        self._is_closed = True
        self._line.end()
        for thread in self._threads:
            thread.join()


def _serve(line: Line, answer: Callable[[list[Job[Any]]], object], run: Run) -> None:
    try:
        while (job := line.take()) is not None:
            done = run(job, line)
            line.finished(len(done))
            answer(done)
            del job, done  # what waits for the next one keeps nothing
    finally:
        _serving.pop(threading.current_thread(), None)


_serving: dict[threading.Thread, Line] = {}
"""The threads that run, of all stores."""


@atexit.register
def _end_all() -> None:
    """What was handed over is done: a thread that the interpreter's end strikes stops in the midst of a call."""
    serving = list(_serving.items())
    for _thread, line in serving:
        line.end()
    for thread, _line in serving:
        thread.join()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_serving.clear)  # they run in the parent alone
