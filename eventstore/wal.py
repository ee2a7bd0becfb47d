"""The write-ahead log beside a file: how long it may grow, that it is emptied, that no failed commit stays in it."""

from __future__ import annotations

import os
from contextlib import suppress

import apsw

WAL_PAGES = 4_000  # checkpoint after so many pages (8 MB): a page written often goes to the file once
RESTART_PAGES = 8_000  # from so many pages on it is made to begin anew, whoever reads
RESTART_MILLISECONDS = 100  # how long a commit waits for that
WAL_BYTES = 16 * 1024 * 1024  # what is left of a WAL that once grew beyond it
ROOM_BYTES = 32 * 1024  # that its file has for a commit, where commits are synced
AHEAD_BYTES = (64 * 1024, 512 * 1024)  # least and most that the file is longer than it is used
FREE_BYTES = 64 * 1024 * 1024  # that the disk has: the last of it is for what is really written
PATIENCE_MILLISECONDS = 200  # how long readers are waited for, to empty the WAL: no other can write meanwhile
_FULL = 2  # of PRAGMA synchronous: commits are synced
_FRAME_HEADER = 24  # bytes before each page. https://www.sqlite.org/fileformat2.html#walformat


def bound(connection: apsw.Connection, busy_timeout: float) -> None:
    """Keeps the WAL from growing for ever, and its file from growing at each commit, from now on."""
    ahead = _Ahead(connection.filename, connection.filename_wal)
    connection.set_wal_hook(_Checkpoints(round(busy_timeout * 1000), ahead))
    connection.pragma("journal_size_limit", WAL_BYTES)


class _Ahead:
    """Before each commit: the WAL's file is made longer than the commit needs, where commits are synced and a file can
    be written at a place.

    A sync that finds a file longer than before has the file system's own log written, too: on ext4 an INSERT took
    162 µs so, and 106 without. What is added is zeros, which end the WAL for SQLite: as much as is used, within
    `AHEAD_BYTES`. It is added inside the transaction, since nobody else can append to the WAL then, and only behind the
    file's end. Where that fails, nothing is lost but the time.

    The WAL's file stays the same one as long as the connection is open: another that has got its name isn't touched.
    """

    def __init__(self, path: str, wal_path: str) -> None:
        self._path = path
        self._wal_path = wal_path
        self._opened = _identity(path)
        self._wal: tuple[int, int] | None = None
        self._frame = 0  # bytes
        self._pages = 0  # that the last commit left in the WAL
        self._size = 0  # of the file, as far as it is known

    def note(self, connection: apsw.Connection, pages: int) -> bool:
        """Told of each commit. False when it need not be told of others: they aren't synced, or can't be prepared."""
        if not self._pages:
            if not hasattr(os, "pwrite") or connection.pragma("synchronous") < _FULL:
                return False
            self._frame = connection.pragma("page_size") + _FRAME_HEADER
            self._wal = _identity(self._wal_path) if _identity(self._path) == self._opened else None
            connection.set_commit_hook(self)
        elif pages < self._pages:  # the WAL began anew: another process may have cut it off
            self._size = 0
        self._pages = pages
        return True

    def __call__(self) -> bool:
        used = self._pages * self._frame
        if used + ROOM_BYTES > self._size and self._wal is not None:
            least, most = AHEAD_BYTES
            self._size = used + min(max(used, least), most)  # whatever comes of it: it isn't tried again at once
            with suppress(OSError):
                self._lengthen(self._size)
        return False  # go on

    def _lengthen(self, wanted: int) -> None:
        # No locks are taken on it, so that none goes when it is closed. A pipe of its name isn't waited for.
        file = os.open(self._wal_path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            found, disk = os.fstat(file), os.fstatvfs(file)
            if (found.st_dev, found.st_ino) != self._wal:
                self._wal = None
            elif 0 < found.st_size < wanted and disk.f_bavail * disk.f_frsize > FREE_BYTES:
                os.pwrite(file, bytes(wanted - found.st_size), found.st_size)
        finally:
            os.close(file)


def _identity(path: str) -> tuple[int, int] | None:
    """Which file a path names; `None` for none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class _Checkpoints:
    """After each commit: the WAL goes into the file once it is long, and begins anew once it is longer.

    It can only begin anew when nobody reads from it. Among constant readers that moment never comes by itself: a commit
    then waits for it, for a little while, once per so many pages. Whatever comes of it, the commit is done.
    """

    def __init__(self, busy_milliseconds: int, ahead: _Ahead) -> None:
        self._ahead: _Ahead | None = ahead
        self._busy_milliseconds = busy_milliseconds
        self._restart_at = RESTART_PAGES

    def __call__(self, connection: apsw.Connection, _schema: str, pages: int) -> int:
        if self._ahead is not None and not self._ahead.note(connection, pages):
            self._ahead = None
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
