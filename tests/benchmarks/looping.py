"""What a hop from an event loop costs an append, and what is left of the pace when many tasks write at once."""

from __future__ import annotations

import asyncio
import time
from itertools import count

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

    def sync() -> float:
        made = messages(number, next(seeds))
        with Sessions(bench.folder.new_file()) as store:
            begin = time.perf_counter()
            for message in made:
                store.session().append_message(message)
            return (time.perf_counter() - begin) / number

    def in_turn() -> float:
        return asyncio.run(_timed(AsyncSessions(bench.folder.new_file()), [messages(number, next(seeds))]))

    def at_once() -> float:
        parts = [messages(max(number // 10, 1), next(seeds)) for _ in range(TASKS)]
        return asyncio.run(_timed(AsyncSessions(bench.folder.new_file()), parts))

    return [
        interleave(
            "append on an event loop, durability full", "the sync store", in_turn, sync, runs=sizes.runs, target=1.5
        ),
        interleave(f"the same of {TASKS} tasks at once", "one thread", at_once, sync, runs=sizes.few_runs, target=1.25),
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
