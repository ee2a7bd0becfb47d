"""The store on an event loop: what `from eventstore import AsyncSessions` gives. Thin: `store` does the work."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from functools import partial
from types import TracebackType
from typing import Literal, Self

from blinker import Signal

from eventstore import opening, tailing
from eventstore.aio.feed import Receiver
from eventstore.aio.iterators import Windowed, windows
from eventstore.aio.session import AsyncSession
from eventstore.aio.store import AsyncStore
from eventstore.aio.transaction import Transaction
from eventstore.aio.views import AsyncStoreView
from eventstore.events import Event
from eventstore.feed import INTERVAL
from eventstore.infos import SessionInfo
from eventstore.listeners import Subscription
from eventstore.names import check_session_id
from eventstore.reports import SearchResult, VerifyReport
from eventstore.sessions import Sessions
from eventstore.tokens import estimate_tokens
from eventstore.types import Handle, Message, Progress


class AsyncSessions(Handle):
    """A store of conversations for asyncio and trio. The arguments are those of `Sessions`, and only remembered.

    `async with` opens and closes it, or `await open()` and `await close()`; it can be opened again, on another loop
    too. Any number of tasks of its loop may use it. `count_tokens` and `prepare` run in the writing thread; listeners
    and all other hooks on the loop, and may be coroutine functions.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] = ":memory:",
        *,
        reserved_metadata_keys: Iterable[str] = (),
        retain: Literal["current", "all"] | None = None,
        durability: Literal["full", "normal"] = "full",
        busy_timeout: float = 5.0,
        read_only: bool = False,
        count_tokens: Callable[[Message], int] = estimate_tokens,
        prepare: Callable[[Message], Message] | None = None,
    ) -> None:
        if isinstance(reserved_metadata_keys, Iterator):  # it can be opened again, and would find nothing in it then
            reserved_metadata_keys = tuple(reserved_metadata_keys)
        make = partial(
            Sessions,
            path,
            reserved_metadata_keys=reserved_metadata_keys,
            retain=retain,
            durability=durability,
            busy_timeout=busy_timeout,
            read_only=read_only,
            count_tokens=count_tokens,
            prepare=prepare,
        )
        self._handles: dict[str, AsyncSession] = {}
        self._store = AsyncStore(
            str(path), make, self.session, in_memory=path == opening.MEMORY, groups=prepare is None
        )
        self._store.due_hook = self._compact_if_due

    async def _compact_if_due(self, session_id: str) -> None:
        await self._handles[session_id]._compactor.compact_if_due()

    def __repr__(self) -> str:
        return f"<AsyncSessions {self._store.name!r}>"

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.close()

    async def open(self) -> Self:
        """Opens the file on the loop that runs; open already, does nothing. Raises `CannotOpen` or what is below it."""
        await self._store.open()
        return self

    async def close(self) -> None:
        """As `Sessions.close`; its threads end."""
        await self._store.close()

    # ---- sessions

    def session(self, session_id: str = "") -> AsyncSession:
        """The handle of a conversation, the same object each time, before `open()` too."""
        handle = self._handles.get(session_id) if isinstance(session_id, str) else None
        if handle is None:
            check_session_id(session_id)
            handle = self._handles.setdefault(session_id, AsyncSession(self, self._store, session_id))
        return handle

    async def delete_session(self, session_id: str) -> None:
        """As `Sessions.delete_session`."""
        await self._store.run_write(lambda: self._store.sessions.delete_session(session_id))

    def list_sessions(self, *, prefix: str = "", limit: int | None = None) -> AsyncIterator[SessionInfo]:
        """As `Sessions.list_sessions`."""
        store = self._store
        return Windowed(store.run_read, lambda: windows(store.sessions.list_sessions(prefix=prefix, limit=limit)))

    async def prune(self, idle_for: timedelta, *, dry_run: bool = False) -> list[SessionInfo]:
        """As `Sessions.prune`."""
        return await self._store.run_write(lambda: self._store.sessions.prune(idle_for, dry_run=dry_run))

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
        """As `Sessions.search`."""
        return await self._store.run_read(
            lambda: self._store.sessions.search(query, limit=limit, role=role, since=since, until=until)
        )

    # ---- the feed

    @property
    def changed(self) -> Signal:
        """This store's own signal: receivers are called `receiver(session, *, event)` on the loop, and awaited."""
        return self._store.feed.signal

    async def latest_seq(self) -> int:
        """As `Sessions.latest_seq`."""
        return await self._store.run_read(lambda: self._store.sessions.latest_seq)

    def subscribe(self, listener: Receiver, *, after: int | None = None) -> Subscription:
        """Calls `listener(event)` on the loop, and awaits what it gives, for every event that is delivered from now on.

        With `after` a task reads the log after that seq to it first, then come the new ones: none lost, none twice. A
        listener may await writes; their events follow once the current one has reached all. It must not wait for
        another task's write to this store.
        """
        return self._store.subscribe(listener, None, after, lambda since: self._store.sessions.events(since))

    def events(self, after: int = 0) -> AsyncIterator[Event]:
        """As `Sessions.events`."""
        return Windowed(self._store.run_read, lambda: windows(self._store.sessions.events(after)))

    def tail(
        self, after: int | None = None, *, interval: float = INTERVAL, timeout: float | None = None
    ) -> AsyncIterator[Event]:
        """As `Sessions.tail`. Left out, `after` is the last event that listeners were told of."""
        return self._store.tail(lambda since: self._store.sessions.tail(since, timeout=0), after, interval, timeout)

    async def poll(self) -> int:
        """As `Sessions.poll`."""
        return await self._store.run_poll()

    def watch(self, *, interval: float = INTERVAL) -> Subscription:
        """Polls every `interval` seconds in a task of its own, until the subscription, or the store, is closed."""
        tailing.check_seconds("interval", interval)
        return self._store.watch(interval)

    # ---- the whole store

    def transaction(self) -> AbstractAsyncContextManager[None]:
        """As `Sessions.transaction`, of the task that enters it: its calls are in it, others' writes wait.

        A task that is started in it is another one, and so is what `asyncio.wait_for` (before Python 3.12), `gather`
        and `shield` run: don't await such a write inside.
        """
        return Transaction(self._store)

    async def at(self, seq: int) -> AsyncStoreView:
        """As `Sessions.at`."""
        return AsyncStoreView(await self._store.run_read(lambda: self._store.sessions.at(seq)), self._store)

    async def verify(self, *, progress: Progress | None = None) -> VerifyReport:
        """As `Sessions.verify`."""
        told = self._store.on_loop(progress)
        return await self._store.run_read(lambda: self._store.sessions.verify(progress=told))

    async def rebuild(self, *, progress: Progress | None = None) -> None:
        """As `Sessions.rebuild`."""
        told = self._store.on_loop(progress)
        await self._store.run_write(lambda: self._store.sessions.rebuild(progress=told))

    async def backup(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> None:
        """As `Sessions.backup`."""
        told = self._store.on_loop(progress)
        await self._store.run_read(lambda: self._store.sessions.backup(path, progress=told))

    async def scavenge(self, *, vacuum: bool = False, progress: Progress | None = None) -> int:
        """As `Sessions.scavenge`. It runs beside the writing thread, so that writes of other tasks go on meanwhile."""
        told = self._store.on_loop(progress)
        return await self._store.run_read(lambda: self._store.sessions.scavenge(vacuum=vacuum, progress=told))
