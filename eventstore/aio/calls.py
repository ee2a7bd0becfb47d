"""Calls of the sync store from an event loop: which thread runs each, and whose turn it is.

One thread writes: what a transaction is made of must come from one. Small writes of several tasks that wait for it
become one transaction (see `groups`). Other threads read, so that a long read keeps no write waiting. A transaction
belongs to the task that opened it: its own calls, reads too, go to the writing thread; the writes of other tasks wait
in a line until it is over, and their reads show what was committed before. In memory there is only the writer, so reads
wait too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, suppress
from functools import partial
from types import TracebackType
from typing import TypeVar

from eventstore.aio.groups import run as run_in_groups
from eventstore.aio.loops import Loop, Signal
from eventstore.aio.telling import check_can_wait
from eventstore.aio.threads import Job, Threads
from eventstore.errors import StoreClosed
from eventstore.sessions import Sessions
from eventstore.store import Store

R = TypeVar("R")

READERS = 4  # threads for reads, made as they are needed


class Calls:
    """The threads of one open store. `is_inside()`: whether a listener's call is made, which a close waits for. Raises
    `RuntimeError` where no thread can be started."""

    def __init__(self, loop: Loop, is_inside: Callable[[], bool], *, in_memory: bool) -> None:
        self.loop = loop
        self._is_inside = is_inside
        self._in_memory = in_memory
        self._writer = Threads("eventstore write", 1, loop.answer, run_in_groups)
        self._writer.begin()  # now: what is open can be written and closed
        self._readers = Threads("eventstore read", READERS, loop.answer)
        self._owner: object | None = None  # the task whose transaction is open
        self._depth = 0
        self._line: deque[Signal] = deque()  # of the tasks that wait for their turn
        self.closing = 0  # who is about to close it
        self.closed = False

    def in_transaction(self) -> bool:
        """Whether the task that runs has a transaction open."""
        return self._owner is not None and self._owner is self.loop.current_task()

    async def my_turn(self) -> None:
        """Waits until no other task's transaction is open, and who came before had their turn. Raises `StoreClosed`
        when the store is by then."""
        check_can_wait(self._writer)
        if self._line or self._owner is not None:
            await self._wait_in_line()
        self._check_open()

    async def _wait_in_line(self) -> None:
        if self.in_transaction():
            return
        turn = self.loop.signal()
        self._line.append(turn)
        try:
            await turn.wait()
            while self._owner is not None:  # who had the turn before began a transaction with it
                self._line[0] = turn = self.loop.signal()
                await turn.wait()
        finally:
            self._line.remove(turn)
            self._call_next()

    def _call_next(self) -> None:
        """Wakes the first in the line. It runs when who has the turn now has begun what it waited for."""
        if self._line and self._owner is None:
            with suppress(RuntimeError):  # a loop that was closed in the midst of it has nobody who waits
                self._line[0].set()

    def _check_open(self, *, to_write: bool = False) -> None:
        if self.closed or (to_write and self.closing and not (self.in_transaction() or self._is_inside())):
            raise StoreClosed("the store was closed meanwhile: open it again")

    def write(self, call: Callable[[], R], shared: Store | None = None) -> Awaitable[R]:
        """Runs a call that writes; `shared` is the store if others' writes may share its transaction."""
        check_can_wait(self._writer)
        if self._owner is None and not self._line and not self.closing:
            return self.loop.run(self._writer, Job(call, shared))
        return self._write_in_turn(call, shared)

    async def _write_in_turn(self, call: Callable[[], R], shared: Store | None) -> R:
        await self.my_turn()
        self._check_open(to_write=True)
        return await self.loop.run(self._writer, Job(call, shared if self._owner is None else None))

    async def _read_in_turn(self, call: Callable[[], R]) -> R:
        await self.my_turn()
        return await self.loop.run(self._writer, Job(call))

    def read(self, call: Callable[[], R]) -> Awaitable[R]:
        """Runs a call that reads."""
        if self._in_memory or self.in_transaction():
            return self._read_in_turn(call)
        self._check_open()
        return self.loop.run(self._readers, Job(call))

    async def finish(self, call: Callable[[], R]) -> R:
        """Runs a call in the writing thread that must run, also for a task that was cancelled."""
        return await self.loop.run(self._writer, Job(call), cancellable=False)

    async def settle(self, deliver: Callable[[], Awaitable[None]]) -> bool:
        """Waits until what was called before is done and delivered, and no task's transaction is open. Then nobody but
        a listener can write any more, and what was called meanwhile is done and delivered, too. False when the store
        is closed by then."""
        check_can_wait(self._writer, self._readers)
        await self._settle(deliver)
        self.closing += 1
        try:
            while not self.closed:
                await self._settle(deliver)
                if self._writer.is_idle():  # else a task that a listener began wrote meanwhile
                    break
        except BaseException:
            self.closing -= 1
            raise
        return not self.closed

    async def _settle(self, deliver: Callable[[], Awaitable[None]]) -> None:
        await self.finish(lambda: None)
        await deliver()
        if self._owner is not None:  # a transaction that began meanwhile
            await self._wait_in_line()

    def shut_down(self) -> None:
        """Ends the threads. Nothing may run in them any more."""
        self._writer.shutdown()

    def end_reads(self) -> None:
        """Ends the reading threads, once their calls are over."""
        self._readers.shutdown()

    def abandon(self, sessions: Sessions | None) -> None:
        """Ends the threads of a loop that is over, and closes the store; a transaction that was left open is undone."""
        self.closed = True
        self._readers.shutdown()
        closes = Job(partial(_undo_and_close, sessions))
        self._writer.submit(closes)
        self._writer.shutdown()
        closes.result()

    async def begin(self, block: AbstractContextManager[None]) -> None:
        """Enters a transaction, or a savepoint in the one that this task has open. Cancelled, it has not begun."""
        await self.my_turn()
        self._check_open(to_write=True)
        self._owner = self.loop.current_task()
        self._depth += 1
        begun = False

        def enter() -> None:
            nonlocal begun
            block.__enter__()
            begun = True

        try:
            await self.loop.run(self._writer, Job(enter))
        except BaseException as error:
            if begun:  # cancelled while it began
                await self.end(block, type(error), error, error.__traceback__)
            else:
                self._left()
            raise

    async def end(
        self,
        block: AbstractContextManager[None],
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        """Leaves what `begin` entered: commits, or rolls back after an error."""
        try:
            await self.finish(lambda: block.__exit__(kind, error, tb))
        finally:
            self._left()

    def _left(self) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._owner = None
            self._call_next()


def _undo_and_close(sessions: Sessions | None) -> None:
    if sessions is not None:
        sessions._store.end_all(0, StoreClosed("the event loop ended inside a transaction"))
        sessions.close()
