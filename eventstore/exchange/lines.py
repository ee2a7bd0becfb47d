"""JSON Lines: a file of values, a line each, of which some may be damaged.

A line that isn't JSON stops nothing: it comes with its fault, and who reads the file leaves it out and names it. The
last line of a file that is still being written is often torn; a line inside is damaged, and is named as that.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any, BinaryIO, Final, Self

import attrs

from eventstore import strict
from eventstore.exchange.conversation import Skipped
from eventstore.exchange.elements import BOM, LARGEST, decoded
from eventstore.exchange.sources import BUFFER, opened

RECENT: Final = 8


@attrs.frozen
class Line:
    """A line that isn't blank: its number (from 1), where it begins in the file, and its value or its `fault`.

    `text` is all that is on it.
    """

    number: int
    at: int
    value: Any
    fault: str | None = None
    text: bytes = b""

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
        return read_lines(self._file)

    def value(self, at: int) -> Any:
        """The value of the line that begins at `at`, which came without a fault. It isn't to be changed."""
        if at not in self._recent:
            if self._file is None:
                with opened(self.path, seekable=True) as file:
                    value = _value_at(file, at)
            else:
                value = _value_at(self._file, at)
            if len(self._recent) >= RECENT:
                del self._recent[next(iter(self._recent))]
            self._recent[at] = value
        return self._recent[at]


def read_lines(file: BinaryIO) -> Iterator[Line]:
    """The lines of a file, from where it stands. Reading other places of it in between disturbs nothing."""
    at, number = file.tell(), 0
    while True:
        file.seek(at)
        for data in iter(lambda: file.readline(LARGEST), b""):
            here, number = at, number + 1
            at += len(data)
            if len(data) == LARGEST and not data.endswith(b"\n"):
                at += _skip_line(file)
                yield Line(number, here, None, f"it is longer than {LARGEST} bytes")
                continue
            if (said := data.removeprefix(BOM if here == 0 else b"").strip()) != b"":
                yield _line(number, here, said, torn=not data.endswith(b"\n"))
                if file.tell() != at:
                    break
        else:
            return


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
    return decoded(file.readline().removeprefix(BOM if at == 0 else b"").decode().strip())


def _line(number: int, at: int, said: bytes, *, torn: bool) -> Line:
    try:
        value = decoded(said.decode())
    except (ValueError, RecursionError) as error:
        how = "it is torn: the file ends inside it" if torn else "it is damaged"
        return Line(number, at, None, f"{how} ({error})")
    if said.count(b"[") + said.count(b"{") > strict.MAX_DEPTH // 2 and strict.too_deep([[[[[[[[value]]]]]]]]):
        return Line(number, at, None, f"it is nested deeper than {strict.MAX_DEPTH} levels")
    return Line(number, at, value, None, said)
