"""A transaction on an event loop: of the task that enters it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from types import TracebackType

from eventstore.aio.store import AsyncStore


class Transaction(AbstractAsyncContextManager[None]):
    """`async with`: the block is one transaction. Its events go out when the outermost is over."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    async def __aenter__(self) -> None:
        self._calls = self._store.calls
        self._block = self._store.sessions.transaction()
        await self._calls.begin(self._block)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        try:
            await self._calls.end(self._block, kind, error, tb)
        except BaseException:
            self._store.feed.wake()
            raise
        if not self._calls.in_transaction():
            await self._store.feed.delivered()
            await self._store.compact_due()
