"""Going on with what is written: listeners from a place of the log on, a thread that polls, an iterator over the log.

The last two look at the log's newest number every so often, which costs microseconds, and end with the store. A tail
reads the log itself: it moves no cursor but its own and touches no listener, so any number of them may run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from eventstore import log, replay
from eventstore.errors import EventStoreError, InvalidArgument, StoreBusy, StoreClosed
from eventstore.history import Read
from eventstore.listeners import Listener, Subscription
from eventstore.troubles import report

if TYPE_CHECKING:
    from eventstore.events import Event
    from eventstore.session import Session
    from eventstore.store import Store

_LONGEST = 1_000_000.0


def check_seconds(name: str, value: object, *, zero: bool = False) -> None:
    """Raises `InvalidArgument` unless `value` is a number of seconds above 0 (or, with `zero`, 0)."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 <= value <= _LONGEST or not (value or zero):  # type: ignore[operator]
        least = "0 or more" if zero else "above 0"
        raise InvalidArgument(f"{name} must be a number of seconds, {least}; not {value!r}")


def _read(read: Read, session: Session | None, after: int, upto: int) -> Iterator[Event]:
    """The events of a session or (`None`) of all with after < seq <= upto."""
    if session is None:
        return replay.read_store(read, after, upto)
    return replay.read_session(read, session.session_id, after, upto)


def events(store: Store, session: Session | None, after: int) -> Iterator[Event]:
    """The events that the log holds now with `seq` above `after`."""
    replay.check_cursor(after)
    read = store.lasting_read()
    with read() as connection:
        upto = log.latest_seq(connection)
    return _read(read, session, after, upto)


def subscribe(store: Store, session: Session | None, listener: Listener, after: int | None) -> Subscription:
    """Connects a listener, which is first given what the log holds above `after`. `None`: what is new only."""
    store.database.check_open()
    if after is None:
        return store.feed.subscribe(listener, session, None)
    replay.check_cursor(after)
    subscription = store.feed.subscribe(listener, session, lambda upto: _read(store.read, session, after, upto))
    store.compact_due()  # the listener may have appended
    return subscription


def tail(
    store: Store, session: Session | None, after: int | None, interval: float, timeout: float | None
) -> Iterator[Event]:
    """The events above `after`, and those that come. `None`: from the log's head at the call on."""
    if after is not None:
        replay.check_cursor(after)
    check_seconds("interval", interval)
    if timeout is not None:
        check_seconds("timeout", timeout, zero=True)
    head = store.committed_seq()
    return _tail(store, session, head if after is None else after, interval, timeout)


def _tail(store: Store, session: Session | None, after: int, interval: float, timeout: float | None) -> Iterator[Event]:
    idle_since = time.monotonic()
    while True:
        try:
            upto = store.committed_seq()
            if upto > after:
                for event in _read(store.read, session, after, upto):
                    yield event
                    after = event.seq
                    idle_since = time.monotonic()
                after = upto
        except StoreBusy:
            pass  # what was read is given out already; the next look goes on from there
        left = interval if timeout is None else min(interval, idle_since + timeout - time.monotonic())
        if left <= 0:
            return
        store.database.sleep(left)


class Watcher:
    """A thread that polls a store until it is closed, or the store is."""

    def __init__(self, store: Store, interval: float) -> None:
        self._store = store
        self._interval = interval
        self._stopped = threading.Event()
        self._failing = False
        self._thread = threading.Thread(target=self._run, name="eventstore watch", daemon=True)

    def start(self) -> Subscription:
        """Begins, and gives what ends it."""
        self._store.watchers.append(self)
        self._thread.start()
        return Subscription(self.close)

    def close(self) -> None:
        """Ends it. When this returns it delivers nothing more, unless the caller is what it waits for: a listener that
        it calls, or one that another delivery calls, or an open transaction."""
        self._stopped.set()
        if self in self._store.watchers:
            self._store.watchers.remove(self)
        waited_for = self._store.feed.is_delivering() or self._store.database.in_transaction()
        if not waited_for and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._interval):
            try:
                self._store.feed.poll()
                self._failing = False
            except StoreClosed:
                return
            except StoreBusy:
                continue  # somebody keeps it: the next look finds what this one missed
            except EventStoreError as error:
                self._report(error)

    def _report(self, error: EventStoreError) -> None:
        """Says what is wrong once, not at every look."""
        if not self._failing:
            report("watch() can't read the store, and goes on trying: %s", error)
        self._failing = True
