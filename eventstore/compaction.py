"""When a session is compacted: on call, or by itself when its estimate has grown above a threshold.

The compact function runs outside every transaction and lock but the one that lets a session have one compaction at a
time in a store. What it gives is stored only if nothing that it covers went meanwhile. An automatic compaction runs in
the thread whose append made it due, once that append was delivered; it can fail, and the append can't fail with it.
"""

from __future__ import annotations

import inspect
import threading
from typing import TYPE_CHECKING

from eventstore import heads, history, paths
from eventstore.errors import InvalidArgument
from eventstore.store import Store
from eventstore.troubles import report

if TYPE_CHECKING:
    from eventstore.infos import Compaction
    from eventstore.reports import CompactFunction

RETRY_GROWTH = 10  # after a try without success the next waits for growth by this part of the threshold


class Threshold:
    """The estimate of tokens above which a session is compacted by itself. `compacting` has those that have one."""

    def __init__(self, compacting: set[str], name: str) -> None:
        self._compacting = compacting
        self._name = name
        self._tokens: int | None = None
        self._wait_for = 0  # the estimate below which no automatic try is made

    def set(self, tokens: int | None) -> None:
        """Sets it, `None` for never."""
        if tokens is not None:
            history.check_limit("tokens", tokens, 0)
        self._tokens = tokens
        self._wait_for = 0
        if tokens is None:
            self._compacting.discard(self._name)
        else:
            self._compacting.add(self._name)

    def is_set(self) -> bool:
        """Whether there is one."""
        return self._tokens is not None

    def forget_tries(self) -> None:
        """The next try waits for nothing."""
        self._wait_for = 0

    def is_due(self, estimate: int) -> bool:
        """Whether a try is to be made."""
        if self._tokens is None or estimate <= self._tokens:
            self._wait_for = 0
            return False
        return estimate >= self._wait_for

    def tried(self, estimate: int) -> None:
        """Notes what a try leaves, or finds, since it may raise: above the threshold, the next one waits for more."""
        tokens = self._tokens
        self._wait_for = 0 if tokens is None or estimate <= tokens else estimate + max(1, tokens // RETRY_GROWTH)


class Compactor:
    """The compaction of one session: its function, its threshold, and whether one is running."""

    def __init__(self, store: Store, name: str) -> None:
        self.threshold = Threshold(store.compacting, name)
        self._store = store
        self._name = name
        self._function: CompactFunction | None = None
        self._running = threading.Lock()
        self._runner: int | None = None  # the thread that compacts

    def set_function(self, function: CompactFunction | None) -> None:
        """Registers the compact function, `None` for none. Raises `InvalidArgument` for an async one."""
        if function is not None and not callable(function):
            raise InvalidArgument(f"a compact function is a callable, not {function!r}")
        from eventstore.summarizing import is_async

        if function is not None and is_async(function):
            raise InvalidArgument(
                "this store is synchronous, and its compact function must be too: give create_compact_function a plain "
                "summarize, or use AsyncSessions"
            )
        self._function = function
        self.threshold.forget_tries()

    def compact(self, leaf_id: str | None) -> Compaction | None:
        """Compacts now. Raises what the function raises, `InvalidCompaction`, `UnknownMessage`, `InvalidArgument`."""
        self._store.database.check_writable()
        if self._store.database.in_transaction():
            raise InvalidArgument("compact() inside transaction(): a summary takes long; leave the transaction first")
        if self._runner == threading.get_ident():
            raise InvalidArgument("compact() inside the compact function of the same session")
        function = self._function
        if function is None:
            raise InvalidArgument("no compact function is registered: call on_compaction() first")
        # In a listener it can't wait: the other's event is delivered behind this one.
        if not self._running.acquire(blocking=not self._store.feed.is_delivering()):
            raise InvalidArgument("compact() in a listener, while another compaction of the session is running")
        try:
            self._runner = threading.get_ident()
            return self._run(function, leaf_id)
        finally:
            self._runner = None
            self._running.release()

    def compact_if_due(self) -> None:
        """Compacts when the estimate is above the threshold. A failure is logged, and changes nothing."""
        function = self._function
        if function is None or not self.threshold.is_set():
            return
        try:
            estimate = self._estimate()
            if self.threshold.is_due(estimate) and self._running.acquire(blocking=False):
                try:
                    self._try(function, estimate)
                finally:
                    self._runner = None
                    self._running.release()
        except Exception:  # noqa: BLE001 - it is reported
            report("session %r: an automatic compaction failed; nothing was changed", self._name, exception=True)

    def _try(self, function: CompactFunction, estimate: int) -> None:
        """One automatic try."""
        self._runner = threading.get_ident()
        self.threshold.tried(estimate)
        self._run(function, None)
        self.threshold.tried(self._estimate())

    def _run(self, function: CompactFunction, leaf_id: str | None) -> Compaction | None:
        with self._store.read() as connection:
            session = paths.find_session(connection, self._name)
            head = None if session is None else heads.load(connection, session)
            shown = history.get_history(connection, self._name, leaf_id, None, newest_first=False, compacted=True)
        if head is None or not shown:
            return None
        result = function(shown)
        if inspect.isawaitable(result):
            if inspect.iscoroutine(result):
                result.close()
            raise InvalidArgument("the compact function gave an awaitable, and this store is synchronous")
        from eventstore import compacting

        return None if result is None else compacting.store_result(self._store, self._name, result, head.last)

    def _estimate(self) -> int:
        with self._store.read() as connection:
            path = paths.find_path(connection, self._name, None)
            return 0 if path is None else self._store.totals.of(connection, path, compacted=True)[1]
