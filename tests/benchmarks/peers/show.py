"""A comparison as text for a terminal, as Markdown for the docs, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

import attrs

from tests.benchmarks.peers.compare import OURS, Cell, Row
from tests.benchmarks.peers.roster import FLOORS, named
from tests.benchmarks.table import amount

_BEFORE = 0.995  # ratios from here on say "1.0 ×"
_LESS = "who is before us stores texts by a number: no ids that make a retry safe, no tree, no leaf, no totals, no log"
_LOCK = "who is before us writes fewer pages under the one lock that all wait for: no ids, no tree, no log"
REASONS: dict[str, str] = {
    **dict.fromkeys(("append", "turn", "default", "normal", "medium", "long", "disk"), _LESS),
    **dict.fromkeys(("threads", "processes"), _LOCK),
    "edit": "an edit here is logged, and what it replaces is overwritten in the file",
    "delete": "a delete here is logged, and what it takes is overwritten in the file",
    "branch": "a branch here is logged, and can be left and entered again",
    "memory": "an item there is flat, a string where a message here has a list of parts",
    "start": "who is before us imports little beside the standard library's sqlite3",
}
"""By line: why a peer may be before us there."""


@attrs.frozen
class Comparison:
    """A run: when and where, who took part with which settings (by default, and as compared), and its lines."""

    when: str
    machine: str
    versions: dict[str, str]
    by_default: dict[str, str]
    compared: dict[str, str]
    missing: dict[str, str]
    rows: list[Row]


def as_json(comparison: Comparison) -> str:
    """All of it: times in seconds, sizes in bytes, ratios to ours."""
    return json.dumps(attrs.asdict(comparison), ensure_ascii=False, indent=1)


def from_json(text: str) -> Comparison:
    """What `as_json` wrote."""
    found = json.loads(text)
    rows = [
        Row(**{**row, "cells": {name: Cell(**cell) for name, cell in row["cells"].items()}}) for row in found["rows"]
    ]
    return Comparison(**{**found, "rows": rows})


class Footnotes:
    """Texts with numbers, each once. A short table has none."""

    def __init__(self, short: bool = False) -> None:
        self._short = short
        self._numbers: dict[str, int] = {}

    def mark(self, text: str | None) -> str:
        """The number of a text, as a superscript; "" for none."""
        if not text or self._short:
            return ""
        return f"<sup>{self._numbers.setdefault(text, len(self._numbers) + 1)}</sup>"

    def lines(self) -> list[str]:
        """All of them, numbered."""
        return [f"{number}. {text[0].upper()}{text[1:]}." for text, number in self._numbers.items()]


def _cell(row: Row, name: str, footnotes: Footnotes) -> str:
    cell = row.cells.get(name)
    if cell is None:
        return ""
    if cell.value is None:
        return "–" + footnotes.mark(cell.reason)
    if name == OURS:
        return amount(cell.value, row.unit) + footnotes.mark(row.notes.get(name))
    ratio = ratio_text(cell)
    return (f"**{ratio}**" if (cell.ratio or 1) < _BEFORE else ratio) + footnotes.mark(row.notes.get(name))


def ratio_text(cell: Cell) -> str:
    """How many times as much as ours: two digits that count."""
    ratio = cell.ratio or 0.0
    return f"{ratio:,.0f} ×" if ratio >= 10 else f"{ratio:.2g} ×" if ratio < _BEFORE else f"{ratio:.1f} ×"


def beaten(row: Row) -> bool:
    """Whether a peer, not only a floor, is before us."""
    floors = {entry.name for entry in FLOORS}
    return any((cell.ratio or 1) < _BEFORE for name, cell in row.cells.items() if name not in floors and name != OURS)


def markdown(rows: Sequence[Row], names: Sequence[str], *, short: bool = False) -> list[str]:
    """A table of lines by stores, with the footnotes below unless it is short."""
    footnotes = Footnotes(short)
    lines = _table(
        ["", *(named(name).heading for name in names)],
        [
            [
                row.what + footnotes.mark(REASONS.get(row.name) if beaten(row) else None),
                *(_cell(row, name, footnotes) for name in names),
            ]
            for row in rows
        ],
    )
    return [*lines, "", *footnotes.lines()]


def settings(comparison: Comparison) -> list[str]:
    """Who was compared, how each is set by default and in the comparison, and what an append is with each."""
    rows = {row.name: row for row in comparison.rows}
    names = [name for name in comparison.compared if name in rows["append"].cells]
    cells = [
        [
            named(name).heading,
            comparison.versions[name],
            comparison.by_default[name],
            _time(rows["default"], name),
            comparison.compared[name],
            _time(rows["append"], name),
        ]
        for name in names
    ]
    return _table(["", "version", "by default", "append", "compared at", "append"], cells)


def _time(row: Row, name: str) -> str:
    value = row.cells[name].value
    return "–" if value is None else amount(value, row.unit)


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    rule = "| --- |" + " ---: |" * (len(headings) - 1)
    return [f"| {' | '.join(headings)} |", rule, *(f"| {' | '.join(row)} |" for row in rows)]


def plain(rows: Sequence[Row], missing: Mapping[str, str]) -> str:
    """For a terminal: each line of work, and below it each store."""
    lines: list[str] = []
    for row in rows:
        lines.append(row.what)
        for name, cell in row.cells.items():
            said = (
                f"– {cell.reason}"
                if cell.value is None
                else f"{amount(cell.value, row.unit):>10}  {ratio_text(cell):>9}"
            )
            note = row.notes.get(name)
            lines.append(f"  {named(name).heading:28} {said}{f'  ({note})' if note else ''}")
    lines += [f"left out: {name}, since {reason}" for name, reason in missing.items()]
    return "\n".join(lines)
