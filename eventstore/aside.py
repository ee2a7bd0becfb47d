"""What a store keeps in memory, beside a file that it may not write, or can't now: tables of its own in one connection,
with the file attached as `file`. A name that isn't in memory is found there.

The file is attached as the pool of readers opens it: without locks while nobody has it open, and anew when somebody has
written to it since. What is in memory stays, until the file is another one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from eventstore import driver
from eventstore.driver import Connection
from eventstore.readers import Readers, Seen


class Aside:
    """The connection, for one thread at a time."""

    def __init__(self, readers: Readers) -> None:
        self._readers = readers
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._seen: Seen | None = None  # the file as it is attached

    @contextmanager
    def lend(self) -> Iterator[Connection]:
        """The connection, in a transaction that shows one state of the file. What is written to memory stays."""
        with self._lock:
            try:
                connection, seen = self._look()
                connection.execute("BEGIN")
            except BaseException:
                self._close()  # an interrupt may have come behind what it didn't note
                raise
            try:
                yield connection
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
            try:
                self._readers.check_unchanged(seen)
            except BaseException:
                self._close()  # what was read may have gone into what is kept
                raise

    def _look(self) -> tuple[Connection, Seen]:
        now = self._readers.look()
        if self._seen is not None and self._seen.inode != now.inode:
            self._close()
        if self._connection is None:
            self._connection = driver.open_aside()
        if self._seen is not None and self._seen != now and not (self._seen.has_wal and now.has_wal):
            self._seen = None
            self._connection.execute("DETACH file")
        if self._seen is None:
            self._seen = self._readers.attach(self._connection)
        return self._connection, self._seen

    def leave(self) -> None:
        """Closes the connection, unless a thread is at it."""
        if self._lock.acquire(blocking=False):
            try:
                self._close()
            finally:
                self._lock.release()

    def close(self) -> None:
        """Closes the connection."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = self._seen = None
