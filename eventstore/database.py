"""One store's connections: who may read, who may write, and what is one transaction.

One connection writes, behind a lock that its thread holds for the whole transaction; every write begins IMMEDIATE, so
that what it reads is what it writes on. Reads take a connection of their own from a pool and see one state; inside
`transaction()`, and in memory, they go through the writer. No cursor and no read transaction outlives its `with`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import TypeVar

from eventstore import driver, forking, opening, wal
from eventstore.aside import Aside
from eventstore.driver import Connection
from eventstore.errors import InvalidArgument, ReadOnlyStore, StoreClosed, StoreForked
from eventstore.locking import WriteLock
from eventstore.readers import Reader, Readers
from eventstore.seams import reach

R = TypeVar("R")


class Database:
    """The file behind a store. `commit_hook` runs after a commit, under the write lock; `release_hook` when it is free
    again; `rollback_hook` at any rollback, with the savepoint's depth (0: all); `closing_hook` before it closes."""

    def __init__(self, path: str, *, durability: str, busy_timeout: float, read_only: bool) -> None:
        self.path = path
        self.read_only = read_only
        self.in_memory = path == opening.MEMORY
        self.commit_hook: Callable[[], object] = lambda: None
        self.release_hook: Callable[[], object] = lambda: None
        self.rollback_hook: Callable[[int], object] = lambda _depth: None
        self.closing_hook: Callable[[], object] = lambda: None
        self._busy_timeout = busy_timeout
        self._pid = os.getpid()
        self._lock = forking.watched(WriteLock(path, busy_timeout))
        self._owner: int | None = None  # the thread whose transaction is open
        self.number = 0  # of transactions begun
        self._depth = 0
        self._lost = False  # SQLite rolled the transaction back by itself
        self._closed = False
        self._closing = threading.Event()
        self._readers = Readers(path, busy_timeout, read_only=read_only)
        self._aside = Aside(self._readers)
        with driver.translated(path):
            self._writer = None if read_only else opening.open_store(path, durability, busy_timeout)
            if read_only:
                with self._readers.lend():
                    pass

    # ---- state

    def check_open(self) -> None:
        """Raises `StoreForked` in a forked child and `StoreClosed` after `close()`."""
        if os.getpid() != self._pid:
            raise StoreForked(
                f"{self.path} was opened in process {self._pid}: open one store per worker, after the fork"
            )
        if self._closed:
            raise StoreClosed(f"{self.path} was closed: open it again")

    def check_writable(self) -> None:
        """Raises what a write would raise before it begins."""
        self.check_open()
        if self.read_only:
            raise ReadOnlyStore(f"{self.path} was opened with read_only=True: open it without, to write")

    def in_transaction(self) -> bool:
        """Whether this thread has the store's write transaction open."""
        return self._owner is not None and self._owner == threading.get_ident()

    @property
    def depth(self) -> int:
        """How many transactions and savepoints this thread has open."""
        return self._depth if self._owner == threading.get_ident() else 0

    def close(self) -> None:
        """Empties the WAL into the file and closes every connection. Doing it twice is no error."""
        if self._closed or os.getpid() != self._pid:
            return
        if self.in_transaction():
            raise InvalidArgument("close() inside transaction(): leave it first")
        self._closing.set()
        self.closing_hook()
        with self._lock.held():
            self._closed = True
            with driver.translated(self.path), ExitStack() as each:  # closed all, also when one of them fails
                each.callback(self._close_writer)
                each.callback(self._aside.close)
                each.callback(self._readers.close)

    def sleep(self, seconds: float) -> None:
        """Lets time pass. Raises `StoreClosed` as soon as the store is being closed."""
        if self._closing.wait(seconds):
            raise StoreClosed(f"{self.path} was closed while its events were waited for")

    def truncate_wal(self) -> bool:
        """Writes the WAL into the file and empties it. False when a reader still needs it after a moment."""
        with driver.translated(self.path), self._lock.held():
            return self._writer is None or self.in_memory or wal.truncate(self._writer, self._busy_timeout)

    def _close_writer(self) -> None:
        if self._writer is not None:
            with closing(self._writer):
                if not self.in_memory:
                    wal.truncate(self._writer, self._busy_timeout)

    # ---- reading

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that shows one state until the block ends. Don't yield from it to a caller."""
        self.check_open()
        try:
            if self.in_transaction():
                yield self._open_transaction()
            elif self.in_memory:
                with self._lock.held():
                    assert self._writer is not None
                    yield self._writer
            else:
                with self._readers.lend() as reader:
                    yield reader
        except driver.UNREADABLE as error:
            if self.in_transaction():
                driver.drop_pages(self._writer, error)
            driver.raise_ours(error, self.path)
            raise

    def read_once(self, read: Callable[[Connection], R]) -> R:
        """What a single statement reads, without the cost of a transaction around it."""
        if self.in_memory or self.in_transaction():
            with self.read() as connection:
                return read(connection)
        self.check_open()
        try:
            return self._readers.read_once(read)
        except driver.UNREADABLE as error:
            driver.raise_ours(error, self.path)
            raise

    @contextmanager
    def aside(self) -> Iterator[Connection]:
        """The connection in memory beside the file, for who can't write there."""
        self.check_open()
        with driver.translated(self.path), self._aside.lend() as connection:
            yield connection

    def leave_aside(self) -> None:
        """Drops what `aside` keeps: it isn't needed now."""
        self._aside.leave()

    @contextmanager
    def private(self) -> Iterator[Connection]:
        """A connection of the caller's own, with temporary tables to use as it likes; closed at the end."""
        reader = self.open_private()
        with driver.translated(self.path), closing(reader.connection), reader.checked() as connection:
            yield connection

    def check_outside(self, what: str) -> None:
        """Raises `InvalidArgument` inside `transaction()`, for what reads what is committed, or commits by itself."""
        self.check_open()
        if self.in_transaction():
            raise InvalidArgument(f"{what} works with what is committed, so not inside transaction(): leave it first")

    def open_private(self) -> Reader:
        """As `private`, for a caller who keeps it, checks it and closes it."""
        self.check_outside("at() or verify()")
        with driver.translated(self.path):
            if not self.in_memory:
                return self._readers.open()
            with self._lock.held():
                assert self._writer is not None
                return Reader(driver.open_copy(self._writer))

    # ---- writing

    def begin(self, patience: float | None = None) -> Connection:
        """Opens a transaction, or a savepoint in the open one. `end` must follow. `patience` as by `WriteLock`."""
        if self.read_only or self._closed or os.getpid() != self._pid:
            self.check_writable()
        assert self._writer is not None
        me = threading.get_ident()
        outer = self._depth if self._owner == me else 0
        held = False
        try:
            held = self._lock.acquire(patience)
            if self._closed:  # meanwhile
                self.check_open()
            if outer:
                driver.begin_savepoint(self._open_transaction(), outer)
            else:
                if self._lost or self._writer.in_transaction:
                    self._drop_leftovers()
                driver.begin(self._writer, self._busy_timeout, patience)
            self._owner, self._depth, self.number = me, outer + 1, self.number + (not outer)
        except BaseException as error:
            if held:  # an interrupt may have come behind the BEGIN
                with suppress(driver.Error):
                    driver.release(self._writer, outer) if outer else self._drop_leftovers()
                driver.drop_pages(self._writer, error)
            try:  # noqa: SIM105 - no function of Python's, whose entry an interrupt could strike
                self._lock.release()
            except RuntimeError:  # it isn't this thread's
                pass
            if isinstance(error, driver.Error):
                raise driver.translate(error, self.path) from error
            raise
        return self._writer

    def _open_transaction(self) -> Connection:
        """This thread's. Raises where SQLite rolled it back by itself, as it does when a read in it fails."""
        assert self._writer is not None
        if self._lost or not self._writer.in_transaction:
            self._lost = True
            raise driver.lost(self.path)
        return self._writer

    def _drop_leftovers(self) -> None:
        """Rolls back what an interrupt (Ctrl-C) left open between two steps of this class. For who holds the lock."""
        assert self._writer is not None
        self._lost = False
        if self._writer.in_transaction:
            driver.roll_back(self._writer, 0)
            self.rollback_hook(0)

    def end(self, error: BaseException | None) -> None:
        """Commits what `begin` opened, or rolls it back after an error, and tells the hooks. Raises our own error for a
        driver's, whether it came from inside or from the commit."""
        outermost = self._depth == 1
        committed = False
        try:
            self._depth -= 1
            committed = self._finish(failed=error is not None)
        except driver.Error as failure:
            raise driver.translate(failure, self.path) from failure
        except BaseException:  # an interrupt: the outermost is rolled back below
            if not (outermost or self._lost):
                self._roll_back_rest(failed=error is not None)
            raise
        finally:
            try:
                if outermost:
                    self._owner = None
                    self._drop_leftovers()
                if error is not None:
                    driver.drop_pages(self._writer, error)
            finally:
                try:  # noqa: SIM105 - as above
                    self._lock.release()
                except RuntimeError:  # an interrupt came first
                    pass
        if outermost and committed:
            self.release_hook()
        if isinstance(error, driver.Error):
            raise driver.translate(error, self.path) from error

    def _finish(self, *, failed: bool) -> bool:
        assert self._writer is not None
        if self._lost or not self._writer.in_transaction:
            self._lost = True
            self.rollback_hook(0)
            if failed:
                return False
            raise driver.lost(self.path)
        if failed:
            self._roll_back()
            return False
        try:
            driver.release(self._writer, self._depth)
        except driver.Error:
            self._roll_back()
            if self._depth == 0:
                wal.commit_nothing(self._writer)
            raise
        if self._depth == 0:
            reach("committed")
            self.commit_hook()
        return True

    def _roll_back(self) -> None:
        """SQLite may have done it by itself, as on a full disk. The hook comes first: a rollback can fail, too."""
        assert self._writer is not None
        self.rollback_hook(self._depth)
        if self._writer.in_transaction:
            driver.roll_back(self._writer, self._depth)

    def _roll_back_rest(self, *, failed: bool) -> None:
        """Rolls a savepoint back whose end was interrupted. One that is no more was released, or rolled back."""
        assert self._writer is not None
        with suppress(driver.Error):
            driver.roll_back(self._writer, self._depth)
            failed = True
        if failed:
            self.rollback_hook(self._depth)
