"""Async iterators that fetch a window per hop, and hold nothing between two."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, Generic, TypeVar

from eventstore.aio.loops import Loop, Signal
from eventstore.errors import StoreBusy, StoreClosed
from eventstore.events import Event
from eventstore.tailing import check_seconds

T = TypeVar("T")
R = TypeVar("R")
Read = Callable[[Callable[[], Any]], Awaitable[Any]]

WINDOW = 256


def windows(items: Iterable[T], size: int = WINDOW) -> Iterator[list[T]]:
    """`items` in lists of at most `size`."""
    iterator = iter(items)
    while window := list(islice(iterator, size)):
        yield window


class Windowed(AsyncIterator[T], Generic[T]):
    """The items of the lists that a sync iterator gives, each of which is fetched by `read`. The iterator is made, and
    its arguments are checked, at the first step.

    A step that is cancelled while its window is fetched leaves that window to the next step: none is lost.
    """

    def __init__(self, read: Read, make: Callable[[], Iterator[list[T]]]) -> None:
        self._read = read
        self._make = make
        self._lists: Iterator[list[T]] | None = None
        self._window: list[T] = []

    def __aiter__(self) -> Windowed[T]:
        return self

    async def __anext__(self) -> T:
        if not self._window:
            await self._read(self._fetch)
            if not self._window:
                raise StopAsyncIteration
        return self._window.pop()

    def _fetch(self) -> None:
        """In a thread, which goes on to the end when the step is cancelled."""
        if self._lists is None:
            self._lists = self._make()
        self._window = next(self._lists, [])[::-1]


class Tail(AsyncIterator[Event]):
    """The events after a cursor, then those that come. `look(after)` gives what is there, a window at a time."""

    def __init__(
        self,
        read: Read,
        look: Callable[[int], Iterator[Event]],
        after: int,
        interval: float,
        timeout: float | None,
        waits: tuple[Loop, Signal],
    ) -> None:
        check_seconds("interval", interval)
        if timeout is not None:
            check_seconds("timeout", timeout, zero=True)
        self._read = read
        self._look = look
        self._after = after
        self._interval = interval
        self._timeout = timeout
        self._loop, self._closing = waits
        self._window: list[Event] = []

    def __aiter__(self) -> Tail:
        return self

    async def __anext__(self) -> Event:
        idle_since = time.monotonic()
        while not self._window:
            with suppress(StoreBusy):  # the next look finds what this one missed
                self._window = (await self._read(self._fetch))[::-1]
            if not self._window:
                await self._pause(idle_since)
        event = self._window.pop()
        self._after = event.seq
        return event

    def _fetch(self) -> list[Event]:
        return list(islice(self._look(self._after), WINDOW))

    async def _pause(self, idle_since: float) -> None:
        left = self._interval
        if self._timeout is not None:
            left = min(left, idle_since + self._timeout - time.monotonic())
        if left <= 0:
            raise StopAsyncIteration
        if await self._loop.wait(self._closing, left):
            raise StoreClosed("the store was closed while its events were waited for")
