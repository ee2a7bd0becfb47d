"""Tables: every cell is there, aligned by the columns that a terminal gives its characters, at any width."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from eventstore.cli.screen import Screen
from eventstore.cli.table import Column, lines

COLUMNS = (Column("name", style="bold"), Column("count", right=True), Column("title"))
CELLS = st.text(st.sampled_from("ab é你👍"), max_size=30).map(str.strip)
ROWS = st.lists(st.tuples(CELLS.filter(bool), CELLS, CELLS), min_size=1, max_size=5)


def printed(monkeypatch: pytest.MonkeyPatch, rows: list[tuple[str, str, str]], width: int | None) -> list[str]:
    with monkeypatch.context() as patch:
        patch.delenv("COLUMNS", raising=False)
        if width is not None:
            patch.setenv("COLUMNS", str(width))
        return [line.plain for line in lines(Screen(io.StringIO()), COLUMNS, rows)]


def test_nothing_without_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed(monkeypatch, [], None) == []


@given(ROWS, st.none() | st.integers(20, 120))
def test_every_cell_is_there_and_columns_stand_below_each_other(
    rows: list[tuple[str, str, str]], width: int | None
) -> None:
    found = printed(pytest.MonkeyPatch(), rows, width)
    widths = [max(map(cell_len, cells)) for cells in zip(("name", "count", "title"), *rows, strict=True)]
    if width is not None and width < sum(widths[:2]) + 4 + min(widths[2], 12):
        cells = [cell for row in rows for number, cell in enumerate(row) if cell or not number]
        assert len(found) == len(cells)
        for line, cell in zip(found, cells, strict=True):
            assert line.endswith(cell) or (line.startswith("  title") and width - 1 <= cell_len(line) <= width)
        return
    assert len(found) == len(rows) + 1
    for line, (first, second, third) in zip(found[1:], rows, strict=True):
        assert line.startswith(first)
        start = line[len(first) :].lstrip(" ")
        assert start.startswith(second or third[:5])
        if second:
            before = line.index(second, len(first)) + len(second)
            assert cell_len(line[:before]) == widths[0] + 2 + widths[1]
        if width is None:
            assert line.endswith(third)
        else:
            assert cell_len(line) <= width
