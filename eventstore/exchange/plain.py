"""A file that a caller names: whether it can be read, and what it begins with.

**What may belong to an SQLite database isn't opened.** When a process closes any descriptor of a file, POSIX drops all
the locks that it has on the file. A store that lies in a folder of exports, as the command's own may, would lose its
locks to the import, and the next program that closes it would remove the WAL from under it. So a file is looked at
through SQLite's own file layer first (`pages.read_header`), and what lies beside a database is told by its name.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import Any, BinaryIO, Final

from eventstore import driver, pages
from eventstore.codec import has_surrogate
from eventstore.errors import CannotOpen, InvalidArgument
from eventstore.exchange.conversation import InvalidExport

_DATABASE: Final = b"SQLite format 3\0"
_BESIDE: Final = ("-wal", "-shm", "-journal")
DATABASE: Final = "an SQLite database: if it is a store, open it with --db, or import what its export makes"


def name_of(path: Any) -> str:
    """A path as text. Raises `InvalidArgument`."""
    try:
        name = os.fsdecode(path)
        os.fsencode(name)
    except (TypeError, UnicodeEncodeError):  # half a surrogate pair names nothing
        raise InvalidArgument(f"path must be that of a file, a folder or an archive, not {path!r}") from None
    if not name or "\0" in name:
        raise InvalidArgument(f"path must name a file, a folder or an archive, not {name!r}")
    return name


def start_of(name: str) -> bytes:
    """What a file begins with, 16 bytes at most; nothing of what isn't a file: a pipe is read once.

    Raises `CannotOpen` for what can't be read, `InvalidExport` for what belongs to a database.
    """
    try:
        mode = os.stat(name).st_mode
    except OSError as error:
        raise unreadable(name, error) from error
    if stat.S_ISDIR(mode):
        raise CannotOpen(f"{name}: it is a folder; import_file reads those")
    if not stat.S_ISREG(mode):
        return b""
    if not os.access(name, os.R_OK):
        raise unreadable(name, OSError(errno.EACCES, os.strerror(errno.EACCES)))
    real = os.path.realpath(name) if os.path.islink(name) else name
    base = real.rpartition("-")[0]
    if real.endswith(_BESIDE) and os.path.isfile(base) and _read(base).startswith(_DATABASE):
        raise InvalidExport(name, None, f"wanted an export, found what SQLite keeps beside the database {base}")
    start = _read(name)
    if start.startswith(_DATABASE):
        raise InvalidExport(name, None, f"wanted an export, found {DATABASE}")
    return start


def _read(name: str) -> bytes:
    if has_surrogate(name):  # no name that SQLite takes, so that no store is opened by it
        with opened(name) as file:
            return file.read(len(_DATABASE))
    with driver.translated(name):
        return pages.read_header(name, len(_DATABASE))


def opened(name: str) -> BinaryIO:
    """The file, which `start_of` has looked at. Raises `CannotOpen`."""
    try:
        return open(name, "rb")
    except OSError as error:
        raise unreadable(name, error) from error


def unreadable(name: str, error: OSError) -> CannotOpen:
    """Our error for the system's."""
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return CannotOpen(f"{name}: there is no such file; name an export, or a folder or zip archive that holds some")
    return CannotOpen(f"{name}: it can't be read: {error.strerror}; check its owner and mode")


def reason_of(error: InvalidExport | OSError, name: str) -> str:
    """What is wrong with the file `name`, told beside its name."""
    return error.reason if isinstance(error, InvalidExport) else str(error).removeprefix(f"{name}: ")
