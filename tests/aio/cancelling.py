"""Calls of the async store that are cancelled at any moment, and what must hold then: the engine of test and soak.

A write is in the log whole or not at all, and its events have been heard if it is; a read has changed nothing, and one
that is asked again goes on. Either way the connection is idle: another process can write at once, and the WAL can be
emptied, which any open read would keep. At the end no thread and no file handle is left.
"""

from __future__ import annotations

import gc
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any

from eventstore import AsyncSessions, Event, Sessions
from tests.aio.face import Faced, Portal
from tests.aio.kit import Kit
from tests.laws.support import reads
from tests.laws.verbs import VERBS, Verb, message, prepare
from tests.processes.running import Script, hear, running, say

SHORTEST, FIRST, LONGEST = 0.0001, 0.0005, 0.05  # seconds that a call is given at most, before it is cancelled

WRITES_AT_ONCE = """
import apsw
connection = apsw.Connection(sys.argv[1])  # no busy timeout: it waits for nobody
print("ready")
for line in sys.stdin:
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("COMMIT")
        busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        print("a reader is left" if busy else "yes")
    except apsw.BusyError as error:
        print(error)
"""


class Stopped(Exception):
    """The call was cancelled."""


class CancellingPortal(Portal):
    """A loop in a thread whose calls can be cancelled: all that are made within so many seconds from `arm` on."""

    def __init__(self, loop: str) -> None:
        self._kit = Kit(loop)
        self._until: float | None = None
        super().__init__(loop)

    @contextmanager
    def armed(self, seconds: float) -> Iterator[None]:
        """Inside, the call that runs when the time is over raises `Stopped`."""
        self._until = time.monotonic() + seconds
        try:
            yield
        finally:
            self._until = None

    def call(self, function: Callable[[], Any]) -> Any:
        until, given = self._until, []
        if until is None:
            return super().call(function)

        async def run() -> None:
            result = function()
            given.append(await result if hasattr(result, "__await__") else result)

        left = max(0.0, until - time.monotonic())
        stopped = super().call(lambda: self._kit.cancelled_after(left, run))
        if stopped or not given:
            raise Stopped
        return given[0]


def _some_events(store: Any) -> list[Event]:
    tail = store.session("main").tail(after=0, interval=0.0005)
    return list(islice(tail, 6))


def _past(store: Any) -> Any:
    with store.at(4) as view:
        return view.session("main").get_history()


READS: dict[str, Callable[[Any], Any]] = {
    "history": lambda store: list(store.session("main").history()),
    "get_history": lambda store: store.session("main").get_history(),
    "recent": lambda store: store.session("main").get_recent_history().messages,
    "tree": lambda store: list(store.session("main").tree()),
    "events": lambda store: list(store.events()),
    "tail": _some_events,
    "list": lambda store: list(store.list_sessions()),
    "search": lambda store: store.search("hello"),
    "at": _past,
    "verify": lambda store: store.verify().ok,
    "poll": lambda store: store.poll() >= 0,
}
"""Calls that write nothing. (`search` may make the index.)"""

LONG = 300  # messages, which are several windows of every iterator
MOST_STOPS = 5  # on the way to the end of one

ITERATORS: dict[str, Callable[[Any], Iterator[Any]]] = {
    "steps of history": lambda store: store.session("long").history(),
    "steps of history, newest first": lambda store: store.session("long").history(newest_first=True),
    "steps of batches": lambda store: store.session("long").history_batches(batch_size=40),
    "steps of tree": lambda store: store.session("long").tree(),
    "steps of events": lambda store: store.events(),
    "steps of tail": lambda store: store.tail(after=0, interval=0.0005, timeout=0.01),
    "steps of list_sessions": lambda store: store.list_sessions(),
}
"""Iterators whose steps are cancelled one after the other: what they give in all is what is there."""


class Cancelling:
    """One store on a file, on one kind of loop, whose calls are cancelled; and another store, which knows the truth."""

    def __init__(self, path: Path, loop: str, seed: int, other: Script) -> None:
        self._other = other
        self._dice = random.Random(seed)
        self._patience = FIRST
        self.counted: Counter[str] = Counter()
        self._before = leftovers()
        self.truth = Sessions(path, durability="normal")
        self.portal = CancellingPortal(loop)
        self.store: Any = Faced(self.portal, AsyncSessions(path, durability="normal"))
        self.portal.call(self.store._inner.open)
        self.heard: list[Event] = []
        self.store.subscribe(self.heard.append)

    def close(self) -> None:
        """Closes, and looks for what is left."""
        self.store.close()
        self.portal.close()
        self.truth.close()
        after = leftovers()
        assert all(now <= then for now, then in zip(after, self._before, strict=True)), (self._before, after)

    def moment(self) -> float:
        """When the next call is cancelled, in seconds: any time, of about as long as it takes."""
        return self._dice.random() * self._patience

    def count(self, what: str, *, whole: bool) -> None:
        """Notes what came of a call; half of them are to end before they are cancelled."""
        self.counted[what] += 1
        self._patience = min(LONGEST, max(SHORTEST, self._patience * (0.8 if whole else 1.25)))

    def often(self, name: str, times: int) -> None:
        """Cancels a verb of the table, a read, or who goes through an iterator, so many times."""
        for _ in range(times):
            if name in VERBS:
                self.write(VERBS[name])
            elif name in READS:
                self.read(READS[name])
            else:
                self.step(ITERATORS[name])

    def write(self, verb: Verb) -> None:
        """Prepares a session, and performs a verb until it is cancelled."""
        for info in list(self.truth.list_sessions()):
            self.truth.delete_session(info.session_id)
        prepare(self.truth.session("main"))
        self.store.poll()
        before, head = reads(self.truth), self.truth.latest_seq
        del self.heard[:]
        with suppress(Stopped), self.portal.armed(self.moment()):
            verb.perform(self.store.session("main"))
        self.look_for_others()
        self.store.poll()  # what was committed is delivered by now
        written = tuple(event.type for event in self.truth.events(head))
        assert written in ((), verb.events), f"half of {verb.events}: {written}"
        assert [event.type for event in self.heard] == list(written)
        assert written or reads(self.truth) == before
        self.count("whole" if written else "not at all", whole=bool(written))

    def read(self, call: Callable[[Any], Any]) -> None:
        """Reads until it is cancelled, and then once more."""
        expected = call(self.truth)
        try:
            with self.portal.armed(self.moment()):
                assert call(self.store) == expected
            self.count("whole", whole=True)
        except Stopped:
            self.count("cancelled", whole=False)
        self.look_for_others()
        assert call(self.store) == expected

    def step(self, make: Callable[[Any], Iterator[Any]]) -> None:
        """Goes through an iterator, cancelled at any moment, and then on with it, to its end."""
        if self.truth.session("long").get_latest_leaf() is None:
            self.truth.session("long").append_messages([message(f"m{number}") for number in range(LONG)])
        iterator: Any = make(self.store)
        given: list[Any] = []

        async def go_on() -> None:
            async for each in iterator._inner:
                given.append(each)

        for _ in range(MOST_STOPS):
            try:
                with self.portal.armed(self.moment()):
                    self.portal.call(go_on)
                self.count("whole", whole=True)
                break
            except Stopped:
                self.count("cancelled", whole=False)
                self.look_for_others()
        else:
            self.portal.call(go_on)
        assert given == list(make(self.truth))

    def look_for_others(self) -> None:
        """Whether another process can write now."""
        say(self._other)
        answer = hear(self._other)
        assert answer == "yes", answer


def leftovers() -> tuple[int, int]:
    """(threads, file handles) of this process."""
    gc.collect()
    return threading.active_count(), len(os.listdir("/proc/self/fd"))


@contextmanager
def cancelling(path: Path, loop: str, seed: int = 0) -> Iterator[Cancelling]:
    """A store whose calls are cancelled, beside a process that writes. What is left at the end is an error."""
    with running(WRITES_AT_ONCE, path) as other:
        assert hear(other) == "ready"
        cancels = Cancelling(path, loop, seed, other)
        try:
            prepare(cancels.truth.session("main"))
            yield cancels
        except BaseException:
            with suppress(Exception):
                cancels.close()
            raise
        cancels.close()
