"""The change feed on an event loop: what the sync feed delivers in a thread is heard here, from one task at a time.

Events are gathered in the thread that writes or polls, in the log's order, and delivered on the loop by a task of their
own, which nobody's cancellation breaks off. Who wrote waits until all is delivered, unless it is a listener: then its
event comes behind the one that it is hearing. So a listener may await a write.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any

import attrs

from eventstore.aio.loops import Loop, Signal, result_of
from eventstore.errors import InvalidArgument
from eventstore.events import Appended, Event
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
    """Delivers the events that `collect` is given to the receivers of `signal`."""

    def __init__(self, sender: Callable[[str], object]) -> None:
        self.signal = OrderedSignal()
        self.cursor = 0  # the last seq delivered
        self._sender = sender
        self._loop: Loop | None = None
        self._queue: deque[Event | _Replay] = deque()
        self._ends: Signal | None = None  # of the delivery that runs

    def open(self, loop: Loop, cursor: int) -> None:
        """Begins on a loop, at a place of the log."""
        self._loop = loop
        self.cursor = cursor

    def close(self) -> None:
        """Ends. What was not delivered isn't any more."""
        self._queue.clear()
        self._loop = None

    def collect(self, event: Event) -> None:
        """Takes an event: the sync feed's listener, called in a thread."""
        self._queue.append(event)

    def is_delivering(self) -> bool:
        """Whether this runs inside a listener, which has not returned yet."""
        hearing = _hearing.get()
        return hearing is not None and hearing.feed is self and not hearing.is_over

    def wake(self) -> None:
        """Has what was gathered delivered."""
        if self._queue and self._ends is None and self._loop is not None:
            self._ends = self._loop.signal()
            self._loop.spawn(self._drain)

    async def delivered(self) -> None:
        """Waits until all that is gathered, and what listeners write at it, has reached all. Inside a listener it comes
        later."""
        if self._ends is None and not self.signal.receivers and not any(isinstance(e, _Replay) for e in self._queue):
            self._pass_over()
        self.wake()
        if self._ends is not None and not self.is_delivering():
            await self._ends.wait()

    def _pass_over(self) -> None:
        """Nobody listens."""
        while self._queue:
            event = self._queue.popleft()
            if isinstance(event, Event):
                self.cursor = max(self.cursor, event.seq)

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
            self._queue.append(_Replay(receiver, sender, read, lambda: closed))
            self.wake()
        return Subscription(close)

    def _connect(self, receiver: Receiver, sender: object | None) -> None:
        if sender is None:
            self.signal.connect(receiver, weak=False)
        else:
            self.signal.connect(receiver, sender=sender, weak=False)

    # ---- the delivering task

    async def _drain(self) -> None:
        try:
            while self._queue:
                item = self._queue.popleft()
                if isinstance(item, _Replay):
                    await self._replay(item)
                else:
                    await self._dispatch(item)
        finally:
            ends, self._ends = self._ends, None
            if ends is not None:
                ends.set()

    async def _replay(self, replay: _Replay) -> None:
        try:
            async for event in replay.read(self.cursor):
                await self._call(replay.receiver, self._sender(event.session_id), event)
        except Exception:
            logger.exception("a subscription ended: what it wanted to hear first can't be read")
            return
        if not replay.is_closed():
            self._connect(replay.receiver, replay.sender)

    async def _dispatch(self, event: Event) -> None:
        if not (isinstance(event, Appended) and not event.inserted):
            self.cursor = event.seq
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
