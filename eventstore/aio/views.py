"""The store as it was after an event, on an event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Self, TypeVar

import attrs

from eventstore.aio.iterators import Windowed, windows
from eventstore.aio.reading import AsyncReadableSession
from eventstore.aio.store import AsyncStore
from eventstore.infos import SessionInfo
from eventstore.names import check_session_id
from eventstore.reading import ReadableSession
from eventstore.types import Handle
from eventstore.views import StoreView

R = TypeVar("R")


class AsyncStoreView(Handle):
    """As `StoreView`. Close it when done, or use `async with`; closing the store doesn't."""

    def __init__(self, view: StoreView, store: AsyncStore) -> None:
        self.seq = view.seq
        self._past = _Past(view, store)

    def __repr__(self) -> str:
        return f"<AsyncStoreView at {self.seq}>"

    async def __aenter__(self) -> Self:
        self._past.view.__enter__()  # refused where it was closed
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """As `StoreView.close`."""
        self._past.view.close()

    def session(self, session_id: str = "") -> AsyncReadableSession:
        """As `StoreView.session`."""
        check_session_id(session_id)
        return AsyncReadableSession(self._past, session_id)

    def list_sessions(self, *, prefix: str = "", limit: int | None = None) -> AsyncIterator[SessionInfo]:
        """As `StoreView.list_sessions`."""
        return Windowed(self._past.run_read, lambda: windows(self._past.view.list_sessions(prefix=prefix, limit=limit)))


@attrs.frozen
class _Past:
    """What the sessions of a view read from."""

    view: StoreView
    store: AsyncStore

    async def run_read(self, call: Callable[[], R]) -> R:
        """Runs a call that reads."""
        return await self.store.run_read(call)

    def readable(self, session_id: str) -> ReadableSession:
        """The sync session of the view."""
        return self.view.session(session_id)
