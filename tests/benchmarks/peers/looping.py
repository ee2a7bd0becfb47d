"""Peers with an async interface: each call is one run of an event loop that stays."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from tests.benchmarks.peers.contract import Durability, Store

T = TypeVar("T")


class AsyncStore(Store):
    """A store whose calls are coroutines."""

    def __init__(self, path: Path, durability: Durability | None, conversation: str = "one") -> None:
        super().__init__(path, durability, conversation)
        self.loop = asyncio.new_event_loop()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The answer of a coroutine."""
        return self.loop.run_until_complete(work)

    def close(self) -> None:
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()
