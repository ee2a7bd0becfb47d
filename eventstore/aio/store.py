"""What the parts of one store on an event loop share: the sync store, the threads that call it, the feed.

`AsyncSessions` is its face. Every call of the sync store goes through `run_read` or `run_write`; behind each that may
have made events comes their delivery.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from itertools import takewhile
from typing import Any, TypeVar

from eventstore import replay
from eventstore.aio.calls import Calls
from eventstore.aio.feed import AsyncFeed, Receiver
from eventstore.aio.gathering import Gathering
from eventstore.aio.iterators import Tail, Windowed, windows
from eventstore.aio.loops import Signal, current_loop
from eventstore.aio.telling import on_loop
from eventstore.errors import EventStoreError, StoreBusy, StoreClosed, StoreForked
from eventstore.events import Event
from eventstore.listeners import Subscription
from eventstore.session import Session
from eventstore.sessions import Sessions
from eventstore.store import Store
from eventstore.types import Progress, check_progress

logger = logging.getLogger("eventstore")

R = TypeVar("R")


class AsyncStore:
    """One store, open or not. `make` opens the sync one."""

    def __init__(
        self, name: str, make: Callable[[], Sessions], sender: Callable[[str], Any], *, in_memory: bool, groups: bool
    ) -> None:
        self.name = name
        self.feed = AsyncFeed(sender, self._log)
        self._make = make
        self._in_memory = in_memory
        self._groups = groups
        self._calls: Calls | None = None
        self._sessions: Sessions | None = None
        self._closing: Signal | None = None
        self._opening: Signal | None = None  # while a task opens it
        self._shared: Store | None = None  # whose transactions small writes may share
        self.compacting: set[str] = set()  # the sessions that are compacted when they have grown enough
        self._grown: dict[str, None] = {}  # those of them that have new messages, until somebody sees to it
        self._left: dict[str, None] = {}  # those of them that nobody else will see to
        self._growing: Counter[str] = Counter()  # the writes under way that will see to what they make grow
        self.due_hook: Callable[[str], Awaitable[None]] | None = None  # compacts one of them, if it is due

    # ---- open and closed

    @property
    def calls(self) -> Calls:
        """The threads. Raises `StoreClosed` while it isn't open on the loop that runs here, and `StoreForked` in a
        forked child."""
        calls, sessions = self._calls, self._sessions
        if calls is None or sessions is None or self._opening is not None:  # or nobody would hear yet what it writes
            raise StoreClosed(f"{self.name} isn't open: use `async with`, or await open()")
        sessions._store.database.check_open()  # in a forked child there is no thread that would answer
        if not calls.loop.is_current():
            raise self._elsewhere()
        return calls

    def _elsewhere(self) -> StoreClosed:
        return StoreClosed(f"{self.name} is open on another event loop: close it there, or open one store per loop")

    @property
    def sessions(self) -> Sessions:
        """The sync store. Raises `StoreClosed` while it isn't open."""
        if self._sessions is None:
            raise StoreClosed(f"{self.name} isn't open: use `async with`, or await open()")
        return self._sessions

    async def open(self) -> None:
        """Opens it on the loop that runs; open already, does nothing. Left open by a loop that is over, it is closed
        first."""
        while self._calls is not None and not self._abandoned():
            if self._opening is None:
                self.calls  # noqa: B018 - in a forked child, and on another loop, it is refused
                return
            if not self._calls.loop.is_current():
                raise self._elsewhere()
            await self._opening.wait()
        loop = current_loop()
        self._calls = calls = Calls(loop, self.feed.is_delivering, in_memory=self._in_memory)
        self._closing = loop.signal()
        self._opening = opening = loop.signal()
        try:
            await calls.write(self._open)
            self.feed.open(loop, self.sessions.latest_seq)
        except BaseException:  # refused, or cancelled while it was opened
            await self.close()
            raise
        finally:
            self._opening = None
            opening.set()

    def _open(self) -> None:
        self._sessions = sessions = self._make()
        store = sessions._store
        store.feed = Gathering(store, self.feed, sessions.session)
        store.compacting = self.compacting
        store.due_hook = self._grown.setdefault
        self._shared = store if self._groups else None

    async def close(self) -> None:
        """Closes it and ends its threads. Inside a transaction of this task it is refused, as by the sync store. In a
        forked child it does nothing."""
        calls, sessions, closing = self._calls, self._sessions, self._closing
        if calls is None or closing is None or self._is_forked() or self._abandoned():
            return
        if not calls.loop.is_current():
            raise self._elsewhere()
        await calls.my_turn()
        if sessions is not None and calls.in_transaction():
            await calls.finish(sessions.close)
        if not await calls.settle(self.feed.delivered):  # what was cancelled as it was written is heard all the same
            return
        self._calls = self._sessions = self._shared = None
        self.feed.close()  # before another task may open it again
        calls.closed = True
        closing.set()
        try:
            await calls.finish(calls.end_reads)
        finally:
            try:
                if sessions is not None:
                    await calls.finish(sessions.close)
            finally:
                calls.shut_down()

    def _is_forked(self) -> bool:
        """Whether this process is a child of the one that has it open."""
        try:
            if self._sessions is not None:
                self._sessions._store.database.check_open()
        except StoreForked:
            return True
        except StoreClosed:
            pass
        return False

    def _abandoned(self) -> bool:
        """Closes it if its loop has ended without doing so: nobody else can use it any more."""
        calls, sessions = self._calls, self._sessions
        if calls is None or self._is_forked() or not calls.loop.is_over():
            return False
        self._calls = self._sessions = self._shared = None
        self.feed.abandon()
        calls.abandon(sessions)
        return True

    # ---- calls

    def readable(self, session_id: str) -> Session:
        """The sync session."""
        return self.sessions.session(session_id)

    async def run_read(self, call: Callable[[], R]) -> R:
        """Runs a call that reads."""
        return await self.calls.read(call)

    def run_write(
        self, call: Callable[[], R], *, grows: str | None = None, may_share: bool = False, compacts: bool = True
    ) -> Coroutine[Any, Any, R]:
        """Runs a call that writes, and delivers what it emitted. Cancelled, it leaves the delivery to go on.

        Then it compacts what has grown enough: only the session `grows`, if the call makes only that one longer; no one
        if it is what a compaction writes. `may_share`: it is one transaction, and can be made again where that fails.
        """
        if grows is None or grows not in self.compacting:
            return self._write(call, grows, may_share, compacts)
        return self._write_and_compact(call, grows, may_share, compacts)

    async def _write_and_compact(self, call: Callable[[], R], grows: str, may_share: bool, compacts: bool) -> R:
        self._growing[grows] += 1
        try:
            return await self._write(call, grows, may_share, compacts)
        finally:
            self._growing[grows] -= 1

    async def _write(self, call: Callable[[], R], grows: str | None, may_share: bool, compacts: bool) -> R:
        calls = self.calls
        try:
            result: R = await calls.write(call, self._shared if may_share else None)
        except Exception:  # an import may have committed something before it was refused
            if not calls.in_transaction():
                await self.feed.delivered()
            raise
        except BaseException:  # cancelled
            self.feed.wake()
            raise
        if not self.feed.is_idle() and not calls.in_transaction():
            await self.feed.delivered()
        if (self._grown or self._left) and compacts:
            await self.compact_due(grows)
        return result

    async def compact_due(self, grew: str | None = None) -> None:
        """Compacts `grew`, where it did (`None`: all that did and no other task sees to), and what grew in listeners.

        Inside a listener or a transaction nothing: the outer write goes on to it. Nor while the store closes."""
        if self._calls is None or self._calls.closing or self._calls.in_transaction():
            return
        for name in list(self._grown):
            if name == grew or (grew is None and not self._growing[name]):
                self._left[name] = self._grown.pop(name)
        while self._left and not self.feed.is_delivering() and self._calls is not None:
            name = next(iter(self._left))
            del self._left[name]
            if self.due_hook is not None:
                await self.due_hook(name)

    async def run_poll(self) -> int:
        """Polls, and delivers what was found."""
        calls = self.calls
        try:
            found: int = await calls.read(lambda: self.sessions.poll())
        finally:
            self.feed.wake()  # a poll that was cancelled has found something all the same
        if not calls.in_transaction():
            await self.feed.delivered()
        return found

    async def run_copy(self, target: AsyncStore, call: Callable[[], R]) -> R:
        """Runs a call that reads here and writes into another store. This one's transaction is seen by its own thread
        only."""
        if target is self or self.calls.in_transaction():
            await target.calls.my_turn()
            result = await self.run_write(call)
            await target.feed.delivered()
            return result
        await self.calls.my_turn()
        return await target.run_write(call)

    def on_loop(self, progress: Progress | None) -> Progress | None:
        """A hook, to be called from a thread and run on the loop. Raises `InvalidArgument` for what is none."""
        check_progress(progress, allow_async=True)
        return None if progress is None else on_loop(self.calls.loop, progress)

    # ---- the feed

    def _log(self, after: int, upto: int) -> AsyncIterator[Event]:
        return self._read_upto(lambda: self.sessions.events(after), upto)

    def _read_upto(self, events: Callable[[], Iterator[Event]], upto: int) -> AsyncIterator[Event]:
        return Windowed(self.run_read, lambda: windows(takewhile(lambda event: event.seq <= upto, events())))

    def subscribe(
        self, listener: Receiver, sender: object | None, after: int | None, events: Callable[[int], Iterator[Event]]
    ) -> Subscription:
        """Connects a listener; `events(after)` reads the log for one that begins in the past."""
        if after is None:
            return self.feed.subscribe(listener, sender, None)
        replay.check_cursor(after)
        self.calls  # noqa: B018 - the log can be read while it is open only
        return self.feed.subscribe(listener, sender, lambda upto: self._read_upto(lambda: events(after), upto))

    def tail(
        self, look: Callable[[int], Iterator[Event]], after: int | None, interval: float, timeout: float | None
    ) -> Tail:
        """The iterator behind `tail()`. Left out, the cursor is the last event that listeners were told of."""
        if after is not None:
            replay.check_cursor(after)
        loop, closing = self.calls.loop, self._closing
        assert closing is not None
        begin = self.feed.cursor if after is None else after
        return Tail(self.run_read, look, begin, interval, timeout, (loop, closing))

    def watch(self, interval: float) -> Subscription:
        """Polls every `interval` seconds in a task of its own."""
        loop = self.calls.loop
        stop = loop.signal()
        closing = self._closing

        async def run() -> None:
            failing = False
            while self._closing is closing and not await loop.wait(stop, interval):
                try:
                    await self.run_poll()
                    failing = False
                except StoreClosed:
                    return
                except StoreBusy:
                    continue
                except EventStoreError:
                    if not failing:
                        logger.exception("watch() can't read the store, and goes on trying")
                    failing = True

        loop.spawn(run)
        return Subscription(stop.set)
