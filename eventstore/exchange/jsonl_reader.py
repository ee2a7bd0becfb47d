"""A file of our own JSON Lines, session by session: every line checked, and where it stops making sense told.

Memory holds one line, and the ids of the messages of one session.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import BinaryIO

import attrs

from eventstore import driver
from eventstore.copying import Step
from eventstore.exchange.conversation import InvalidExport
from eventstore.exchange.jsonl_checks import Checks
from eventstore.exchange.jsonl_lines import End, Header, InvalidLine, parse_line
from eventstore.exchange.sources import opened, size_of
from eventstore.types import Progress

REPORT_EVERY = 200  # steps between two calls of progress
_BOM = b"\xef\xbb\xbf"


@attrs.define
class _Lines:
    """An open file and what is said about it."""

    path: str | os.PathLike[str]
    file: BinaryIO

    def read_from(self, at: int, number: int) -> Iterator[tuple[int, Header | Step | End | None]]:
        """(number, what it says) of each line that isn't blank; `None` at the file's end. Raises `InvalidExport`."""
        self.file.seek(at)
        for line in iter(self.file.readline, b""):
            said = line.removeprefix(_BOM).strip()
            try:
                if said:
                    yield number, parse_line(said)
            except InvalidLine as error:
                raise self.fault(number, error) from error
            number += 1
        yield max(number - 1, 1), None

    def fault(self, number: int, error: InvalidLine) -> InvalidExport:
        return InvalidExport(self.path, number, str(error))


@attrs.define
class Exported:
    """One session of a file. Its steps may be read more than once, until the next session is asked for."""

    session: str
    _lines: _Lines
    _at: int  # where its steps begin
    _number: int
    _end: tuple[int, int] | None = None

    def steps(self, progress: Progress | None = None) -> Iterator[Step]:
        """Its steps, each checked. `progress` is told bytes of the file. Raises `InvalidExport`."""
        file = self._lines.file
        size = size_of(self._lines.path)
        checks = Checks()
        for count, (number, found) in enumerate(self._lines.read_from(self._at, self._number)):
            if not isinstance(found, Step):
                if isinstance(found, End) and found.steps == count:
                    self._end = file.tell(), number + 1
                    return
                raise self._lines.fault(number, InvalidLine(self._without_end(found, count)))
            try:
                checks.take(found)
            except InvalidLine as error:
                raise self._lines.fault(number, error) from error
            yield found
            if progress is not None and (count + 1) % REPORT_EVERY == 0:
                with driver.calling_out():
                    progress(file.tell(), size)

    def _without_end(self, found: Header | End | None, count: int) -> str:
        what = {
            Header: "the beginning of another: lines are missing",
            End: f"its end after {count} steps, which says another number: lines are missing",
        }.get(type(found), "the end of the file: it is torn")
        return f"wanted session {self.session!r:.80} whole, found {what}; get the export once more"

    def end(self) -> tuple[int, int]:
        """Where the next session begins, and the number of its line."""
        if self._end is None:
            for _ in self.steps():
                pass
        assert self._end is not None
        return self._end


def read(path: str | os.PathLike[str]) -> Iterator[Exported]:
    """The sessions of a file. Raises `InvalidExport` where it makes no sense, `CannotOpen` if it can't be read."""
    with opened(path, seekable=True) as file:
        lines = _Lines(path, file)
        at, number = 0, 1
        while True:
            number, found = next(lines.read_from(at, number))
            if found is None:
                return
            if not isinstance(found, Header):
                raise lines.fault(number, InvalidLine("wanted the first line of a session, found one from inside"))
            exported = Exported(found.session, lines, file.tell(), number + 1)
            yield exported
            at, number = exported.end()
