"""A model that answers when a test says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from eventstore import Message
from tests.unit.talk import ids


class Slow:
    """A model that says three words, each when it is let."""

    def __init__(self) -> None:
        self.let = asyncio.Semaphore(0)
        self.asked: list[list[str]] = []

    async def __call__(self, messages: list[Message]) -> AsyncIterator[str]:
        self.asked.append(ids(messages))
        for word in ("one ", "two ", "three"):
            await self.let.acquire()
            yield word

    def speak(self, words: int) -> None:
        for _ in range(words):
            self.let.release()
