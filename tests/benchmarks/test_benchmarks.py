"""Each benchmark still runs. What it measures at this size says nothing; that it measures something is tested."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.benchmarks import measure
from tests.benchmarks.measure import TINY, Line, compare_bytes, interleave
from tests.benchmarks.suite import BENCHMARKS, choose, run
from tests.benchmarks.table import amount, as_json, plain, print_table


@pytest.fixture
def _no_collection() -> Iterator[None]:
    """A collection before each pair of runs, among all that the tests hold, would take longer than the runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measure, "gc", SimpleNamespace(collect=int, freeze=int, unfreeze=int))
        yield


@pytest.mark.usefixtures("_no_collection")
@pytest.mark.parametrize("name", BENCHMARKS)
def test_it_runs(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = list(run([name], TINY, tmp_path))
    assert lines
    for _, line in lines:
        assert line.ours >= 0
        assert line.floor > 0
        assert isfinite(line.ratio)
    assert json.loads(as_json(lines))[0]["benchmark"] == name
    print_table([line for _, line in lines])
    assert "ratio" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_a_ratio_is_the_median_of_the_pairs() -> None:
    ours, floor = iter([1.0, 10.0, 3.0]), iter([1.0, 2.0, 1.0])
    line = interleave("a", "b", lambda: next(ours), lambda: next(floor), runs=3, target=3)
    assert (line.ours, line.floor, line.ratio, line.met) == (3, 1, 3, True)


@pytest.mark.parametrize(
    ("line", "met"),
    [
        (compare_bytes("a", "b", 30, 10), None),
        (compare_bytes("a", "b", 30, 10, 3), True),
        (compare_bytes("a", "b", 31, 10, 3), False),
        (compare_bytes("a", "b", 30, 10, 30, "ours"), True),
        (compare_bytes("a", "b", 31, 10, 30, "ours"), False),
    ],
)
def test_a_target_is_met_up_to_its_figure(line: Line, met: bool | None) -> None:
    assert line.met is met


def test_names_are_chosen_by_how_they_begin() -> None:
    assert choose([]) == list(BENCHMARKS)
    assert choose(["append_n", "long"]) == ["append_normal", "long_reads", "long_append", "long_tree"]
    with pytest.raises(LookupError, match="'nothing'"):
        choose(["append", "nothing"])


def test_amounts_have_three_digits() -> None:
    shown = [amount(value, "s") for value in (12.5, 0.00171, 25.4e-6, 3e-9)]
    assert shown == ["12.5 s", "1.71 ms", "25.4 µs", "3.00 ns"]
    assert [amount(value, "B") for value in (26_170_000, 689_128, 300, 0)] == ["26.2 MB", "689 KB", "300 B", "0.00 B"]


def test_a_table_without_rich_is_columns() -> None:
    row = ("one", "1 s", "1 s", "raw", "1.00 ×", "2 ×", "met")
    assert plain([row]).splitlines()[1].split() == ["one", "1", "s", "1", "s", "raw", "1.00", "×", "2", "×", "met"]
