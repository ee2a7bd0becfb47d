"""Compaction on an event loop: the compact function runs on the loop, outside every transaction, and may be async.

As in the sync store one compaction of a session runs at a time, and what it gives is stored only if nothing that it
covers went meanwhile. An automatic one runs in the task whose append made it due, once that append was delivered;
cancelled there, it leaves the append and no overlay.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from eventstore import compacting
from eventstore.aio.calls import Calls
from eventstore.aio.loops import Signal, result_of
from eventstore.aio.store import AsyncStore
from eventstore.compaction import Threshold
from eventstore.errors import InvalidArgument
from eventstore.infos import Compaction
from eventstore.types import Message

logger = logging.getLogger("eventstore")


class AsyncCompactor:
    """The compaction of one session: its function, its threshold, and whether one is running."""

    def __init__(self, store: AsyncStore, name: str) -> None:
        self.threshold = Threshold(store.compacting, name)
        self._store = store
        self._name = name
        self._function: Callable[[list[Message]], Any] | None = None
        self._ends: Signal | None = None  # of the compaction that runs
        self._calls: Calls | None = None  # what it runs on
        self._runner: object | None = None  # its task

    def set_function(self, function: Callable[[list[Message]], Any] | None) -> None:
        """Registers the compact function, `None` for none."""
        if function is not None and not callable(function):
            raise InvalidArgument(f"a compact function is a callable, not {function!r}")
        self._function = function
        self.threshold.forget_tries()

    async def compact(self, leaf_id: str | None) -> Compaction | None:
        """Compacts now. Raises what the function raises, `InvalidCompaction`, `UnknownMessage`, `InvalidArgument`."""
        calls = self._store.calls
        self._store.sessions._store.database.check_writable()
        if calls.in_transaction():
            raise InvalidArgument("compact() inside transaction(): a summary takes long; leave the transaction first")
        if self._runner is not None and self._runner is calls.loop.current_task():
            raise InvalidArgument("compact() inside the compact function of the same session")
        if self._function is None:
            raise InvalidArgument("no compact function is registered: call on_compaction() first")
        while (ends := self._running()) is not None:
            if self._store.feed.is_delivering():  # the other's event is delivered behind this one
                raise InvalidArgument("compact() in a listener, while another compaction of the session is running")
            await ends.wait()
        return await self._alone(self._function, leaf_id)

    async def compact_if_due(self) -> None:
        """Compacts when the estimate is above the threshold. A failure is logged, and changes nothing."""
        function = self._function
        if function is None or not self.threshold.is_set():
            return
        try:
            estimate = await self._estimate()
            if self.threshold.is_due(estimate) and self._running() is None:
                self.threshold.tried(estimate)
                await self._alone(function, None)
                self.threshold.tried(await self._estimate())
        except Exception:
            logger.exception("session %r: an automatic compaction failed; nothing was changed", self._name)

    async def _alone(self, function: Callable[[list[Message]], Any], leaf_id: str | None) -> Compaction | None:
        calls = self._store.calls
        ends = calls.loop.signal()
        self._ends, self._calls, self._runner = ends, calls, calls.loop.current_task()
        try:
            return await self._run(function, leaf_id)
        finally:
            if self._ends is ends:
                self._ends = self._calls = self._runner = None
            with suppress(RuntimeError):  # a loop that was closed in the midst of it has nobody who waits
                ends.set()

    def _running(self) -> Signal | None:
        """The end of the compaction that runs: not of one that stopped with its loop."""
        return self._ends if self._calls is self._store.calls else None

    async def _run(self, function: Callable[[list[Message]], Any], leaf_id: str | None) -> Compaction | None:
        store, name = self._store, self._name

        def read() -> tuple[int, list[Message]]:
            session = store.readable(name)
            recent = session.get_recent_history(leaf_id=leaf_id)
            return recent.seq, recent.messages

        seq, shown = await store.run_read(read)
        result = await result_of(function, shown) if shown else None
        if result is None:
            return None
        return await store.run_write(
            lambda: compacting.store_result(store.sessions._store, name, result, seq), compacts=False
        )

    async def _estimate(self) -> int:
        return await self._store.run_read(lambda: self._store.readable(self._name).token_estimate())
