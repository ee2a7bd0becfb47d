"""The few things that tests do on a loop, for either loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import trio

Test = Callable[[], Awaitable[Any]]


class Kit:
    """The few things that tests do on a loop, for either."""

    def __init__(self, loop: str) -> None:
        self.is_trio = loop == "trio"

    async def sleep(self, seconds: float) -> None:
        await (trio.sleep if self.is_trio else asyncio.sleep)(seconds)

    def event(self) -> asyncio.Event | trio.Event:
        """Set once, and waited for."""
        return trio.Event() if self.is_trio else asyncio.Event()

    async def together(self, *functions: Test) -> None:
        """Runs all at once, to their ends."""
        if self.is_trio:
            async with trio.open_nursery() as nursery:
                for function in functions:
                    nursery.start_soon(function)
        else:
            async with asyncio.TaskGroup() as group:
                for function in functions:
                    group.create_task(function())  # type: ignore[arg-type]

    @asynccontextmanager
    async def tasks(self) -> AsyncIterator[Callable[[Test], object]]:
        """Gives what starts a task; the block waits for them all."""
        if self.is_trio:
            async with trio.open_nursery() as nursery:
                yield nursery.start_soon
        else:
            async with asyncio.TaskGroup() as group:
                yield lambda function: group.create_task(function())  # type: ignore[arg-type]

    async def cancelled_after(self, seconds: float, function: Test) -> bool:
        """Runs one, and cancels it after so long. Whether that came first."""
        if self.is_trio:
            with trio.move_on_after(seconds) as scope:
                await function()
            return scope.cancelled_caught
        task = asyncio.ensure_future(function())
        await asyncio.wait([task], timeout=seconds)
        return await _cancelled(task)

    async def cancelled_when(self, waits: Test, function: Test) -> bool:
        """Runs one, and cancels it once `waits` is over. Whether that came first."""
        if self.is_trio:
            async with trio.open_nursery() as nursery:
                with trio.CancelScope() as scope:

                    async def cancel() -> None:
                        await waits()
                        scope.cancel()

                    nursery.start_soon(cancel)
                    await function()
            return scope.cancelled_caught
        task = asyncio.ensure_future(function())
        await waits()
        return await _cancelled(task)


async def _cancelled(task: asyncio.Future[Any]) -> bool:
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return True
    return False
