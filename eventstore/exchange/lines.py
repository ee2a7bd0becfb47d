"""JSON Lines: a file of values, a line each, of which some may be damaged.

A line that isn't JSON stops nothing: it comes with its fault, and who reads the file leaves it out and names it. The
last line of a file that is still being written is often torn; a line inside is damaged, and is named as that.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import blake2b
from typing import Any, BinaryIO, Final, NamedTuple, Self

from eventstore import strict
from eventstore.exchange.conversation import Skipped
from eventstore.exchange.elements import BOM, LARGEST, decoded
from eventstore.exchange.sources import BUFFER, opened

RECENT: Final = 8


class Line(NamedTuple):
    """A line that isn't blank: its number (from 1), where it begins in the file, and its value or its `fault`.

    `text` is all that is on it, `end` where the next one begins.
    """

    number: int
    at: int
    value: Any
    fault: str | None = None
    text: bytes = b""
    end: int = 0

    def digest(self) -> str:
        """The digest of its text."""
        return blake2b(self.text, digest_size=16).hexdigest()

    def skipped(self) -> Skipped:
        """What a report says of a line that has a fault, or isn't what was wanted."""
        return f"line {self.number}", self.fault or "it is no row of this format"


class Lines:
    """A file of JSON Lines that is read once from beginning to end, and then here and there.

    `with` keeps it open; `value` opens it again where it has to.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path
        self._file: BinaryIO | None = None
        self._is_elsewhere = False  # than behind the line that was read last
        self._recent: dict[int, Any] = {}  # values that were read lately: a call, while its result is made

    @contextmanager
    def open(self) -> Iterator[Self]:
        """Keeps the file open. Raises what `sources.opened` raises."""
        with opened(self.path, seekable=True) as self._file:
            try:
                yield self
            finally:
                self._file = None

    def __iter__(self) -> Iterator[Line]:
        assert self._file is not None, "lines are read inside `open()`"
        for line in read_lines(self._file):
            self._is_elsewhere = False
            yield line
            if self._is_elsewhere:
                self._file.seek(line.end)

    def value(self, at: int) -> Any:
        """The value of the line that begins at `at`, which came without a fault. It isn't to be changed."""
        if at not in self._recent:
            if self._file is None:
                with opened(self.path, seekable=True) as file:
                    value = _value_at(file, at)
            else:
                value = _value_at(self._file, at)
                self._is_elsewhere = True
            if len(self._recent) >= RECENT:
                del self._recent[next(iter(self._recent))]
            self._recent[at] = value
        return self._recent[at]


def read_lines(file: BinaryIO) -> Iterator[Line]:
    """The lines of a file, from where it stands."""
    end = file.tell()
    for number, data in enumerate(iter(partial(file.readline, LARGEST), b""), 1):
        at, end = end, end + len(data)
        if len(data) == LARGEST and not data.endswith(b"\n"):
            end += _skip_line(file)
            yield Line(number, at, None, f"it is longer than {LARGEST} bytes", b"", end)
        elif said := data.removeprefix(BOM if at == 0 else b"").strip():
            yield _line(number, at, end, said, torn=not data.endswith(b"\n"))


def _skip_line(file: BinaryIO) -> int:
    """Reads to the end of a line, and says how many bytes that were."""
    skipped = 0
    while data := file.readline(BUFFER):
        skipped += len(data)
        if data.endswith(b"\n"):
            break
    return skipped


def _value_at(file: BinaryIO, at: int) -> Any:
    file.seek(at)
    return decoded(file.readline().removeprefix(BOM if at == 0 else b"").strip())


def _line(number: int, at: int, end: int, said: bytes, *, torn: bool) -> Line:
    try:
        value = decoded(said)
    except (ValueError, RecursionError) as error:
        how = "it is torn: the file ends inside it" if torn else "it is damaged"
        return Line(number, at, None, f"{how} ({error})", b"", end)
    if said.count(b"[") + said.count(b"{") > strict.MAX_DEPTH // 2 and strict.too_deep([[[[[[[[value]]]]]]]]):
        return Line(number, at, None, f"it is nested deeper than {strict.MAX_DEPTH} levels", b"", end)
    return Line(number, at, value, None, said, end)
