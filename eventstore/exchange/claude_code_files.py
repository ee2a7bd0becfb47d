"""The files of a Claude Code session, read the first time: their rows by id, and what is said of the session.

See `claude_code` for the rules. Memory holds a `Row` for each row, and no content.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

import attrs

from eventstore.exchange.claude_code_rows import FORMAT, SHARED, Place, Row, is_row, is_spoken, said
from eventstore.exchange.conversation import InvalidExport, Skipped
from eventstore.exchange.elements import first_objects, read_elements
from eventstore.exchange.identities import Identities
from eventstore.exchange.lines import Line, Lines
from eventstore.exchange.sources import opened
from eventstore.exchange.values import list_of, object_of, usable

_TITLES = {"custom-title": ("customTitle", "title"), "ai-title": ("aiTitle", "title"), "summary": ("summary",)}


class Rows(Protocol):
    """Where the rows of a file come from, and where they are read again."""

    def __iter__(self) -> Iterator[Line]: ...
    def value(self, at: int) -> Any:
        """The row at a place."""


class Loglines:
    """The rows of the web variant, one object that holds them all."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        [element] = read_elements(path)
        self._rows = list_of(object_of(element.value).get("loglines"))

    def __iter__(self) -> Iterator[Line]:
        return (Line(number, number - 1, value) for number, value in enumerate(self._rows, 1))

    def value(self, at: int) -> Any:
        """The row with this number, from 0."""
        return self._rows[at]


@attrs.define
class LeafSummary:
    """A summary that stands beside the tree and names the row that it ends at."""

    leaf: str
    text: str
    behind: int  # how many rows came before it


@attrs.define
class Transcript:
    """One session: its rows in the order of the files, first those that aren't an agent's."""

    session: str | None
    files: Sequence[Rows]
    rows: dict[str, Row] = attrs.field(factory=dict)
    shared: dict[str, Any] = attrs.field(factory=dict)
    titles: dict[str, str] = attrs.field(factory=dict)
    summaries: list[LeafSummary] = attrs.field(factory=list)
    skipped: list[Skipped] = attrs.field(factory=list)
    others: Counter[str] = attrs.field(factory=Counter)  # rows that are no messages, by type
    _identities: Identities = attrs.field(factory=Identities)
    _before: str | None = None
    _unsaid: tuple[str, ...] = SHARED

    def value(self, place: Place) -> dict[str, Any]:
        """A row, read again."""
        value: dict[str, Any] = self.files[place[0]].value(place[1])
        return value

    def add(self, value: Mapping[str, Any], place: Place) -> None:
        """Remembers a row."""
        self._describe(value)
        uuid, spoken = value.get("uuid"), is_spoken(value)
        if not usable(uuid):
            if not spoken:
                self._add_beside(value)
                return
            follows = value.get("parentUuid")
            uuid = self._identities.derive(follows if isinstance(follows, str) else self._before, said(value))
        row = Row.of(str(uuid), value, place)
        if (first := self.rows.get(row.id)) is not None:
            if row.role is None:
                return  # a hook's row that repeats the id of a message
            if first.role is not None and not self._is_another(row, first, value):
                return
        self.rows[row.id] = row
        if spoken:
            self._before = row.id
        elif row.kind != "system" and not row.cuts:
            self.others[row.kind] += 1

    def _is_another(self, row: Row, first: Row, value: Mapping[str, Any]) -> bool:
        """Whether a row says something else than the first with its id; then it gets an id of its own."""
        if said(self.value(first.place)) == said(value):
            return False
        what = f"message {row.id!r}"
        row.id = self._identities.derive(row.id, said(value))
        if row.id in self.rows:
            return False
        self.skipped.append((what, f"it is there twice with different contents: the second is {row.id!r}"))
        return True

    def _describe(self, value: Mapping[str, Any]) -> None:
        for key in self._unsaid:
            if key in value and isinstance(value[key], str):
                self.shared[key] = value[key]
                self._unsaid = tuple(other for other in self._unsaid if other != key)
        kind = str(value.get("type"))
        for field in _TITLES.get(kind, ()) if kind != "summary" or not usable(value.get("uuid")) else ():
            if isinstance(value.get(field), str) and value[field].strip():
                self.titles[kind] = value[field]
                break

    def _add_beside(self, value: Mapping[str, Any]) -> None:
        kind, leaf, text = str(value.get("type")), value.get("leafUuid"), value.get("summary")
        if kind == "summary" and isinstance(text, str) and text.strip() and isinstance(leaf, str) and leaf in self.rows:
            self.summaries.append(LeafSummary(leaf, text, len(self.rows)))
        elif kind not in _TITLES:
            self.others[kind] += 1


# ---- files


@contextmanager
def reading(paths: Sequence[str | os.PathLike[str]]) -> Iterator[list[Rows]]:
    """The files, open for the time of the block."""
    with ExitStack() as stack:
        files: list[Rows] = []
        for path in paths:
            files.append(Loglines(path) if _is_web(path) else stack.enter_context(Lines(path).open()))
        yield files


def _is_web(path: str | os.PathLike[str]) -> bool:
    with opened(path) as file:
        return any("loglines" in found for found in first_objects(file.read(1 << 12)))


def first_session(path: str | os.PathLike[str]) -> tuple[str | None, bool]:
    """The session that a file begins with, and whether it is an agent's."""
    try:
        with reading([path]) as (rows,):
            for line in rows:
                if is_row(line.value) and usable(line.value.get("sessionId")):
                    return line.value["sessionId"], line.value.get("isSidechain") is True
    except InvalidExport:  # it is told when the file is read
        pass
    return None, False


def transcripts(paths: Sequence[str | os.PathLike[str]], files: Sequence[Rows]) -> list[Transcript]:
    """The sessions of the files. What names none belongs to that of the rows before it, or to the file's first."""
    found: dict[str | None, Transcript] = {}
    for number, (path, rows) in enumerate(zip(paths, files, strict=True)):
        session, _ = first_session(path)
        for line in rows:
            value = line.value
            fits = is_row(value)
            if fits and usable(value.get("sessionId")):
                session = value["sessionId"]
            transcript = found.get(session)
            if transcript is None:
                transcript = found[session] = Transcript(session, files)
            if fits:
                transcript.add(value, (number, line.at))
                continue
            what, why = line.skipped()
            transcript.skipped.append((what if len(paths) == 1 else f"{what} of {os.fspath(path)}", why))
    return list(found.values())


__all__ = ["FORMAT", "LeafSummary", "Rows", "Transcript", "first_session", "reading", "transcripts"]
