"""The store: one file of conversations, opened. What `from eventstore import Sessions` gives."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from types import TracebackType
from typing import Literal, Self

from blinker import Signal

from eventstore import heads, hints, log, opening
from eventstore.database import Database
from eventstore.drafting import Drafting
from eventstore.errors import InvalidArgument
from eventstore.feed import INTERVAL
from eventstore.history import check_limit
from eventstore.listeners import Listener, Subscription
from eventstore.names import check_session_id
from eventstore.session import Session
from eventstore.store import Store
from eventstore.tokens import estimate_tokens
from eventstore.tree import ENDLESS
from eventstore.types import Handle, Message, Progress

LIST_WINDOW = 200


class Sessions(Handle):
    """A store of conversations in one SQLite file, or in memory.

    `path` is the file, made when it is new; `":memory:"` keeps nothing. `reserved_metadata_keys` are message metadata
    keys that a write with `source="client"` can't set. `retain` is "current" (what is replaced or deleted is gone) or
    "all" (every version stays readable through `at`); `None` keeps what the file has, "current" in a new one.
    `durability` "full" survives a power cut, "normal" may then lose the last moments and never corrupts.
    `busy_timeout` is how many seconds a write waits for other writers. `read_only` opens, reads and writes nothing.
    `count_tokens(message)` stamps each message as it is written, `prepare(message)` may change it before.

    Any number of threads may use one store, any number of processes one file. Raises `CannotOpen` or what is below it.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] = ":memory:",
        *,
        reserved_metadata_keys: Iterable[str] = (),
        retain: Literal["current", "all"] | None = None,
        durability: Literal["full", "normal"] = "full",
        busy_timeout: float = 5.0,
        read_only: bool = False,
        count_tokens: Callable[[Message], int] = estimate_tokens,
        prepare: Callable[[Message], Message] | None = None,
    ) -> None:
        opening.check_options(retain, durability, busy_timeout, read_only, count_tokens, prepare)
        reserved = opening.reserved_keys(reserved_metadata_keys)
        database = Database(
            opening.store_name(path), durability=durability, busy_timeout=busy_timeout, read_only=read_only
        )
        self._handles: dict[str, Session] = {}
        try:
            drafting = Drafting(reserved=reserved, count_tokens=count_tokens, prepare=prepare)
            self._store = Store(database, drafting, self.session)
            self._store.due_hook = self._compact_if_due
            if retain is not None:
                self._set_retention(retain)
        except BaseException:
            database.close()
            raise

    def _set_retention(self, retain: str) -> None:
        with self._store.read() as connection:
            if log.setting(connection, "retain") == retain:
                return
        with self._store.transaction() as connection:
            log.set_setting(connection, "retain", retain)

    def __repr__(self) -> str:
        return f"<Sessions {self._store.database.path!r}>"

    def __enter__(self) -> Self:
        self._store.database.check_open()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Empties the WAL into the file and closes it. Doing it twice is no error; any other use after it is."""
        self._store.database.close()

    # ---- sessions

    def session(self, session_id: str = "") -> Session:
        """The handle of a conversation, the same object each time. It need not exist: its first write makes it."""
        handle = self._handles.get(session_id) if isinstance(session_id, str) else None
        if handle is None:
            check_session_id(session_id)
            handle = self._handles.setdefault(session_id, Session(self, self._store, session_id))
        return handle

    def _compact_if_due(self, session_id: str) -> None:
        self._handles[session_id]._compactor.compact_if_due()

    def delete_session(self, session_id: str) -> None:
        """Empties a session and takes it from the list, its metadata too. One that isn't listed is left as it is."""
        check_session_id(session_id)
        from eventstore import deleting

        deleting.delete_session(self._store, session_id)

    def list_sessions(self, *, prefix: str = "", limit: int | None = None) -> Iterator[hints.SessionInfo]:
        """The sessions, newest activity first, without reading messages. `prefix` is one of their names."""
        if limit is not None:
            check_limit("limit", limit, 0)
        check_session_id(prefix)
        self._store.database.check_open()
        return self._list_sessions(prefix, ENDLESS if limit is None else min(limit, ENDLESS))

    def _list_sessions(self, prefix: str, limit: int) -> Iterator[hints.SessionInfo]:
        from eventstore import overviews

        read = self._store.lasting_read()
        with read() as connection:
            listed = heads.listed(connection, prefix, ENDLESS, limit)
        for start in range(0, len(listed), LIST_WINDOW):
            with read() as connection:
                found = overviews.list_sessions(connection, listed[start : start + LIST_WINDOW])
            yield from found

    def prune(self, idle_for: timedelta, *, dry_run: bool = False) -> list[hints.SessionInfo]:
        """Deletes the sessions whose last write is longer ago than `idle_for`, and gives what they were.

        The longest idle first, each by a `delete_session` of its own. Times of messages don't count, so that what was
        just imported stays. `dry_run` only says what it would delete. Raises `InvalidArgument`.
        """
        from eventstore import pruning

        return pruning.prune(self._store, idle_for, dry_run)

    # ---- search

    def search(
        self,
        query: str,
        *,
        limit: int | None = 20,
        role: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> list[hints.SearchResult]:
        """The messages, of all branches of all sessions, whose text has all the words of `query`, best first.

        Words may stand in any order; `"a phrase"` stands as it is, `word*` is the beginning of a word, everything else
        that is typed is literal. English words are found by their stem, accents don't count, Chinese, Japanese and
        Korean are found from one character on. A query without a word finds nothing. Of equally good messages the
        newest come first. `limit` `None` gives all; `role`, `since` (inclusive) and `until` (exclusive, both aware)
        look at some messages only. Only text parts are searched. The first search builds the index; each one brings
        it up to date or, where the file can't be written now, takes what it lacks into memory. Raises
        `InvalidArgument`.
        """
        from eventstore import searching  # with the first search: six modules

        return searching.search(self._store, None, query, limit=limit, role=role, since=since, until=until)

    # ---- the feed

    @property
    def changed(self) -> Signal:
        """This store's own signal: receivers are called `receiver(session, *, event)`."""
        return self._store.feed.signal

    @property
    def latest_seq(self) -> int:
        """The newest event's number, 0 in a new store."""
        with self._store.read() as connection:
            return log.latest_seq(connection)

    def subscribe(self, listener: Listener, *, after: int | None = None) -> Subscription:
        """Calls `listener(event)` for every event of the store, and keeps it alive until the subscription is closed.

        With `after`, the log after that seq comes first, then what is new: none lost, none twice. Every event comes
        once, in the order of the log, after it is durable, in a thread that writes or polls. A listener may write; its
        event follows once the current one has reached all. One that raises is logged, and stops nothing. A listener
        must not wait for another thread's write to this store.
        """
        from eventstore import tailing

        return tailing.subscribe(self._store, None, listener, after)

    def events(self, after: int = 0) -> Iterator[hints.Event]:
        """The log's events with `seq` above `after`, up to the newest at the call, in bounded windows."""
        from eventstore import tailing

        return tailing.events(self._store, None, after)

    def tail(
        self, after: int | None = None, *, interval: float = INTERVAL, timeout: float | None = None
    ) -> Iterator[hints.Event]:
        """The log's events with `seq` above `after` (left out: the newest), then new ones as they are written.

        This store's writes and those of other processes. No listener hears anything by it. It looks every `interval`
        seconds, and ends when no event has come for `timeout` seconds (0: when it has given what is there). Raises
        `StoreClosed` when the store is closed meanwhile.
        """
        from eventstore import tailing

        return tailing.tail(self._store, None, after, interval, timeout)

    def watch(self, *, interval: float = INTERVAL) -> Subscription:
        """Polls every `interval` seconds from a thread of its own, until the subscription, or the store, is closed."""
        from eventstore import tailing

        tailing.check_seconds("interval", interval)
        self._store.database.check_open()
        return tailing.Watcher(self._store, interval).start()

    def poll(self) -> int:
        """Delivers what other processes, or other stores, have written since, and returns how many events that was."""
        self._store.database.check_open()
        if self._store.database.in_transaction():
            return 0
        delivered = self._store.feed.poll()
        self._store.compact_due()  # listeners may have appended
        return delivered

    # ---- the whole store

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Makes all writes in it, on any sessions, one atomic unit of this thread; an exception rolls all back.

        Reads in it see its writes. Events go out after the outermost commit. Nested ones are savepoints.
        """
        with self._store.transaction():
            yield

    def at(self, seq: int) -> hints.StoreView:
        """A read-only view of the store as it was after event `seq` (0: empty). Close it when done.

        It reads what is committed, so that it is refused (`InvalidArgument`) inside `transaction()`.
        """
        if not isinstance(seq, int) or isinstance(seq, bool) or not 0 <= seq <= self.latest_seq:
            raise InvalidArgument(f"seq must be the number of an event, 0 to {self.latest_seq}; not {seq!r}")
        from eventstore.views import StoreView

        return StoreView(self._store, seq)

    def verify(self, *, progress: Progress | None = None) -> hints.VerifyReport:
        """Checks SQLite's own integrity, bodies against digests, and the read tables against the log. Never writes.

        It reads what is committed, so that it is refused (`InvalidArgument`) inside `transaction()`.
        """
        from eventstore import checking

        return checking.verify(self._store, progress)

    def rebuild(self, *, progress: Progress | None = None) -> None:
        """Drops the read tables and replays the log into new ones, in one transaction."""
        from eventstore import checking

        checking.rebuild(self._store, progress)

    def backup(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> None:
        """Copies the store, as it is at one moment, into a new file `path`, while others read and write.

        The file is there when it is whole, with the modes of this one. One that is there already is never replaced:
        `CannotOpen`. Raises `StoreFull`, and inside `transaction()` `InvalidArgument`. `progress` counts pages.
        """
        from eventstore import backup

        backup.backup(self._store, opening.file_name(path), progress)

    def scavenge(self, *, vacuum: bool = False, progress: Progress | None = None) -> int:
        """Brings the file to `retain="current"`: takes away what an earlier `retain="all"` kept, and empties the WAL.

        Gives how many bodies (versions of messages, metadata, summaries) it took away. It works in short transactions;
        broken off, it has done a part, and can be called again. `vacuum` packs what is left and gives the free pages
        back to the file system. `progress` counts events; then, to pack, events once more, and the pages given back.
        Raises `InvalidArgument` inside `transaction()`.
        """
        from eventstore import scavenging

        return scavenging.scavenge(self._store, vacuum, progress)
