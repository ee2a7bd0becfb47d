"""The change feed inside a process: every listener hears every event once, in the log's order, after it is durable.

What is committed is queued under the write lock, so in the log's order, and delivered when that lock is free, by one
thread at a time. A listener that writes finds its event behind the one it is hearing; one that raises is logged, and
the others still hear. Before a store's own event goes what other processes have written since: the log is the feed.

Delivery isn't the `send` of blinker's signal, which stops at the first listener that raises and has no order.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import attrs

from eventstore import codec
from eventstore.listeners import Joining, Listener, OrderedSignal, Subscription, check_listener
from eventstore.troubles import report

if TYPE_CHECKING:
    from eventstore.events import Event


INTERVAL = 0.05  # seconds between two looks at the log for what others wrote, unless the caller says otherwise
WINDOW_EVENTS = 256  # read at once, and as many of a transaction wait as they were made


class Feed:
    """Delivers a store's events to the receivers of `signal`.

    `read_log(after, upto)` gives the first events of the log with after < seq <= upto, `latest()` the newest committed
    seq, `sender(session_id)` the object that receivers are called with, and `in_transaction()` tells whether this
    thread keeps other threads from writing.
    """

    def __init__(
        self,
        read_log: Callable[[int, int], list[Event]],
        latest: Callable[[], int],
        sender: Callable[[str], object],
        in_transaction: Callable[[], bool],
    ) -> None:
        self.signal = OrderedSignal()
        self.cursor = latest()  # the last seq delivered, or passed while nobody listened
        self._read_log = read_log
        self._latest = latest
        self._sender = sender
        self._in_transaction = in_transaction
        self._queue: deque[Event | int | Joining] = deque()  # an int: what the log holds up to it
        self._delivery = threading.RLock()
        self._deliverer: int | None = None  # the thread that is delivering
        self._joining: set[Joining] = set()

    def is_listening(self) -> bool:
        """Whether anybody would hear an event, or is about to."""
        return bool(self.signal.receivers or self._joining)

    def is_delivering(self) -> bool:
        """Whether this thread is inside a listener."""
        return self._deliverer == threading.get_ident()

    def committed(self, events: Iterable[Event | int], last: int) -> None:
        """Queues what a write committed, up to seq `last`. Called under the write lock, after the commit.

        A commit that finds nobody listening came before any subscription, whose look at the log's head then sees it.
        """
        if self.signal.receivers or self._joining or self._queue or self._deliverer is not None:
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

    @contextmanager
    def _taking(self) -> Iterator[bool]:
        """Holds the delivery lock for a block, and gives whether it does: a thread with an open transaction doesn't
        wait for it, since a listener that another thread calls may be waiting to write."""
        try:
            yield self._delivery.acquire(blocking=not self._in_transaction())
        finally:
            with suppress(RuntimeError):  # it isn't this thread's: another one delivers, or an interrupt came first
                self._delivery.release()

    def subscribe(
        self, listener: Listener, sender: object | None, replay: Callable[[int], Iterable[Event]] | None
    ) -> Subscription:
        """Connects a listener to one sender's events or (`None`) to all: from the log's head on, or first with the
        events that `replay(upto)` gives, up to where the live ones begin.

        Inside a transaction, while another thread delivers, it begins behind what that one delivers: at the latest when
        the transaction is committed, and before any event of it.
        """
        check_listener(listener)
        joining = Joining(listener, sender, replay)
        self._joining.add(joining)  # from now on events are queued
        try:
            if self.is_delivering():
                self._join(joining)
                return Subscription(lambda: self._leave(joining))
            with self._taking() as free:
                if free:
                    self._drain()
                    self._catch_up_to_latest()
                    self._claimed(lambda: self._join(joining))
                else:
                    self._queue.append(joining)
        except BaseException:
            self._leave(joining)
            raise
        return Subscription(lambda: self._leave(joining))

    def _join(self, joining: Joining) -> None:
        if joining.replay is not None:
            for event in joining.replay(self.cursor):
                if joining.closed:
                    break
                if event.seq > joining.told:
                    joining.told = event.seq
                    self._call(joining.receiver, self._sender(event.session_id), event)
        if joining in self._joining:  # it wasn't closed meanwhile
            if joining.sender is None:
                self.signal.connect(joining.receiver, weak=False)
            else:
                self.signal.connect(joining.receiver, sender=joining.sender, weak=False)
            self._joining.discard(joining)

    def _leave(self, joining: Joining) -> None:
        joining.closed = True
        self._joining.discard(joining)
        self.signal.disconnect(joining.receiver)

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
                if isinstance(item, Joining):
                    self._join_later(item)
                elif isinstance(item, int):
                    delivered += self._catch_up(item)
                elif not item.seq:  # of an append that was repeated: it is in no log
                    self._dispatch(attrs.evolve(item, seq=self.cursor))
                    delivered += 1
                elif item.seq > self.cursor:
                    delivered += self._catch_up(item.seq - 1) + 1
                    self._dispatch(item)
        finally:
            self._deliverer = None
        return delivered

    def _join_later(self, joining: Joining) -> None:
        """Lets in who couldn't wait. An interrupt leaves it in the queue, and who is told so far isn't told again."""
        try:
            self._join(joining)
        except Exception:  # noqa: BLE001 - it is reported
            self._leave(joining)
            report("a subscription ended: what it wanted to hear first can't be read", exception=True)
        except BaseException:
            self._queue.appendleft(joining)
            raise

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


def own_copy(event: Event) -> Event:
    """An equal event that shares nothing mutable with `event`."""
    from eventstore.events import Appended, Imported, MetadataChanged, Updated

    if isinstance(event, (Appended, Updated, Imported)):
        return attrs.evolve(event, message=codec.encode(event.message).value)
    if isinstance(event, MetadataChanged):
        return attrs.evolve(event, metadata=codec.encode(event.metadata).value)
    return event
