"""The change feed inside a process: every listener hears every event once, in the log's order, after it is durable.

What is committed is queued under the write lock, so in the log's order, and delivered when that lock is free, by one
thread at a time. A listener that writes finds its event behind the one it is hearing; one that raises is logged, and
the others still hear. Before a store's own event goes what other processes have written since: the log is the feed.

The registry is blinker's signal, for its senders and its users; delivery isn't its `send`, which stops at the first
listener that raises and has no order.
"""

from __future__ import annotations

import inspect
import threading
from collections import deque
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Self

import attrs
from blinker import Signal

from eventstore import codec
from eventstore.errors import InvalidArgument
from eventstore.events import Appended, Event, Imported, MetadataChanged, Updated
from eventstore.troubles import report

Listener = Callable[[Event], object]


class OrderedSet(dict[Any, None]):
    """What blinker keeps the receivers of a sender in: in the order of their coming."""

    def add(self, item: Any) -> None:
        """Adds, keeping an older place."""
        self.setdefault(item)

    def discard(self, item: Any) -> None:
        """Removes, if it is there."""
        self.pop(item, None)

    def remove(self, item: Any) -> None:
        """Removes."""
        del self[item]

    def copy(self) -> OrderedSet:
        """A copy in the same order."""
        return OrderedSet(self)

    def update(self, items: Iterable[Any]) -> None:  # type: ignore[override]
        """Adds each."""
        for item in items:
            self.add(item)


class OrderedSignal(Signal):
    """A signal that keeps an order: those connected to all senders first, each lot in the order of its connecting."""

    set_class = OrderedSet  # type: ignore[assignment]


class Subscription:
    """What undoes a subscription: call it, `close()` it, or leave its `with`. Doing it twice is no error."""

    def __init__(self, close: Callable[[], object]) -> None:
        self._close: Callable[[], object] | None = close

    def close(self) -> None:
        """Ends the subscription. No event comes after it."""
        close, self._close = self._close, None
        if close is not None:
            close()

    def __call__(self) -> None:
        """As `close()`."""
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


class Feed:
    """Delivers a store's events to the receivers of `signal`.

    `read_log(after, upto)` gives the first events of the log with after < seq <= upto, `latest()` the newest committed
    seq, and `sender(session_id)` the object that receivers are called with.
    """

    def __init__(
        self,
        read_log: Callable[[int, int], list[Event]],
        latest: Callable[[], int],
        sender: Callable[[str], object],
    ) -> None:
        self.signal = OrderedSignal()
        self.cursor = latest()  # the last seq delivered, or passed while nobody listened
        self._read_log = read_log
        self._latest = latest
        self._sender = sender
        self._queue: deque[Event | int] = deque()  # an int: what the log holds up to it
        self._delivery = threading.Lock()
        self._deliverer: int | None = None  # the thread that is delivering
        self._subscribing = 0

    def is_listening(self) -> bool:
        """Whether anybody would hear an event, or is about to."""
        return bool(self.signal.receivers) or self._subscribing > 0

    def is_delivering(self) -> bool:
        """Whether this thread is inside a listener."""
        return self._deliverer == threading.get_ident()

    def committed(self, events: Iterable[Event | int], last: int) -> None:
        """Queues what a write committed, up to seq `last`. Called under the write lock, after the commit.

        A commit that finds nobody listening came before any subscription, whose look at the log's head then sees it.
        """
        if self.is_listening() or self._queue or self._deliverer is not None:
            self._queue.extend(events)
            self._queue.append(last)
        elif last > self.cursor:
            self.cursor = last

    def deliver(self) -> None:
        """Delivers what is queued. Inside a listener nothing: the outer delivery goes on to it."""
        if (self._queue or self._deliverer is not None) and not self.is_delivering():
            with self._delivery:
                self._drain()

    def poll(self) -> int:
        """Delivers what the log holds beyond the cursor, whoever wrote it, and returns how many events."""
        if self.is_delivering():
            return 0
        with self._delivery:
            return self._drain() + self._catch_up_to_latest()

    def subscribe(
        self, listener: Listener, sender: object | None, replay: Callable[[int], Iterable[Event]] | None
    ) -> Subscription:
        """Connects a listener to one sender's events or (`None`) to all: from the log's head on, or first with the
        events that `replay(upto)` gives, up to where the live ones begin."""

        check_listener(listener)
        closed = False

        def receiver(_sender: object, *, event: Event) -> None:
            if not closed:  # also when it was closed by a listener that heard this event before
                listener(event)

        def close() -> None:
            nonlocal closed
            closed = True
            self.signal.disconnect(receiver)

        self._subscribing += 1
        try:
            if self.is_delivering():
                self._connect(receiver, sender, replay)
            else:
                with self._delivery:
                    self._drain()
                    self._catch_up_to_latest()
                    self._claimed(lambda: self._connect(receiver, sender, replay))
        finally:
            self._subscribing -= 1
        return Subscription(close)

    def _connect(
        self, receiver: Callable[..., object], sender: object | None, replay: Callable[[int], Iterable[Event]] | None
    ) -> None:
        if replay is not None:
            for event in replay(self.cursor):
                self._call(receiver, self._sender(event.session_id), event)
        if sender is None:
            self.signal.connect(receiver, weak=False)
        else:
            self.signal.connect(receiver, sender=sender, weak=False)

    # ---- with the delivery lock held

    def _claimed(self, work: Callable[[], object]) -> None:
        """Runs `work` as the delivering thread, then delivers what it queued."""
        try:
            self._deliverer = threading.get_ident()
            work()
        finally:
            self._deliverer = None
        self._drain()

    def _drain(self) -> int:
        delivered = 0
        try:
            self._deliverer = threading.get_ident()
            while self._queue:
                item = self._queue.popleft()
                if isinstance(item, int):
                    delivered += self._catch_up(item)
                elif isinstance(item, Appended) and not item.inserted:
                    self._dispatch(attrs.evolve(item, seq=self.cursor))
                    delivered += 1
                elif item.seq > self.cursor:
                    delivered += self._catch_up(item.seq - 1) + 1
                    self._dispatch(item)
        finally:
            self._deliverer = None
        return delivered

    def _catch_up_to_latest(self) -> int:
        self._queue.append(self._latest())
        return self._drain()

    def _catch_up(self, upto: int) -> int:
        """Delivers the log up to a seq; where nobody listens, passes it unread."""
        delivered = 0
        while self.cursor < upto:
            if not self.signal.receivers:
                self.cursor = upto
                break
            events = self._read_log(self.cursor, upto)
            if not events:
                break
            for event in events:
                self._dispatch(event)
                delivered += 1
        return delivered

    def _dispatch(self, event: Event) -> None:
        """Moves the cursor and calls every receiver, each with an event of its own, so that none can spoil another's.

        An interrupt (Ctrl-C) inside one goes on to whoever wrote or polled, once the others have heard the event.
        """
        sender = self._sender(event.session_id)
        waiting = [] if self.signal.is_muted else list(self.signal.receivers_for(sender))[::-1]
        try:
            self.cursor = event.seq
            self._call_all(waiting, sender, event)
        finally:
            self._call_all(waiting, sender, event)

    def _call_all(self, waiting: list[Callable[..., object]], sender: object, event: Event) -> None:
        """Calls and removes those that wait, the last first."""
        while waiting:
            receiver = waiting[-1]
            mine = own_copy(event) if len(waiting) > 1 else event
            del waiting[-1]
            self._call(receiver, sender, mine)

    def _call(self, receiver: Callable[..., object], sender: object, event: Event) -> None:
        try:
            receiver(sender, event=event)
        except Exception:  # noqa: BLE001 - it is reported
            told = "a listener raised at event %d (%s); the others still hear it"
            report(told, event.seq, event.type, exception=True)


def check_listener(listener: object) -> None:
    """Raises `InvalidArgument` for what can't be called as a listener, or would only make a coroutine."""
    if not callable(listener):
        raise InvalidArgument(f"a listener must be callable, not {type(listener).__name__}")
    if inspect.iscoroutinefunction(listener):
        raise InvalidArgument("a listener must be a plain function: nobody would await a coroutine function here")


def own_copy(event: Event) -> Event:
    """An equal event that shares nothing mutable with `event`."""
    if isinstance(event, (Appended, Updated, Imported)):
        return attrs.evolve(event, message=codec.encode(event.message).value)
    if isinstance(event, MetadataChanged):
        return attrs.evolve(event, metadata=codec.encode(event.metadata).value)
    return event
