"""Transactions, batches, time limits and refused writes of the async store, cancelled at any moment: an engine too."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import trio

from eventstore import AsyncSession, AsyncSessions, InvalidMessage
from tests.aio.face import run_on
from tests.aio.kit import Kit
from tests.unit.talk import ids, message

KINDS = ("append", "tasks", "many", "block", "batch in a block", "block in a block", "out of time", "refused")
TIME = 0.0007  # seconds, which a write may not be done in


def can_be_written(path: Path) -> None:
    """Another connection can write at once. (Of the same SQLite: a second library would drop this process's locks.)"""
    connection = apsw.Connection(str(path))
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
    finally:
        connection.close()


def cancel_blocks(path: Path, loop: str, kind: str, times: int, seed: int = 5) -> Counter[str]:
    """Cancels one kind so many times: each is whole or not at all, and heard if it is whole."""
    kit = Kit(loop)
    dice = random.Random(seed)
    counted: Counter[str] = Counter()

    async def main() -> None:
        async with AsyncSessions(path, durability="normal") as sessions:
            heard: list[str] = []
            sessions.subscribe(lambda event: heard.append(event.message["id"]))
            for number in range(times):
                session = sessions.session(f"{number}")
                made = [message(f"{number}.{part}") for part in range(4)]
                counted["cancelled"] += await kit.cancelled_after(
                    dice.random() * 0.003, partial(_write, kit, kind, session, made)
                )
                can_be_written(path)
                await sessions.poll()  # what was committed is delivered by now
                stored = ids(await session.get_history())
                assert kind == "tasks" or len(stored) in (0, {"append": 1, "refused": 0}.get(kind, 4))
                assert heard == stored
                counted["whole" if stored else "not at all"] += 1
                heard.clear()
            assert counted["cancelled"] or kind == "refused"  # a refusal comes in the place of the cancellation

    run_on(loop, main, 600)
    return counted


async def _write(kit: Kit, kind: str, session: AsyncSession, made: list[Any]) -> None:
    match kind:
        case "append":
            await session.append_message(made[0])
        case "tasks":  # any of which may be whole
            await kit.together(*(partial(session.append_message, each) for each in made))
        case "many":
            await session.append_messages(made)
        case "batch in a block":
            async with session.sessions.transaction():
                await session.append_messages(made)
        case "block":
            async with session.sessions.transaction():
                for each in made:
                    await session.append_message(each)
        case "block in a block":
            async with session.sessions.transaction():
                await session.append_message(made[0])
                async with session.sessions.transaction():
                    await session.append_messages(made[1:3])
                await session.append_message(made[3])
        case "refused":
            with suppress(InvalidMessage):
                await session.append_messages([*made[:2], {"id": "no role"}, *made[2:]])
        case _:
            async with _limited():
                await session.append_messages(made)


@asynccontextmanager
async def _limited() -> AsyncIterator[None]:
    """Time that is over at some moment, as a caller sets it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        with trio.move_on_after(TIME):
            yield
        return
    try:
        async with asyncio.timeout(TIME):
            yield
    except TimeoutError:
        pass
