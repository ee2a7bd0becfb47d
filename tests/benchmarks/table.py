"""The lines as one table: by rich where it is there, else plain; or as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import attrs

from tests.benchmarks.measure import Line, Unit

_HEADINGS = ("what", "ours", "floor", "floor is", "ratio", "target", "")
_NUMBERS = (1, 2, 4, 5)  # columns set to the right
_WIDTH = 160  # of a table that goes into a file or a pipe
_SCALES: dict[Unit, tuple[tuple[float, str], ...]] = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    "B": ((1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1.0, "B")),
}


def amount(value: float, unit: Unit) -> str:
    """A time or a size in the largest unit that fits, with three digits."""
    scales = _SCALES[unit]
    factor, name = next((scale for scale in scales if value >= scale[0]), scales[-1])
    return f"{value / factor:#.3g}".rstrip(".") + f" {name}"


def _target(line: Line) -> str:
    if line.target is None:
        return ""
    return f"{line.target:g} ×" if line.target_of == "ratio" else amount(line.target, line.unit)


def _cells(line: Line) -> tuple[str, ...]:
    met = {True: "met", False: "MISSED", None: ""}[line.met]
    return (
        line.what,
        amount(line.ours, line.unit),
        amount(line.floor, line.unit),
        line.floor_is,
        f"{line.ratio:.2f} ×",
        _target(line),
        met,
    )


def print_table(lines: Sequence[Line]) -> None:
    """Prints the table."""
    rows = [_cells(line) for line in lines]
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        print(plain(rows))
        return
    table = Table(*_HEADINGS)
    for number, column in enumerate(table.columns):
        column.justify = "right" if number in _NUMBERS else "left"
        column.no_wrap = number in _NUMBERS
        column.overflow = "fold"
    for row in rows:
        style = "red" if row[-1] == "MISSED" else None
        table.add_row(*row, style=style)
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    console.print(table)


def plain(rows: Sequence[tuple[str, ...]]) -> str:
    """Columns of text."""
    table = [_HEADINGS, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column in _NUMBERS else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    )


def as_json(lines: Sequence[tuple[str, Line]]) -> str:
    """Every line as an object: times in seconds, sizes in bytes."""
    return json.dumps(
        [{"benchmark": name, **attrs.asdict(line), "met": line.met} for name, line in lines],
        ensure_ascii=False,
        indent=2,
    )
