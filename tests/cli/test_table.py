"""Tables: every cell is there, aligned by the columns that a terminal gives its characters, at any width."""

from __future__ import annotations

import io

import pytest
from hypothesis import example, given
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


def check_apart(found: list[str], rows: list[tuple[str, str, str]], width: int) -> None:
    """Each row begins with its first cell, whole; what follows below it is there, but for the end of the last."""
    below: list[str] = []
    for row in reversed(rows):
        while found[-1].startswith("  "):
            below.insert(0, found.pop())
        assert found.pop() == f"name {row[0]}"
        expected = "".join(f"  {title} {cell}" for title, cell in zip(("count", "title"), row[1:], strict=True) if cell)
        said = "".join(below)
        shortened = said.removesuffix("…").rstrip(" ")  # a space stands for half of a wide character
        assert said == expected or (row[2] and expected.startswith(shortened) and said.endswith("…"))
        assert all(cell_len(line) <= max(width, cell_len(f"  count {row[1]}")) for line in below)
        below.clear()
    assert not found


@given(ROWS, st.none() | st.integers(20, 120))
@example([("a", "", "aaaaaa你你你a")], 20)
def test_every_cell_is_there_and_columns_stand_below_each_other(
    rows: list[tuple[str, str, str]], width: int | None
) -> None:
    found = printed(pytest.MonkeyPatch(), rows, width)
    widths = [max(map(cell_len, cells)) for cells in zip(("name", "count", "title"), *rows, strict=True)]
    if width is not None and width < sum(widths[:2]) + 4 + min(widths[2], 12):
        check_apart(found, rows, width)
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
