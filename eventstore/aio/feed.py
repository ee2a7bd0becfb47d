"""The change feed on an event loop: what the sync feed delivers in a thread is heard here, from one task at a time.

Events are gathered in the thread that writes or polls (see `gathering`), in the log's order, and delivered on the loop
by a task of their own, which nobody's cancellation breaks off. Who wrote waits until all is delivered, unless it is a
listener: then its event comes behind the one that it is hearing. So a listener may await a write.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from typing import Any

import attrs

from eventstore import feed
from eventstore.aio.loops import Loop, Signal, result_of
from eventstore.errors import InvalidArgument
from eventstore.events import Event
from eventstore.feed import own_copy
from eventstore.listeners import OrderedSignal, Subscription

logger = logging.getLogger("eventstore")

Receiver = Callable[..., Any]


class _Hearing:
    """One listener that hears one event of a feed. A task that it starts may outlive it."""

    def __init__(self, feed: AsyncFeed) -> None:
        self.feed = feed
        self.is_over = False


_hearing: contextvars.ContextVar[_Hearing | None] = contextvars.ContextVar("eventstore_hearing", default=None)
"""The listener inside which this runs, in its own task or in one that it started."""


@attrs.frozen
class _Replay:
    """A subscription that begins in the past: the log up to where the live events begin, and then those."""

    receiver: Receiver
    sender: object | None
    read: Callable[[int], AsyncIterator[Event]]
    is_closed: Callable[[], bool]


class AsyncFeed:
    """Delivers the events that `collect` is given to the receivers of `signal`. `read_log(after, upto)` gives those of
    the log with after < seq <= upto."""

    def __init__(self, sender: Callable[[str], object], read_log: Callable[[int, int], AsyncIterator[Event]]) -> None:
        self.signal = OrderedSignal()
        self.cursor = 0  # the last seq delivered
        self._sender = sender
        self._read_log = read_log
        self._loop: Loop | None = None
        self._queue: deque[Event | int | _Replay] = deque()  # an int: what the log holds up to it
        self._turn = threading.Lock()  # of those who put into the queue, and take from it
        self._joining = 0  # subscriptions that wait for their turn
        self._ends: Signal | None = None  # of the delivery that runs

    def open(self, loop: Loop, cursor: int) -> None:
        """Begins on a loop, at a place of the log."""
        self._loop = loop
        self.cursor = cursor

    def close(self) -> None:
        """Ends. What was not delivered isn't any more."""
        while (item := self._take()) is not None:
            self._joining -= isinstance(item, _Replay)
        self._loop = None

    def abandon(self) -> None:
        """As `close`, when the loop is over: what it was delivering won't go on."""
        self.close()
        self._ends = None

    def is_listening(self) -> bool:
        """Whether anybody would hear an event, or is about to."""
        return bool(self.signal.receivers or self._joining)

    def is_idle(self) -> bool:
        """Whether there is nothing to deliver."""
        return not self._queue and self._ends is None

    def collect(self, items: Iterable[Event | int], last: int) -> None:
        """Takes what was committed, or found in the log; an int: what that holds up to it, which is all up to `last`.
        Called in a thread.

        Where nobody listens, only the cursor moves: who subscribes meanwhile finds it behind all of it, or before it.
        """
        with self._turn:
            if self.is_listening() or self._queue or self._ends is not None:
                for item in items:
                    self._put(item)
                self._put(last)
            elif last > self.cursor:
                self.cursor = last

    def _put(self, item: Event | int) -> None:
        """Of more than a window only the number: what listeners are behind with is read when its turn comes."""
        queue = self._queue
        newest = queue[-1] if queue else None
        if isinstance(item, int):
            if isinstance(newest, int):
                queue[-1] = max(newest, item)
            elif not (isinstance(newest, Event) and newest.seq == item):
                queue.append(item)
        elif not item.seq:  # of an append that was repeated: it is in no log
            queue.append(item)
        elif isinstance(newest, int):
            queue[-1] = max(newest, item.seq)
        else:
            queue.append(item if len(queue) < feed.WINDOW_EVENTS else item.seq)

    def _take(self) -> Event | int | _Replay | None:
        with self._turn:
            return self._queue.popleft() if self._queue else None

    def is_delivering(self) -> bool:
        """Whether this runs inside a listener, which has not returned yet."""
        hearing = _hearing.get()
        return hearing is not None and hearing.feed is self and not hearing.is_over

    def wake(self) -> None:
        """Has what was gathered delivered."""
        if self._queue and self._ends is None and self._loop is not None:
            self._ends = ends = self._loop.signal()
            self._loop.spawn(lambda: self._drain(ends))

    async def delivered(self) -> None:
        """Waits until all that is gathered, and what listeners write at it, has reached all. Inside a listener it comes
        later."""
        self.wake()
        if self._ends is not None and not self.is_delivering():
            await self._ends.wait()

    def subscribe(
        self, listener: Receiver, sender: object | None, read: Callable[[int], AsyncIterator[Event]] | None
    ) -> Subscription:
        """Connects a listener to one sender's events or (`None`) to all: from now on, or after those that `read(upto)`
        gives."""
        if not callable(listener):
            raise InvalidArgument(f"a listener must be callable, not {type(listener).__name__}")
        closed = False

        def receiver(_sender: object, *, event: Event) -> object:
            return None if closed else listener(event)

        def close() -> None:
            nonlocal closed
            closed = True
            self.signal.disconnect(receiver)

        if read is None:
            self._connect(receiver, sender)
        else:
            self._joining += 1
            with self._turn:
                self._queue.append(_Replay(receiver, sender, read, lambda: closed))
            self.wake()
        return Subscription(close)

    def _connect(self, receiver: Receiver, sender: object | None) -> None:
        if sender is None:
            self.signal.connect(receiver, weak=False)
        else:
            self.signal.connect(receiver, sender=sender, weak=False)

    # ---- the delivering task

    async def _drain(self, ends: Signal) -> None:
        try:
            while (item := self._take()) is not None:
                if isinstance(item, _Replay):
                    await self._replay(item)
                elif isinstance(item, int):
                    if not await self._catch_up(item):
                        return
                elif not item.seq:  # of an append that was repeated
                    await self._dispatch(attrs.evolve(item, seq=self.cursor))
                elif item.seq > self.cursor:
                    if not await self._catch_up(item.seq - 1):  # what others wrote before it
                        with self._turn:
                            self._queue.insert(1, item)
                        return
                    self.cursor = item.seq
                    await self._dispatch(item)
        finally:
            if self._ends is ends:
                self._ends = None
            with suppress(RuntimeError):  # a loop that was closed in the midst of it has nobody who waits
                ends.set()

    async def _catch_up(self, upto: int) -> bool:
        """Delivers the log up to a seq; where nobody listens, passes it unread. False when it can't be read: then it is
        tried again when there is something new."""
        try:
            if upto > self.cursor and self.signal.receivers:
                async for event in self._read_log(self.cursor, upto):
                    self.cursor = event.seq
                    await self._dispatch(event)
            self.cursor = max(self.cursor, upto)
        except Exception:
            logger.exception("the log can't be read: listeners hear of it later")
            with self._turn:
                self._queue.appendleft(upto)
            return False
        return True

    async def _replay(self, joins: _Replay) -> None:
        try:
            async for event in joins.read(self.cursor):
                if joins.is_closed():
                    break
                await self._call(joins.receiver, self._sender(event.session_id), event)
        except Exception:
            logger.exception("a subscription ended: what it wanted to hear first can't be read")
            return
        finally:
            self._joining -= 1
        if not joins.is_closed():
            self._connect(joins.receiver, joins.sender)

    async def _dispatch(self, event: Event) -> None:
        if self.signal.is_muted:
            return
        sender = self._sender(event.session_id)
        receivers = list(self.signal.receivers_for(sender))
        for number, receiver in enumerate(receivers):
            await self._call(receiver, sender, own_copy(event) if number + 1 < len(receivers) else event)

    async def _call(self, receiver: Receiver, sender: object, event: Event) -> None:
        hearing = _Hearing(self)
        _hearing.set(hearing)
        try:
            await result_of(lambda: receiver(sender, event=event))
        except Exception:
            logger.exception("a listener raised at event %d (%s); the others still hear it", event.seq, event.type)
        except asyncio.CancelledError:
            if _is_ending():
                raise
            logger.exception("a listener was cancelled at event %d (%s)", event.seq, event.type)
        finally:
            hearing.is_over = True


def _is_ending() -> bool:
    """Whether the delivering task itself is cancelled, as its loop ends."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0
