"""A database file as pages and bytes, below SQL: read and copied, all through SQLite's own file layer."""

from __future__ import annotations

import os
from collections.abc import Generator

import apsw

from eventstore.driver import Connection


def read_header(path: str, size: int) -> bytes:
    """The first bytes of a file, through SQLite's own file layer.

    When a process closes any file descriptor of a file, POSIX drops all the locks that it has on the file: a plain
    `open` here would take them from another store of this process, and the next program that closes the database would
    then remove the WAL from under it.
    """
    file = _opened(path)
    try:
        return file.xRead(size, 0)
    finally:
        file.xClose()


def _opened(path: str) -> apsw.VFSFile:
    """A file, to read. The layer itself follows no link."""
    return apsw.VFSFile("", os.path.realpath(path), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0])


def copy_pages(source: Connection, path: str, step: int) -> Generator[tuple[int, int], None, None]:
    """Copies a database, page for page, into a new file, and gives (pages copied, pages in all) as it goes on.

    What is copied is one state: `source` must have a read transaction open. The file isn't synced.
    """
    target = Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        target.pragma("journal_mode", "off")  # nobody reads it before it is whole
        target.pragma("synchronous", "off")
        with target.backup("main", source, "main") as backup:
            while not backup.done:
                backup.step(step)
                yield backup.page_count - backup.remaining, backup.page_count
    finally:
        target.close()


def copy_file(path: str, target: str, step: int) -> None:
    """Copies the bytes of a file, through SQLite's own file layer (see `read_header`). What can't be read is zeros."""
    file = _opened(path)
    try:
        with open(target, "wb") as copy:
            size = file.xFileSize()
            for offset in range(0, size, step):
                wanted = min(step, size - offset)
                try:
                    copy.write(file.xRead(wanted, offset).ljust(wanted, b"\0"))
                except apsw.Error:
                    copy.write(bytes(wanted))
    finally:
        file.xClose()
