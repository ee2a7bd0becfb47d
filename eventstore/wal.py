"""The write-ahead log beside a file: how long it may grow, that it is emptied, that no failed commit stays in it."""

from __future__ import annotations

from contextlib import suppress

import apsw

WAL_PAGES = 4_000  # checkpoint after so many pages (8 MB): a page written often goes to the file once
RESTART_PAGES = 8_000  # from so many pages on it is made to begin anew, whoever reads
RESTART_MILLISECONDS = 100  # how long a commit waits for that
WAL_BYTES = 16 * 1024 * 1024  # what is left of a WAL that once grew beyond it
PATIENCE_MILLISECONDS = 200  # how long readers are waited for, to empty the WAL: no other can write meanwhile


def bound(connection: apsw.Connection, busy_timeout: float) -> None:
    """Keeps the WAL from growing for ever, from now on."""
    connection.set_wal_hook(_Checkpoints(round(busy_timeout * 1000)))
    connection.pragma("journal_size_limit", WAL_BYTES)


class _Checkpoints:
    """After each commit: the WAL goes into the file once it is long, and begins anew once it is longer.

    It can only begin anew when nobody reads from it. Among constant readers that moment never comes by itself: a commit
    then waits for it, for a little while, once per so many pages. Whatever comes of it, the commit is done.
    """

    def __init__(self, busy_milliseconds: int) -> None:
        self._busy_milliseconds = busy_milliseconds
        self._restart_at = RESTART_PAGES

    def __call__(self, connection: apsw.Connection, _schema: str, pages: int) -> int:
        if pages < WAL_PAGES:
            self._restart_at = RESTART_PAGES
        elif pages < self._restart_at:
            with suppress(apsw.Error):
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        else:
            self._restart_at = pages + WAL_PAGES
            self._restart(connection)
        return apsw.SQLITE_OK

    def _restart(self, connection: apsw.Connection) -> None:
        connection.set_busy_timeout(RESTART_MILLISECONDS)
        try:
            with suppress(apsw.Error):
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
        finally:
            connection.set_busy_timeout(self._busy_milliseconds)


def commit_nothing(connection: apsw.Connection) -> None:
    """Writes an empty commit over one that failed, as far as the disk lets it.

    Where only a commit's sync failed, all of it is in the WAL. No connection sees it, but who opens the file after a
    crash would take it for done.
    """
    with suppress(apsw.Error):
        connection.pragma("user_version", connection.pragma("user_version"))


def truncate(connection: apsw.Connection, busy_timeout: float) -> bool:
    """Writes the WAL into the file and empties it. False when a reader, who may be waiting to write, still needs it."""
    connection.set_busy_timeout(PATIENCE_MILLISECONDS)
    try:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except apsw.BusyError:
        return False
    finally:
        connection.set_busy_timeout(round(busy_timeout * 1000))
    return True
