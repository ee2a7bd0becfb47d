"""Where an export lies: a file, the files of a folder, the members of a zip archive.

A `Source` is a path that is opened with `opened` and in no other way: a member of an archive is read as a stream, never
unpacked whole into memory; a file is opened as `plain` says. A folder is walked in the order of its names, with what
lies in its archives. Left out and named: what is hidden, links to folders, folders that can't be listed, pipes and
devices, databases, and members of archives that would grow beyond all measure (`LARGE`, `DENSE`). An archive inside an
archive isn't opened.
"""

from __future__ import annotations

import io
import lzma
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from hashlib import blake2b
from typing import Any, BinaryIO, Final

import attrs

import eventstore.exchange.plain as plain
from eventstore.exchange.conversation import InvalidExport, Skipped
from eventstore.exchange.spool import copied

BUFFER: Final = 1 << 17
LARGE: Final = 1 << 30  # bytes of a member that may be any number of times what is packed
DENSE: Final = 200  # times that a larger one may grow: conversations grow ten times
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_HIDDEN: Final = (".", "__MACOSX")
_BROKEN: Final = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, lzma.LZMAError),
    *(RuntimeError, EOFError, ValueError),  # encrypted or compressed in an unknown way, cut off
)


@attrs.frozen(eq=False)
class Source(os.PathLike[str]):
    """A file that can be opened any number of times. Its path is its name: in an archive, `archive.zip/member`.

    `size` is that of its content in bytes. `heard` is told how far it was read, whenever that is further than before.
    """

    name: str
    size: int
    heard: Callable[[int], object] | None = None
    _archive: zipfile.ZipFile | None = None
    _member: zipfile.ZipInfo | None = None

    def __fspath__(self) -> str:
        return self.name

    def _open(self) -> BinaryIO:
        if self._archive is None or self._member is None:
            return plain.opened(self.name)
        return self._archive.open(self._member)  # type: ignore[return-value]


def size_of(path: str | os.PathLike[str]) -> int:
    """The bytes of the content at `path`."""
    return path.size if isinstance(path, Source) else os.stat(path).st_size


@contextmanager
def opened(path: str | os.PathLike[str], *, seekable: bool = False) -> Iterator[BinaryIO]:
    """The content at `path`, a `Source` or any path, as a stream of bytes.

    `seekable` makes sure that it can be read from any place: a member of an archive is copied to a temporary file then.
    Raises `InvalidExport` where an archive can't be read, `CannotOpen` where a file can't, or the temporary one, and
    what is below it.
    """
    source = path if isinstance(path, Source) else _checked(path)
    with ExitStack() as stack:
        try:
            stream = stack.enter_context(source._open())
            if seekable and source._archive is not None:
                stream = stack.enter_context(copied(stream, BUFFER))
            heard = _Heard(stream, source.heard)
            yield stack.enter_context(io.BufferedReader(heard, BUFFER))
        except (*_BROKEN, OSError) as error:
            if isinstance(error, InvalidExport) or source._archive is None or not _is_of_archive(error):
                raise
            raise InvalidExport(source, None, f"wanted a file in an archive, found a fault ({error})") from error


def _checked(path: Any) -> Source:
    name = plain.name_of(path)
    plain.start_of(name)
    return Source(name, 0)


def _is_of_archive(error: BaseException) -> bool:
    """Whether an error comes from reading an archive, and not from who reads the stream."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_code.co_filename == zipfile.__file__


def digest_of(paths: Iterable[str | os.PathLike[str]]) -> str:
    """The digest of files together: of their content, not their names. Raises as `opened`."""
    digest = blake2b(digest_size=16)
    for path in paths:
        with opened(path) as file:
            for data in iter(lambda: file.read(BUFFER), b""):
                digest.update(data)
        digest.update(b"\0")
    return digest.hexdigest()


class _Heard(io.RawIOBase):
    """A stream that tells how far it was read."""

    def __init__(self, stream: BinaryIO, heard: Callable[[int], object] | None) -> None:
        self._stream = stream
        self._heard = heard
        self._furthest = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._stream.seekable()

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        if self._heard is not None and data and (at := self._stream.tell()) > self._furthest:
            self._furthest = at
            self._heard(at)
        return len(data)


@attrs.frozen
class Found:
    """The files at a path, in order, and those that were left out."""

    sources: list[Source]
    skipped: list[Skipped]
    several: bool  # a folder or an archive, not a file


@contextmanager
def found_at(path: str | os.PathLike[str]) -> Iterator[Found]:
    """The files that lie at `path`: one, or those of a folder or an archive. They can be opened inside the block.

    Raises `InvalidExport` for an archive that can't be read, `CannotOpen` for a path that can't, `InvalidArgument` for
    what is none.
    """
    whole = plain.name_of(path)
    with ExitStack() as stack:
        found = Found([], [], os.path.isdir(whole) or _is_archive(whole))
        if os.path.isdir(whole):
            for name in _files_in(whole, found.skipped):
                try:
                    _add(stack, found, name)
                except (InvalidExport, OSError) as error:
                    found.skipped.append((f"file {name!r}", plain.reason_of(error, name)))
        else:
            _add(stack, found, whole)
        yield found


def _files_in(folder: str, skipped: list[Skipped]) -> Iterator[str]:
    def lost(error: OSError) -> None:
        skipped.append((f"folder {error.filename!r}", f"it can't be listed ({error.strerror})"))

    for inner, folders, files in os.walk(folder, onerror=lost):
        for name in sorted((*folders, *files)):
            path = os.path.join(inner, name)
            if name.startswith(_HIDDEN):
                skipped.append((f"file {path!r}", "it is hidden"))
            elif name in folders and os.path.islink(path):
                skipped.append((f"file {path!r}", "it is a link to a folder"))
            elif name in files:
                yield path
        folders[:] = sorted(name for name in folders if not name.startswith(_HIDDEN))


def _add(stack: ExitStack, found: Found, name: str) -> None:
    if found.several and os.path.exists(name) and not os.path.isfile(name):
        found.skipped.append((f"file {name!r}", "it is neither a file nor a folder"))
        return
    if not _is_archive(name):
        found.sources.append(Source(name, os.stat(name).st_size))
        return
    try:
        archive = stack.enter_context(zipfile.ZipFile(name))
    except _BROKEN as error:
        reason = f"wanted a whole zip archive, found a fault ({error}): get it once more"
        raise InvalidExport(name, None, reason) from error
    for member in sorted(archive.infolist(), key=lambda each: each.filename):
        if member.is_dir():
            continue
        inner = f"{name}/{member.filename}"
        if any(part.startswith(_HIDDEN) for part in member.filename.split("/")):
            found.skipped.append((f"file {inner!r}", "it is hidden"))
        elif member.file_size > max(LARGE, DENSE * member.compress_size):
            found.skipped.append((f"file {inner!r}", f"it would be {member.file_size} bytes, more than any export"))
        else:
            found.sources.append(Source(inner, member.file_size, None, archive, member))


def _is_archive(name: str) -> bool:
    return plain.start_of(name).startswith(_ZIP)
