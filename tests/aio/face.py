"""The async store called as if it were the sync one: one task on a loop of its own thread makes every call.

So what is written for the one face runs on the other: coroutines are awaited, async iterators stepped, blocks entered.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from typing import Any

import trio

from eventstore import AsyncReadableSession, AsyncSessions, AsyncStoreView, Subscription

LOOPS = ("asyncio", "trio")


def run_on(loop: str, function: Callable[[], Awaitable[Any]], seconds: float = 60.0) -> Any:
    """Runs a coroutine function on a loop, to its end or at most so long."""
    if loop == "trio":

        async def limited() -> Any:
            with trio.fail_after(seconds):
                return await function()

        return trio.run(limited)

    async def bounded() -> Any:
        async with asyncio.timeout(seconds):
            return await function()

    return asyncio.run(bounded())


class Portal:
    """A loop in a thread, with the one task that makes the calls."""

    def __init__(self, loop: str) -> None:
        self._asked: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=run_on, args=(loop, self._serve, 600.0))
        self._is_trio = loop == "trio"
        self._begun = threading.Event()
        self._thread.start()
        self._begun.wait(30)

    async def _serve(self) -> None:
        self._called: Any = trio.Event() if self._is_trio else asyncio.Event()
        if self._is_trio:
            self._on_loop: Callable[[Callable[[], None]], object] = trio.lowlevel.current_trio_token().run_sync_soon
        else:
            self._on_loop = asyncio.get_running_loop().call_soon_threadsafe
        self._begun.set()
        while True:
            try:
                asked = self._asked.get_nowait()
            except queue.Empty:
                await self._called.wait()
                self._called = trio.Event() if self._is_trio else asyncio.Event()
                continue
            if asked is None:
                return
            function, answer = asked
            try:
                result = function()
                answer.set_result(await result if isinstance(result, Awaitable) else result)
            except BaseException as error:  # noqa: BLE001 - it is its caller's
                answer.set_exception(error)

    def call(self, function: Callable[[], Any]) -> Any:
        """Makes a call in the task, and returns what it gives."""
        answer: Future[Any] = Future()
        self._ask((function, answer))
        return answer.result(30)

    def _ask(self, asked: tuple[Callable[[], Any], Future[Any]] | None) -> None:
        self._asked.put(asked)
        self._on_loop(lambda: self._called.set())

    def close(self) -> None:
        self._ask(None)
        self._thread.join(30)


class Faced:
    """Stands for the async object, with the sync one's calls."""

    def __init__(self, portal: Portal, inner: Any) -> None:
        self._portal = portal
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._inner, name)
        if name == "latest_seq":
            return self._portal.call(attribute)
        if not callable(attribute):
            return self._facing(attribute)

        def call(*arguments: Any, **named: Any) -> Any:
            given = [each._inner if isinstance(each, Faced) else each for each in arguments]
            return self._facing(self._portal.call(lambda: attribute(*given, **named)))

        return call

    def __enter__(self) -> Any:
        return self._facing(self._portal.call(self._inner.__aenter__))

    def __exit__(self, *error: Any) -> Any:
        return self._portal.call(lambda: self._inner.__aexit__(*error))

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            return self._facing(self._portal.call(self._inner.__anext__))
        except StopAsyncIteration:
            raise StopIteration from None

    def _facing(self, value: Any) -> Any:
        if isinstance(value, Subscription):
            return Subscription(lambda: self._portal.call(value.close))
        wrapped = (AsyncSessions, AsyncReadableSession, AsyncStoreView, AsyncIterator, AbstractAsyncContextManager)
        return Faced(self._portal, value) if isinstance(value, wrapped) else value


def open_faced(loop: str, path: Any = ":memory:", **options: Any) -> tuple[Portal, Any]:
    """An open store on a loop; close both."""
    portal = Portal(loop)
    store = Faced(portal, AsyncSessions(path, **options))
    portal.call(store._inner.open)
    return portal, store
