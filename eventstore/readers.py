"""The connections that a store reads a file with: opened when asked for, and kept for the next read.

In a read-only store a connection takes no locks while nobody else has the file open, since locks would need files
beside it. Such a connection believes what it read once: it isn't used again, and what it gave isn't given out, when the
file has been written to since.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import NamedTuple, TypeVar

from eventstore import driver, opening
from eventstore.driver import Connection
from eventstore.errors import CannotOpen, StoreBusy, StoreClosed

R = TypeVar("R")

PATIENCE = 0.2  # seconds that a store that is being closed waits for connections that are lent
IDLE_READERS = 8  # connections kept open for the next read; more are opened when more threads read at once


class Seen(NamedTuple):
    """What tells that a file may have changed."""

    inode: int
    size: int
    written_at: int
    has_wal: bool  # somebody has it open, or was killed


class Reader:
    """A reading connection and, where it takes no locks, what the file looked like when `readers` opened it."""

    __slots__ = ("connection", "readers", "seen")

    def __init__(self, connection: Connection, seen: Seen | None = None, readers: Readers | None = None) -> None:
        self.connection = connection
        self.seen = seen
        self.readers = readers

    def is_current(self) -> bool:
        """Whether the file is what the connection believes it to be."""
        return self.seen is None or self.readers is None or self.seen == self.readers.look()

    @contextmanager
    def checked(self) -> Iterator[Connection]:
        """The connection, for a block whose answer counts only if the file is the same at its end. Raises `StoreBusy`:
        in place of an error too, for what was read may be neither the old nor the new state."""
        try:
            yield self.connection
        except driver.UNREADABLE as error:
            if not driver.is_of_a_caller(error):
                self.check_unchanged()
            raise
        self.check_unchanged()

    def check_unchanged(self) -> None:
        """Raises `StoreBusy` when what was read without locks was written to meanwhile."""
        if self.seen is not None and self.readers is not None:
            self.readers.check_unchanged(self.seen)


class Readers:
    """The pool of one store. Any thread may use it."""

    def __init__(self, path: str, busy_timeout: float, *, read_only: bool) -> None:
        self._path = path
        self._busy_timeout = busy_timeout
        self._read_only = read_only
        self._closed = False
        self._idle: list[Reader] = []
        self._open: set[Reader] = set()  # idle or lent
        self._opening = threading.Lock()

    @contextmanager
    def lend(self) -> Iterator[Connection]:
        """A connection that shows one state until the block ends."""
        reader = self._take()
        with reader.checked() as connection:
            try:
                connection.execute("BEGIN")
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("COMMIT")
                self._give_back(reader)

    def read_once(self, read: Callable[[Connection], R]) -> R:
        """What one statement reads: it shows one state by itself."""
        reader = self._take()
        if reader.seen is not None:
            with reader.checked():
                return self._read_with(reader, read)
        return self._read_with(reader, read)

    def _read_with(self, reader: Reader, read: Callable[[Connection], R]) -> R:
        try:
            return read(reader.connection)
        finally:
            self._give_back(reader)

    def open(self) -> Reader:
        """A new connection. Where nobody has the file open, it creates no -wal and no -shm beside it."""
        if not self._read_only:
            return Reader(driver.open_reader(self._path, self._busy_timeout))
        opening.check_file(self._path, must_exist=True)
        seen = self.look()
        connection = driver.open_reader(self._path, self._busy_timeout, immutable=not seen.has_wal)
        try:
            opening.check_readable(connection, self._path)
        except BaseException:
            connection.close()
            raise
        return Reader(connection) if seen.has_wal else Reader(connection, seen, self)

    def attach(self, aside: Connection) -> Seen:
        """Attaches the file to a connection in memory, as `open` opens it."""
        opening.check_file(self._path, must_exist=True)
        seen = self.look()
        driver.attach(aside, self._path, self._busy_timeout, immutable=not seen.has_wal)
        return seen

    def check_unchanged(self, seen: Seen) -> None:
        """Raises `StoreBusy` when a file that was read without locks was written to meanwhile."""
        if not seen.has_wal and seen.written_at != self.look().written_at:
            raise StoreBusy(f"{self._path}: it was written to while it was read without locks; try again")

    def close(self) -> None:
        """Closes all connections: what is lent, when it comes back, which is waited for. A connection that reads can't
        clear the WAL away, so it shouldn't be the file's last one."""
        with self._opening:
            self._closed = True
        until = time.monotonic() + PATIENCE
        self._close_idle()
        while self._open and time.monotonic() < until:
            time.sleep(0.001)
            self._close_idle()  # it may have come back as the store was being closed

    def _close_idle(self) -> None:
        with ExitStack() as each, suppress(IndexError):  # another thread may take the last one
            while True:
                each.callback(self._close, self._idle.pop())

    def _take(self) -> Reader:
        while True:
            try:
                reader = self._idle.pop()
            except IndexError:
                return self._new()
            if reader.is_current():
                return reader
            self._close(reader)  # somebody has written, or is about to: what it believes is stale

    def _new(self) -> Reader:
        with self._opening:
            if self._closed:
                raise StoreClosed(f"{self._path} was closed: open it again")
            reader = self.open()
            self._open.add(reader)
            return reader

    def _give_back(self, reader: Reader) -> None:
        if self._closed or len(self._idle) >= IDLE_READERS:
            self._close(reader)
        else:
            self._idle.append(reader)

    def _close(self, reader: Reader) -> None:
        try:
            reader.connection.close()
        finally:
            self._open.discard(reader)

    def look(self) -> Seen:
        """What the file looks like now."""
        try:
            status = os.stat(self._path)
        except OSError as error:
            raise CannotOpen(f"{self._path}: it is gone, or its folder can't be entered: {error.strerror}") from error
        return Seen(status.st_ino, status.st_size, status.st_mtime_ns, os.path.exists(self._path + "-wal"))
