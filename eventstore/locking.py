"""The lock that one thread holds while it writes: entered as often as it likes, waited for no longer than allowed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from eventstore.errors import StoreBusy


class WriteLock:
    """The write lock of the store at `path`. `busy_timeout` in seconds."""

    def __init__(self, path: str, busy_timeout: float) -> None:
        self._path = path
        self._busy_timeout = busy_timeout
        self._lock = threading.RLock()

    def acquire(self, patience: float | None = None) -> None:
        """Waits for the lock, `patience` seconds where that is less than `busy_timeout`. Raises `StoreBusy`."""
        timeout = self._busy_timeout if patience is None else min(patience, self._busy_timeout)
        if not self._lock.acquire(timeout=timeout):
            raise StoreBusy(
                f"{self._path}: another thread kept the store for longer than busy_timeout ({timeout} s); try again"
            )

    def release(self) -> None:
        """Gives the lock back. It may not be this thread's: it was busy, or an interrupt came first."""
        with suppress(RuntimeError):
            self._lock.release()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Holds the lock for a block."""
        try:
            self.acquire()
            yield
        finally:
            self.release()
