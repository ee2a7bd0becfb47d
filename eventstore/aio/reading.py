"""The reads of a session on an event loop: those of the sync one, a hop to a thread each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Protocol, TypeVar

from eventstore.aio.iterators import Windowed, windows
from eventstore.history import WINDOW_BYTES, WINDOW_MESSAGES
from eventstore.infos import Compaction, MessageInfo, SessionInfo
from eventstore.reading import ReadableSession
from eventstore.types import Handle, Message, RecentHistory

R = TypeVar("R")
TREE_WINDOW = 500


class Source(Protocol):
    """Where a session's reads run."""

    def run_read(self, call: Callable[[], R]) -> Awaitable[R]:
        """Runs a call in a thread that reads."""

    def readable(self, session_id: str) -> ReadableSession:
        """The sync session."""


class AsyncReadableSession(Handle):
    """One conversation, to read: as `ReadableSession`, in coroutines and async iterators.

    An iterator fetches a window per hop, holds nothing between two, and checks the ids given to it at its first step.
    """

    def __init__(self, source: Source, session_id: str) -> None:
        self.session_id = session_id
        self._source = source

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.session_id!r}>"

    async def _read(self, call: Callable[[ReadableSession], R]) -> R:
        return await self._source.run_read(lambda: call(self._source.readable(self.session_id)))

    def _windowed(self, make: Callable[[ReadableSession], Any]) -> Windowed[Any]:
        return Windowed(self._source.run_read, lambda: make(self._source.readable(self.session_id)))

    # ---- paths

    def history(
        self,
        *,
        leaf_id: str | None = None,
        newest_first: bool = False,
        compacted: bool = True,
        before: str | None = None,
    ) -> AsyncIterator[Message]:
        """As `Session.history`."""
        return self._windowed(
            lambda session: session.history_batches(
                leaf_id=leaf_id, newest_first=newest_first, compacted=compacted, before=before
            )
        )

    def history_batches(
        self,
        *,
        batch_size: int = WINDOW_MESSAGES,
        max_batch_bytes: int = WINDOW_BYTES,
        leaf_id: str | None = None,
        newest_first: bool = False,
        before: str | None = None,
        compacted: bool = True,
    ) -> AsyncIterator[list[Message]]:
        """As `Session.history_batches`."""
        return self._windowed(
            lambda session: windows(
                session.history_batches(
                    batch_size=batch_size,
                    max_batch_bytes=max_batch_bytes,
                    leaf_id=leaf_id,
                    newest_first=newest_first,
                    before=before,
                    compacted=compacted,
                ),
                1,
            )
        )

    async def get_history(
        self,
        *,
        leaf_id: str | None = None,
        newest_first: bool = False,
        compacted: bool = True,
        before: str | None = None,
    ) -> list[Message]:
        """As `Session.get_history`."""
        return await self._read(
            lambda session: session.get_history(
                leaf_id=leaf_id, newest_first=newest_first, compacted=compacted, before=before
            )
        )

    async def get_recent_history(
        self,
        max_bytes: int | None = None,
        *,
        max_messages: int | None = None,
        leaf_id: str | None = None,
        compacted: bool = True,
        before: str | None = None,
    ) -> RecentHistory:
        """As `Session.get_recent_history`."""
        return await self._read(
            lambda session: session.get_recent_history(
                max_bytes, max_messages=max_messages, leaf_id=leaf_id, compacted=compacted, before=before
            )
        )

    async def get_history_row_stats(self, *, leaf_id: str | None = None) -> list[MessageInfo]:
        """As `Session.get_history_row_stats`."""
        return await self._read(lambda session: session.get_history_row_stats(leaf_id=leaf_id))

    async def token_estimate(self, *, leaf_id: str | None = None, compacted: bool = True) -> int:
        """As `Session.token_estimate`."""
        return await self._read(lambda session: session.token_estimate(leaf_id=leaf_id, compacted=compacted))

    async def get_compactions(self) -> list[Compaction]:
        """As `Session.get_compactions`."""
        return await self._read(lambda session: session.get_compactions())

    # ---- messages

    async def get_message(self, message_id: str) -> Message | None:
        """As `Session.get_message`."""
        return await self._read(lambda session: session.get_message(message_id))

    async def get_message_info(self, message_id: str) -> MessageInfo | None:
        """As `Session.get_message_info`."""
        return await self._read(lambda session: session.get_message_info(message_id))

    async def get_branches(self, message_id: str | None) -> list[Message]:
        """As `Session.get_branches`."""
        return await self._read(lambda session: session.get_branches(message_id))

    def tree(self) -> AsyncIterator[MessageInfo]:
        """As `Session.tree`."""
        return self._windowed(lambda session: windows(session.tree(), TREE_WINDOW))

    async def get_leaves(self) -> list[MessageInfo]:
        """As `Session.get_leaves`."""
        return await self._read(lambda session: session.get_leaves())

    async def get_latest_leaf(self, *, below: str | None = None) -> Message | None:
        """As `Session.get_latest_leaf`."""
        return await self._read(lambda session: session.get_latest_leaf(below=below))

    # ---- the session

    async def get_metadata(self) -> dict[str, Any]:
        """As `Session.get_metadata`."""
        return await self._read(lambda session: session.get_metadata())

    async def info(self) -> SessionInfo:
        """As `Session.info`."""
        return await self._read(lambda session: session.info())
