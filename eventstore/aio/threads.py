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
from collections import deque
from collections.abc import Callable, Iterable
from math import inf
from queue import SimpleQueue
from typing import Any, Generic, TypeAlias, TypeVar

from eventstore.errors import StoreClosed
from eventstore.store import Store

R = TypeVar("R")


class Job(Generic[R]):
    """A call on its way through a thread and back. `store`: whose transaction it may share with other jobs, if any."""

    __slots__ = ("_call", "_claims", "_error", "_value", "is_done", "since", "store", "waiter")

    def __init__(self, call: Callable[[], R], store: Store | None = None) -> None:
        self._call = call
        self._claims: list[int] = []  # the threads that asked for it
        self._value: Any = None
        self._error: BaseException | None = None
        self.store = store
        self.since = time.monotonic()
        self.waiter: Any = None  # what the loop wakes
        self.is_done = False  # as the loop knows

    def claim(self) -> bool:
        """Whether it is this thread's: to run it there, or to cancel it. It is of the one that asks first."""
        claims, me = self._claims, threading.get_ident()
        claims.append(me)
        return claims[0] == me

    def is_claimed(self) -> bool:
        """Whether it is this thread's already."""
        return self._claims[:1] == [threading.get_ident()]

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
    """The jobs that wait, in their order.

    An exception can strike a thread between any two steps (one that another thread sets there, or for want of memory).
    So no job is ever known to a thread alone: it is claimed where it waits, and among those that aren't done until it
    is.
    """

    def __init__(self) -> None:
        self._jobs: deque[Job[Any]] = deque()
        self._calls: SimpleQueue[None] = SimpleQueue()  # as many as jobs wait, at least: to look again
        self._taking = threading.Lock()
        self._unfinished: dict[Job[Any], None] = {}  # those that wait or run
        self._is_ended = False

    def put(self, job: Job[Any]) -> None:
        """Adds a job behind the others."""
        self._unfinished[job] = None
        self._jobs.append(job)
        if self._calls.qsize() < len(self._jobs):  # a thread that finds jobs without waiting leaves the calls
            self._calls.put(None)

    def end(self) -> None:
        """Ends the threads that take from it, behind the last job."""
        self._is_ended = True
        self._calls.put(None)

    def finished(self, jobs: Iterable[Job[Any]]) -> None:
        """Notes that they are done."""
        for job in jobs:
            self._unfinished.pop(job, None)

    def unfinished(self) -> int:
        """How many wait or run."""
        return len(self._unfinished)

    def take(self) -> Job[Any] | None:
        """The next job that nobody cancelled: waits for one. `None` at the end."""
        while True:
            is_ended = self._is_ended
            if (job := self._next()) is not None:
                return job
            if is_ended:
                self._calls.put(None)  # for the other threads
                return None
            self._calls.get()

    def take_sharing(self, store: Store, before: float = inf) -> Job[Any] | None:
        """The next job, if it waits already (since `before`) and may share a transaction of `store`. For one thread's
        line."""
        return self._next(store, before)

    def _next(self, store: Store | None = None, before: float = inf) -> Job[Any] | None:
        with self._taking:
            while self._jobs:
                job = self._jobs[0]
                if store is not None and (job.store is not store or job.since > before):
                    return None
                if job in self._unfinished and job.claim():
                    self._jobs.popleft()
                    return job
                self._unfinished.pop(job, None)
                self._jobs.popleft()
        return None

    def fail(self, error: BaseException) -> list[Job[Any]]:
        """After an exception has struck the thread that calls this: the jobs that it had taken have failed, and are
        returned."""
        taken = [job for job in list(self._unfinished) if job.is_claimed()]
        for job in taken:
            job.fail(error)
        return taken


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
        """Hands a job over. Called in one thread only. Raises `StoreClosed` after `shutdown()`, and as `begin`."""
        if self._is_closed:
            raise StoreClosed("the store was closed meanwhile: open it again")
        if self._line.unfinished() >= len(self._threads) < self._most:
            self.begin()
        self._line.put(job)

    def holds(self, thread: threading.Thread) -> bool:
        """Whether it is one of these."""
        return thread in self._threads

    def is_idle(self) -> bool:
        """Whether all that was handed over is done."""
        return not self._line.unfinished()

    def begin(self) -> None:
        """Begins a thread more. Where the system gives none, those that there are do the work; `RuntimeError` is raised
        when there are none."""
        name = f"{self._name}_{len(self._threads)}"
        thread = threading.Thread(target=_serve, args=(self._line, *self._work), name=name, daemon=True)
        _serving[thread] = self._line
        try:
            thread.start()
        except RuntimeError:
            del _serving[thread]
            if not self._threads:
                raise
        else:
            self._threads.append(thread)

    def shutdown(self) -> None:
        """Ends the threads, and waits until all that was handed over is done."""
        self._is_closed = True
        self._line.end()
        for thread in self._threads:
            thread.join()


def _serve(line: Line, answer: Callable[[list[Job[Any]]], object], run: Run) -> None:
    done: list[Job[Any]] = []
    struck: BaseException | None = None
    try:
        while True:
            try:
                if struck is not None:
                    line.finished(done)
                    done = [*done, *line.fail(struck)]
                    struck = None
                while True:
                    if done:
                        line.finished(done)
                        answer(done)
                        done = []  # what waits for the next one keeps nothing
                    if (job := line.take()) is None:
                        return
                    done = run(job, line)
                    del job
            except BaseException as error:  # noqa: BLE001 - of no job: those that it hit are told it
                struck = error
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
