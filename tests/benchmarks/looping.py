"""What a hop from an event loop costs an append, and the least that it can; and many tasks that write at once."""

from __future__ import annotations

import asyncio
import threading
import time
from itertools import count
from queue import SimpleQueue

from eventstore import AsyncSessions, Message, Sessions
from tests.benchmarks.bench import Bench
from tests.benchmarks.material import messages
from tests.benchmarks.measure import Line, interleave

TASKS = 100


def async_append(bench: Bench) -> list[Line]:
    """One message after the other, and of many tasks at once, against the sync store; the disk waits for each."""
    sizes = bench.sizes
    number = sizes.full_appends
    seeds = count(1)

    def one() -> list[list[Message]]:
        return [messages(number, next(seeds))]

    def many() -> list[list[Message]]:
        return [messages(max(number // 10, 1), next(seeds)) for _ in range(TASKS)]

    def on_a_loop(parts: list[list[Message]]) -> float:
        return asyncio.run(_timed(AsyncSessions(bench.folder.new_file()), parts))

    def in_turn(parts: list[list[Message]]) -> float:
        """The same messages of the same sessions, by one thread: of each session one, then of each the next."""
        with Sessions(bench.folder.new_file()) as store:
            begin = time.perf_counter()
            for row in zip(*parts, strict=True):
                for name, message in enumerate(row):
                    store.session(str(name)).append_message(message)
            return (time.perf_counter() - begin) / sum(map(len, parts))

    return [
        interleave(
            "append on an event loop, durability full",
            "the sync store",
            lambda: on_a_loop(one()),
            lambda: in_turn(one()),
            runs=sizes.many_runs,
            target=1.5,
        ),
        interleave(
            f"the same of {TASKS} tasks at once, a session each",
            "one thread, in turn",
            lambda: on_a_loop(many()),
            lambda: in_turn(many()),
            runs=sizes.few_runs,
            target=1.25,
        ),
        interleave(
            "a hop to the writing thread and back",
            "a queue, a thread and call_soon_threadsafe",
            lambda: asyncio.run(_hops(sizes.updates)),
            lambda: asyncio.run(_bare_hops(sizes.updates)),
            runs=sizes.few_runs,
        ),
    ]


async def _timed(sessions: AsyncSessions, parts: list[list[Message]]) -> float:
    """Seconds an append, of as many tasks as there are parts."""

    async def write(number: int, part: list[Message]) -> None:
        for message in part:
            await sessions.session(str(number)).append_message(message)

    async with sessions:
        begin = time.perf_counter()
        await asyncio.gather(*(write(number, part) for number, part in enumerate(parts)))
        return (time.perf_counter() - begin) / sum(map(len, parts))


async def _hops(number: int) -> float:
    """Seconds of a call that does nothing, made as an append is."""
    async with AsyncSessions() as sessions:
        hop = sessions._store.run_write
        begin = time.perf_counter()
        for _ in range(number):
            await hop(int, grows="support", may_share=True)
        return (time.perf_counter() - begin) / number


async def _bare_hops(number: int) -> float:
    """The same by the least that a thread and a loop need."""
    loop, queue = asyncio.get_running_loop(), SimpleQueue[asyncio.Future[int] | None]()

    def serve() -> None:
        while (waiter := queue.get()) is not None:
            loop.call_soon_threadsafe(waiter.set_result, 0)

    thread = threading.Thread(target=serve)
    thread.start()
    begin = time.perf_counter()
    for _ in range(number):
        waiter: asyncio.Future[int] = loop.create_future()
        queue.put(waiter)
        await waiter
    taken = time.perf_counter() - begin
    queue.put(None)
    thread.join()
    return taken / number
