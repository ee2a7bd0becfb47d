"""The store as it was after an event: its log up to there, folded into temporary tables of a connection of its own.

A session is replayed when it is first asked for. Bodies come from the file: a version that wasn't retained reads as
`{"type": "erased"}`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import TracebackType
from typing import Self

from eventstore import driver, heads, log, overviews, schema
from eventstore.driver import Connection, fetch, fetch_one
from eventstore.errors import EventStoreError, StoreClosed
from eventstore.fold import Fold
from eventstore.history import Read, check_limit
from eventstore.infos import SessionInfo
from eventstore.names import check_session_id
from eventstore.readers import Reader
from eventstore.reading import ReadableSession
from eventstore.store import Store
from eventstore.totals import PathTotals
from eventstore.tree import ENDLESS
from eventstore.types import Handle


class StoreView(Handle):
    """A read-only store as of one event. Close it when done, or use `with`; closing the store doesn't."""

    def __init__(self, store: Store, seq: int) -> None:
        self.seq = seq
        self._past = _Past(store, seq)

    def __repr__(self) -> str:
        return f"<StoreView at {self.seq}>"

    def __enter__(self) -> Self:
        self._past.check_open()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes the view's connection. Doing it twice is no error."""
        self._past.close()

    def session(self, session_id: str = "") -> ReadableSession:
        """One conversation as it was: every read, no write."""
        check_session_id(session_id)
        return ReadableSession(self._past, session_id)

    def list_sessions(self, *, prefix: str = "", limit: int | None = None) -> Iterator[SessionInfo]:
        """The sessions that were listed then, newest activity first."""
        if limit is not None:
            check_limit("limit", limit, 0)
        check_session_id(prefix)
        with self._past.read_all() as connection:
            listed = heads.listed(connection, prefix, self.seq + 1, ENDLESS if limit is None else min(limit, ENDLESS))
            found = overviews.list_sessions(connection, listed)
        return iter(found)


class _Past:
    """What the sessions of a view read from."""

    def __init__(self, store: Store, seq: int) -> None:
        self.totals = PathTotals()
        self._seq = seq
        self._store = store
        self._lock = threading.Lock()
        self._replayed: set[int] = set()
        self._is_whole = True  # whether the tables hold the sessions `_replayed`, and nothing of others
        self._reader: Reader | None = self._open()

    def _open(self) -> Reader:
        reader = self._store.database.open_private()
        try:
            with driver.translated(self._store.database.path):
                schema.create_read_tables(reader.connection, "temp")
        except BaseException:
            reader.connection.close()
            raise
        return reader

    def close(self) -> None:
        with self._lock:
            reader, self._reader = self._reader, None
            if reader is not None:
                reader.connection.close()

    def check_open(self) -> Reader:
        """What it reads with. Raises `StoreClosed` once the view or its store was closed, and `StoreForked`."""
        self._store.database.check_open()
        if self._reader is None:
            raise StoreClosed("the view was closed: ask the store for another with at()")
        return self._reader

    def position(self, connection: Connection) -> int:
        """The seq that the view is of."""
        return self._seq

    def lasting_read(self, name: str) -> Read:
        """As `read_session`: no transaction is open where a view is made, and none changes what it shows."""
        return partial(self.read_session, name)

    @contextmanager
    def read_session(self, name: str) -> Iterator[Connection]:
        """The view's connection, with a session replayed."""
        with self._state() as connection:
            key = log.session_key(connection, name)
            if key is not None:
                self._replay(connection, key)
            yield connection

    @contextmanager
    def read_all(self) -> Iterator[Connection]:
        """The view's connection, with every session replayed."""
        with self._state() as connection:
            for (key,) in fetch(connection, "SELECT session FROM main.head WHERE session <= ?", (self._seq,)):
                self._replay(connection, key)
            yield connection

    @contextmanager
    def _state(self) -> Iterator[Connection]:
        self.check_open()
        with self._lock, driver.translated(self._store.database.path):
            reader = self._current(self.check_open())
            with reader.checked() as connection:
                self._is_whole = False
                connection.execute("BEGIN")  # one state
                try:
                    yield connection
                except EventStoreError:
                    self._keep(connection)
                    raise
                except BaseException:
                    with suppress(driver.Error):
                        connection.execute("ROLLBACK")
                    raise
                self._keep(connection)

    def _keep(self, connection: Connection) -> None:
        """Keeps what was replayed. It isn't called where the file couldn't be read, or an interrupt came: a session may
        be replayed in part then, and SQLite may have taken back any of it."""
        connection.execute("COMMIT")
        self._is_whole = True

    def _current(self, reader: Reader) -> Reader:
        """What to read with: another is opened behind a read that failed, and where a file that was opened without
        locks has been written to since."""
        if self._is_whole and reader.is_current():
            return reader
        self._is_whole = False
        self._reader = fresh = self._open()
        self._replayed.clear()
        reader.connection.close()
        return fresh

    def _replay(self, connection: Connection, session: int) -> None:
        if session in self._replayed or session > self._seq:
            return
        (last,) = fetch_one(connection, "SELECT last FROM main.head WHERE session = ?", (session,))
        Fold(connection).apply_all(log.read_session(connection, last, upto=self._seq))
        self._replayed.add(session)
