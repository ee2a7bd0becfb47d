"""JSON Lines: a file of values, a line each, of which some may be damaged.

A line that isn't JSON stops nothing: it comes with its fault, and who reads the file leaves it out and names it. The
last line of a file that is still being written is often torn; a line inside is damaged, and is named as that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

import attrs

from eventstore import strict
from eventstore.exchange.conversation import Skipped
from eventstore.exchange.elements import DECODER

_BOM = b"\xef\xbb\xbf"


@attrs.frozen
class Line:
    """A line that isn't blank: its number (from 1), where it begins in the file, and its value or its `fault`."""

    number: int
    at: int
    value: Any
    fault: str | None = None

    def skipped(self) -> Skipped:
        """What a report says of a line that has a fault, or isn't what was wanted."""
        return f"line {self.number}", self.fault or "it is no row of this format"


def read_lines(file: BinaryIO) -> Iterator[Line]:
    """The lines of a file, from where it stands. Reading other places of it in between disturbs nothing."""
    at, number = file.tell(), 0
    while True:
        file.seek(at)
        for data in iter(file.readline, b""):
            here, number = at, number + 1
            at += len(data)
            if (said := data.removeprefix(_BOM if here == 0 else b"").strip()) != b"":
                yield _line(number, here, said, torn=not data.endswith(b"\n"))
                if file.tell() != at:
                    break
        else:
            return


def value_at(file: BinaryIO, at: int) -> Any:
    """The value of the line that begins at `at`, which `read_lines` gave without a fault."""
    file.seek(at)
    return DECODER.decode(file.readline().removeprefix(_BOM if at == 0 else b"").decode().strip())


def _line(number: int, at: int, said: bytes, *, torn: bool) -> Line:
    try:
        value = DECODER.decode(said.decode())
    except (ValueError, RecursionError) as error:
        how = "it is torn: the file ends inside it" if torn else "it is damaged"
        return Line(number, at, None, f"{how} ({error})")
    if said.count(b"[") + said.count(b"{") > strict.MAX_DEPTH // 2 and strict.too_deep([[[[[[[[value]]]]]]]]):
        return Line(number, at, None, f"it is nested deeper than {strict.MAX_DEPTH} levels")
    return Line(number, at, value)
