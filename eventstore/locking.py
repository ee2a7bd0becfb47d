"""The lock that one thread holds while it writes: entered as often as it likes, waited for no longer than allowed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from eventstore.errors import StoreBusy


class WriteLock:
    """The write lock of the store at `path`. `busy_timeout` in seconds."""

    def __init__(self, path: str, busy_timeout: float) -> None:
        self._path = path
        self._busy_timeout = busy_timeout
        self._lock = threading.RLock()
        self.release = self._lock.release
        """Gives the lock back. Raises `RuntimeError` where it isn't this thread's: it was busy, or an interrupt came
        first. Not a function of Python's, whose entry an interrupt could strike."""

    def acquire(self, patience: float | None = None) -> bool:
        """Waits for the lock, `patience` seconds where that is less than `busy_timeout`: true, or `StoreBusy`."""
        if self._lock.acquire(False):  # the usual case, in half the time
            return True
        timeout = self._busy_timeout if patience is None else min(patience, self._busy_timeout)
        if not self._lock.acquire(timeout=timeout):
            raise StoreBusy(
                f"{self._path}: another thread kept the store for longer than busy_timeout ({self._busy_timeout} s); "
                "try again"
            )
        return True

    @contextmanager
    def held(self) -> Iterator[None]:
        """Holds the lock for a block."""
        try:
            self.acquire()
            yield
        finally:
            try:  # noqa: SIM105 - `suppress` is a function of Python's
                self.release()
            except RuntimeError:
                pass
