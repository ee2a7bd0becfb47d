"""A disk that does as a test says: each call into the file system is counted, may fail, or is the last before a cut.

It lies over SQLite's own file layer, for every connection that is opened while it is there, and what the store itself
writes behind the WAL's end goes through it. What it syncs it notes as durable and doesn't wait for the machine's disk;
what was written since is the `Cut`'s to take away.
"""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Callable
from itertools import count
from math import inf
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from unittest.mock import patch

import apsw
import attrs

SECTOR = 512
TEMPORARY = ""
"""The path of a file without a name, such as what SQLite moves of a large savepoint out of memory: no cut leaves it."""
_NAMES = count()


class Short(Exception):
    """Raised by `Disk.before` at a read: the file is to seem to end before it."""


class Torn(Exception):
    """Raised by `Disk.before` at a write: a part of it is to be written before it fails."""


@attrs.define
class Kept:
    """A file as the disk has it: what is durable, and what was done to it since, in order."""

    durable: bytearray | None = None  # None: the disk doesn't know of the file
    since: list[tuple[int, bytes | None]] = attrs.Factory(list)  # (offset, bytes), or (size, None): truncated
    deleted: bool = False  # in a way that a cut may undo
    replaced: Kept | None = None  # a deleted file of this name, that a cut may bring back in the place of this one

    def sync(self) -> None:
        """All of it is durable from here on."""
        self.durable = self._after(self.since)
        self.since = []
        self.replaced = None

    def after_a_cut(self, chosen: random.Random) -> bytearray | None:
        """The file when power comes back: of what wasn't synced, any part. `None`: it isn't there."""
        keep = chosen.choice((0.0, 0.5, 0.5, 0.9, 1.0))
        if self.replaced is not None and chosen.random() >= keep:
            return self.replaced.after_a_cut(chosen)
        if self.durable is None and chosen.random() >= keep:
            return None
        if self.deleted and chosen.random() >= keep:
            return None
        lasting: list[tuple[int, bytes | None]] = []
        for offset, data in self.since:
            if data is None:
                lasting += [(offset, None)] if chosen.random() < keep else []
                continue
            start = 0
            while start < len(data):
                end = start + SECTOR - (offset + start) % SECTOR
                if chosen.random() < keep:
                    lasting.append((offset + start, data[start:end]))
                start = end
        return self._after(lasting)

    def _after(self, done: list[tuple[int, bytes | None]]) -> bytearray:
        content = bytearray(self.durable or b"")
        for offset, data in done:
            if data is None:
                del content[offset:]
                continue
            if len(content) < offset:
                content.extend(bytes(offset - len(content)))
            content[offset : offset + len(data)] = data
        return content


class Disk(apsw.VFS):
    """SQLite's file layer, watched. `before(operation, file name)` is called before each call, and may raise.

    The operations: open, read, write, sync, truncate, size, delete, access. Locks and the memory that processes share
    are `syscalls`'s: SQLite passes over some of their errors, and what Python raises can't be passed over.
    """

    def __init__(self) -> None:
        self._name = f"a disk {next(_NAMES)}"
        self.before: Callable[[str, str], object] | None = None
        self.files: dict[str, Kept] = {}
        self._own_writes = patch.object(os, "pwrite", self._pwrite)
        super().__init__(self._name, "unix", makedefault=True)

    def __enter__(self) -> Self:
        self._own_writes.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.before = None
        self._own_writes.stop()
        self.unregister()

    def call(self, operation: str, path: str) -> None:
        """One call is about to be made."""
        if self.before is not None:
            self.before(operation, os.path.basename(path))

    def kept(self, path: str) -> Kept:
        """What the disk has of a file. One that was there before is durable."""
        found = self.files.get(path)
        if found is None:
            there = Path(path)
            found = self.files[path] = Kept(bytearray(there.read_bytes()) if there.exists() else None)
        return found

    def _pwrite(self, file: int, data: bytes, offset: int) -> int:
        path = os.readlink(f"/proc/self/fd/{file}")
        try:
            self.call("write", path)
        except Torn:
            data = data[: len(data) // 2]
        except apsw.Error as error:
            raise OSError(errno.EIO, f"{error}") from None
        self.kept(path).since.append((offset, data))
        return os.pwritev(file, [data], offset)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self.call("open", path or TEMPORARY)
        if path is None:
            return File(self, TEMPORARY, None, flags)
        if self.kept(path).deleted:
            self.files[path] = Kept(replaced=self.kept(path))
        return File(self, path, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        self.call("delete", filename)
        super().xDelete(filename, syncdir)
        if syncdir or self.kept(filename).durable is None:
            self.files[filename] = Kept()
        else:
            self.kept(filename).deleted = True

    def xAccess(self, pathname: str, flags: int) -> bool:  # noqa: N802
        self.call("access", pathname)
        return super().xAccess(pathname, flags)

    def sync(self, path: str) -> None:
        """Makes a file durable. With a new file, SQLite syncs its folder too: what was deleted is gone for good."""
        if self.kept(path).durable is None:
            self.files = {name: kept for name, kept in self.files.items() if not kept.deleted}
        self.kept(path).sync()

    def cut(self, folder: Path, seed: int) -> None:
        """Writes into `folder` the files that there are when power goes now and comes back."""
        chosen = random.Random(seed)
        for path, kept in self.files.items():
            content = None if path.endswith("-shm") else kept.after_a_cut(chosen)
            if content is not None:
                (folder / os.path.basename(path)).write_bytes(content)


class File(apsw.VFSFile):
    """One open file of it."""

    def __init__(self, disk: Disk, path: str, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        super().__init__("unix", name, flags)
        self._disk = disk
        self._path = path

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        try:
            self._disk.call("read", self._path)
        except Short:
            return b""
        return super().xRead(amount, offset)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        try:
            self._disk.call("write", self._path)
        except Torn:
            self._write(data[: len(data) // 2], offset)
            raise apsw.exception_for(apsw.SQLITE_IOERR_WRITE) from None
        self._write(data, offset)

    def _write(self, data: bytes, offset: int) -> None:
        super().xWrite(data, offset)
        if self._path != TEMPORARY:
            self._disk.kept(self._path).since.append((offset, bytes(data)))

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.call("sync", self._path)
        self._disk.sync(self._path)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._disk.call("truncate", self._path)
        super().xTruncate(newsize)
        if self._path != TEMPORARY:
            self._disk.kept(self._path).since.append((newsize, None))

    def xFileSize(self) -> int:  # noqa: N802
        self._disk.call("size", self._path)
        return super().xFileSize()

    def xLock(self, level: int) -> None:  # noqa: N802
        """SQLite tries to lock a file for writing that it has opened to read, and passes the error over; of errors that
        Python raises, only "busy" is."""
        try:
            super().xLock(level)
        except apsw.IOError:
            raise apsw.exception_for(apsw.SQLITE_BUSY) from None


def failing_syncs(number: float = inf) -> Callable[[str, str], None]:
    """For a disk to call before each call: so many syncs fail."""
    left = number

    def fail(operation: str, _file: str) -> None:
        nonlocal left
        if operation == "sync" and left:
            left -= 1
            raise apsw.exception_for(apsw.SQLITE_IOERR_FSYNC)

    return fail
