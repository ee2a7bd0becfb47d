"""Rows of cells as lines: aligned under headings where the screen is wide enough, one below the other where it isn't.

Cells are visible text on one line (see `screen`). Where nobody says how wide the screen is, nothing is cut; on a screen
the last column gives way first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
from rich.cells import cell_len
from rich.text import Text

from eventstore.cli.screen import Screen

GAP = "  "
LEAST_LAST = 12  # columns of the last cell, below which rows are taken apart


@attrs.frozen
class Column:
    """A column: what stands above it, how it is set, and its style."""

    title: str
    right: bool = False
    style: str = ""


def lines(screen: Screen, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Iterator[Text]:
    """A heading and a line for each row; nothing without rows."""
    if not rows:
        return
    widths = [max(map(cell_len, (column.title, *cells))) for column, *cells in zip(columns, *rows, strict=True)]
    if screen.width is not None:
        room = screen.width - sum(widths[:-1]) - len(GAP) * (len(columns) - 1)
        if room < min(widths[-1], LEAST_LAST):
            yield from _apart(screen, columns, rows)
            return
        widths[-1] = min(widths[-1], room)
    yield _line(screen, columns, widths, [column.title for column in columns], heading=True)
    for row in rows:
        yield _line(screen, columns, widths, row)


def _line(
    screen: Screen, columns: Sequence[Column], widths: Sequence[int], cells: Sequence[str], *, heading: bool = False
) -> Text:
    line = Text()
    for number, (column, width, cell) in enumerate(zip(columns, widths, cells, strict=True)):
        text = Text(cell)
        if screen.width is not None:
            text.truncate(width, overflow="ellipsis" if screen.has_unicode else "crop")
        space = " " * (width - text.cell_len)
        shown = space + text.plain if column.right else text.plain + space
        line.append((GAP if number else "") + shown, style="dim" if heading else column.style)
    line.rstrip()
    return line


def _apart(screen: Screen, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Iterator[Text]:
    """The first cell of a row, and below it the others that aren't empty, each behind its column's title.

    As many as fit stand on one line. Only the last is cut where the screen ends: the first is a name, which is copied.
    """
    width = screen.width or 0
    for row in rows:
        pieces = [
            Text(f"{column.title} ", style="dim").append(cell, style=f"not dim {column.style}".strip())
            for number, (column, cell) in enumerate(zip(columns, row, strict=True))
            if cell or not number
        ]
        yield pieces[0]
        line = Text()
        for piece in pieces[1:]:
            if line and line.cell_len + len(GAP) + piece.cell_len > width:
                yield line
                line = Text()
            line.append(GAP).append_text(piece)
        if row[-1]:
            line.truncate(width, overflow="ellipsis" if screen.has_unicode else "crop")
        if line:
            yield line
