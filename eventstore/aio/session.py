"""One conversation on an event loop: every call of `Session`, as a coroutine or an async iterator."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Any, Self, TypeVar

from eventstore import copying, hints
from eventstore.aio.compaction import AsyncCompactor
from eventstore.aio.feed import Receiver
from eventstore.aio.iterators import Windowed, windows
from eventstore.aio.reading import AsyncReadableSession
from eventstore.aio.store import AsyncStore
from eventstore.events import Event
from eventstore.feed import INTERVAL
from eventstore.infos import Compaction
from eventstore.listeners import Subscription
from eventstore.reports import AsyncCompactFunction, CompactFunction, ImportReport, ImportRow, SearchResult
from eventstore.session import Session
from eventstore.types import (
    LATEST,
    UNCHECKED,
    AppendResult,
    ExpectedLeaf,
    Message,
    MessageLike,
    ParentId,
    Progress,
    Source,
)

R = TypeVar("R")


class AsyncSession(AsyncReadableSession):
    """One conversation. Get it from `AsyncSessions.session()`, which returns the same object for the same name.

    Everything said of `Session` holds. A write that is cancelled has happened whole, and its event is delivered, or
    not at all.
    """

    def __init__(self, sessions: hints.AsyncSessions, store: AsyncStore, session_id: str) -> None:
        super().__init__(store, session_id)
        self.sessions = sessions
        self._store = store
        self._compactor = AsyncCompactor(store, session_id)

    def _write(self, call: Callable[[Session], R]) -> Awaitable[R]:
        store, name = self._store, self.session_id
        return store.run_write(lambda: call(store.readable(name)), grows=name)

    def _write_small(self, verb: Callable[..., R], message: MessageLike, **options: Any) -> Awaitable[R]:
        """A write that may share a transaction with those of other tasks."""
        session = self._store.readable(self.session_id)
        return self._store.run_write(partial(verb, session, message, **options), grows=self.session_id, may_share=True)

    # ---- adding

    async def append_message(
        self,
        message: MessageLike,
        *,
        parent_id: ParentId = LATEST,
        expected_leaf: ExpectedLeaf = UNCHECKED,
        source: Source = "server",
    ) -> AppendResult:
        """As `Session.append_message`."""
        return await self._write_small(
            Session.append_message, message, parent_id=parent_id, expected_leaf=expected_leaf, source=source
        )

    async def append_messages(
        self,
        messages: Iterable[MessageLike],
        *,
        parent_id: ParentId = LATEST,
        expected_leaf: ExpectedLeaf = UNCHECKED,
        source: Source = "server",
    ) -> list[AppendResult]:
        """As `Session.append_messages`. The messages are taken from their iterable in the writing thread."""
        return await self._write(
            lambda session: session.append_messages(
                messages, parent_id=parent_id, expected_leaf=expected_leaf, source=source
            )
        )

    async def import_message(
        self, message: MessageLike, *, parent_id: str | None, created_at: datetime
    ) -> AppendResult:
        """As `Session.import_message`."""
        return await self._write(
            lambda session: session.import_message(message, parent_id=parent_id, created_at=created_at)
        )

    async def import_messages(self, rows: Iterable[ImportRow], *, progress: Progress | None = None) -> ImportReport:
        """As `Session.import_messages`. The rows are taken from their iterable in the writing thread."""
        told = self._store.on_loop(progress)
        return await self._write(lambda session: session.import_messages(rows, progress=told))

    # ---- changing

    async def update_message(self, message: MessageLike, *, source: Source = "server") -> Message | None:
        """As `Session.update_message`."""
        return await self._write_small(Session.update_message, message, source=source)

    async def upsert_message(
        self, message: MessageLike, *, parent_id: ParentId = LATEST, source: Source = "server"
    ) -> AppendResult:
        """As `Session.upsert_message`."""
        return await self._write_small(Session.upsert_message, message, parent_id=parent_id, source=source)

    # ---- taking away

    async def delete_messages(self, message_ids: Iterable[str]) -> list[str]:
        """As `Session.delete_messages`."""
        return await self._write(lambda session: session.delete_messages(message_ids))

    async def delete_branch(self, message_id: str) -> list[str]:
        """As `Session.delete_branch`."""
        return await self._write(lambda session: session.delete_branch(message_id))

    async def clear_messages(self) -> None:
        """As `Session.clear_messages`."""
        await self._write(lambda session: session.clear_messages())

    # ---- the session itself

    async def select_leaf(self, message_id: str) -> None:
        """As `Session.select_leaf`."""
        await self._write(lambda session: session.select_leaf(message_id))

    async def set_metadata(self, metadata: Mapping[str, Any]) -> None:
        """As `Session.set_metadata`."""
        await self._write(lambda session: session.set_metadata(metadata))

    async def copy_to(
        self, other: AsyncSession, *, leaf_id: str | None = None, progress: Progress | None = None
    ) -> ImportReport:
        """As `Session.copy_to`, into a session of this store or of another one that is open on this loop."""
        copying.check_target(other, AsyncSession)
        told = self._store.on_loop(progress)
        source, target = self._store, other._store
        return await source.run_copy(
            target,
            lambda: source.readable(self.session_id).copy_to(
                target.readable(other.session_id), leaf_id=leaf_id, progress=told
            ),
        )

    # ---- search

    async def search(
        self,
        query: str,
        *,
        limit: int | None = 20,
        role: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> list[SearchResult]:
        """As `Session.search`."""
        store = self._store
        return await store.run_read(
            lambda: store.readable(self.session_id).search(query, limit=limit, role=role, since=since, until=until)
        )

    # ---- compaction

    def on_compaction(self, function: CompactFunction | AsyncCompactFunction | None) -> Self:
        """As `Session.on_compaction`; the function runs on the loop, and may be async."""
        self._compactor.set_function(function)
        return self

    def compact_after(self, tokens: int | None) -> Self:
        """As `Session.compact_after`. Cancelled while it compacts, an append has happened, and no compaction."""
        self._compactor.threshold.set(tokens)
        return self

    async def compact(self, *, leaf_id: str | None = None) -> Compaction | None:
        """As `Session.compact`."""
        return await self._compactor.compact(leaf_id)

    async def add_compaction(
        self, summary: str, from_message_id: str, to_message_id: str, *, created_at: datetime | None = None
    ) -> Compaction:
        """As `Session.add_compaction`."""
        return await self._write(
            lambda session: session.add_compaction(summary, from_message_id, to_message_id, created_at=created_at)
        )

    # ---- the feed

    def subscribe(self, listener: Receiver, *, after: int | None = None) -> Subscription:
        """Calls `listener(event)`, and awaits it, for every event of this session: see `AsyncSessions.subscribe`."""
        return self._store.subscribe(
            listener, self, after, lambda since: self._store.readable(self.session_id).events(since)
        )

    def events(self, after: int = 0) -> AsyncIterator[Event]:
        """As `Session.events`."""
        store = self._store
        return Windowed(store.run_read, lambda: windows(store.readable(self.session_id).events(after)))

    def tail(
        self, after: int | None = None, *, interval: float = INTERVAL, timeout: float | None = None
    ) -> AsyncIterator[Event]:
        """As `Session.tail`: see `AsyncSessions.tail`."""
        store = self._store
        return store.tail(
            lambda since: store.readable(self.session_id).tail(since, timeout=0), after, interval, timeout
        )
