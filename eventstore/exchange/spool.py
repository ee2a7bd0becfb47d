"""Values that are put aside while a file is read, and taken up again later: in a temporary file once they are many.

So one list may hold more messages than memory. The file has no name, and is gone with the spool. What can be read only
once is put aside whole (`copied`). Where a file can't be written, that is `StoreFull` or `CannotOpen`, and nothing of
the conversation was stored.
"""

from __future__ import annotations

import errno
import pickle
import tempfile
import weakref
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, BinaryIO, Final, cast

from eventstore.errors import CannotOpen, StoreFull

IN_MEMORY: Final = 1 << 22
"""Bytes that a spool keeps without a file."""
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_PREFIX: Final = "eventstore-"


class Spool:
    """A list that is only added to. What it holds is pickled: a value that comes back is a copy."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(IN_MEMORY, prefix=_PREFIX)  # noqa: SIM115 - closed below
        self._ends = array("q", [0])
        self._at_end = True
        weakref.finalize(self, _close, self._file)

    def __len__(self) -> int:
        return len(self._ends) - 1

    def append(self, value: Any) -> int:
        """Adds a value that pickle knows, and says which it is, from 0."""
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        try:
            if not self._at_end:
                self._file.seek(self._ends[-1])
                self._at_end = True
            self._file.write(data)
        except OSError as error:
            raise _ours(error) from error
        self._ends.append(self._ends[-1] + len(data))
        return len(self._ends) - 2

    def __getitem__(self, at: int) -> Any:
        """The value that was added as the `at`-th, from 0."""
        self._at_end = False
        try:
            self._file.seek(self._ends[at])
            data = self._file.read(self._ends[at + 1] - self._ends[at])
        except OSError as error:  # what was added last may only now go to the disk
            raise _ours(error) from error
        return pickle.loads(data)  # noqa: S301 - our own, in a file without a name


@contextmanager
def copied(stream: BinaryIO, size: int, *, named: bool = False) -> Iterator[BinaryIO]:
    """A stream copied to a temporary file, `size` bytes at a time: it can be read from any place.

    With `named` it has a `name`, by which it can be opened until the block ends.
    """
    # What is there, again and again: one `read` of a pipe waits in C for all that it asked for, and Ctrl-C gets lost.
    read: Callable[[int], bytes] = getattr(stream, "read1", stream.read)
    make = tempfile.NamedTemporaryFile if named else tempfile.TemporaryFile
    try:
        file = cast(BinaryIO, make(prefix=_PREFIX))
    except OSError as error:
        raise _ours(error) from error
    try:
        while data := read(size):
            try:
                file.write(data)
                file.flush()
            except OSError as error:
                raise _ours(error) from error
        file.seek(0)
        yield file
    finally:
        _close(file)


def _close(file: IO[bytes]) -> None:
    """Closes a file that nobody needs any more: what it still had to write need not be there."""
    with suppress(OSError):
        file.close()


def _ours(error: OSError) -> StoreFull | CannotOpen:
    """Our error for the system's."""
    if error.errno in _FULL:
        return StoreFull(
            f"{tempfile.gettempdir()}: no room for what is put aside while a file is read ({error.strerror}); make "
            "room there, or name another folder in TMPDIR. Nothing of the conversation that was read was stored"
        )
    return CannotOpen(
        f"what is put aside while a file is read needs a temporary file, and there can be none: {error}; name a folder "
        "that can be written to in TMPDIR. Nothing of the conversation that was read was stored"
    )
