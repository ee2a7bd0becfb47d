"""Each benchmark still runs. What it measures at this size says nothing; that it measures something is tested."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import attrs
import pytest

from tests.benchmarks import importing, measure, plot, profile
from tests.benchmarks.bench import Bench
from tests.benchmarks.exports import FILES
from tests.benchmarks.material import messages
from tests.benchmarks.measure import TINY, Line, compare_bytes, interleave
from tests.benchmarks.pages import DESIGN, PERFORMANCE, README, replace
from tests.benchmarks.peers import apart, field, show
from tests.benchmarks.peers import compare as peers_compare
from tests.benchmarks.peers.command import SHORT, compare
from tests.benchmarks.peers.compare import Cell, Row, Unable
from tests.benchmarks.peers.compare import interleave as peers_interleave
from tests.benchmarks.peers.field import NEEDLE, conversation
from tests.benchmarks.peers.roster import PEERS, named
from tests.benchmarks.peers.show import Comparison, beaten, from_json, markdown
from tests.benchmarks.suite import BENCHMARKS, choose, run
from tests.benchmarks.table import amount, as_json, plain, print_table


@pytest.fixture(scope="module")
def _no_collection() -> Iterator[None]:
    """A collection before each pair of runs, among all that the tests hold, would take longer than the runs."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (measure, field):
            patch.setattr(module, "gc", SimpleNamespace(collect=int, freeze=int, unfreeze=int))
        yield


@pytest.mark.usefixtures("_no_collection")
@pytest.mark.parametrize("name", [*BENCHMARKS, "import_formats"])
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


def test_the_memory_of_an_import_is_measured(tmp_path: Path) -> None:
    bench = Bench(attrs.evolve(TINY, long=40), tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importing, "FILES", {"pi session": FILES["pi session"]})
        [line] = importing.import_memory(bench)
    assert line.ours > 0
    assert line.floor > 0


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory, _no_collection: None) -> Comparison:
    """The store and the floors, without a peer; nothing waits for the machine's disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(apart, "PROCESSES", 2)
        patch.setattr(peers_compare, "os", SimpleNamespace(sync=int))
        return compare(TINY, tmp_path_factory.mktemp("peers"), ["nobody"])


def test_the_same_work_is_done_by_all(comparison: Comparison) -> None:
    names = {"ours", "apsw", "sqlite3"}
    assert {row.name for row in comparison.rows} > set(SHORT)
    for row in comparison.rows:
        assert set(row.cells) == names
        for cell in row.cells.values():
            assert (cell.value is None) == (cell.reason is not None)
            assert cell.value is None or (isfinite(cell.value) and cell.value >= 0)
        assert row.cells["ours"].ratio == 1
    assert set(comparison.compared.values()) == {"wal, full"}
    assert comparison.by_default == {"ours": "wal, full", "apsw": "delete, full", "sqlite3": "delete, full"}


def test_a_comparison_is_read_back_as_it_was_written(comparison: Comparison) -> None:
    assert from_json(show.as_json(comparison)) == comparison


def test_a_table_says_why_something_is_not_done(comparison: Comparison) -> None:
    lines = markdown(comparison.rows, list(comparison.compared))
    assert len({line.count(" | ") for line in lines[:10]}) == 1
    (branch,) = (line for line in lines if line.startswith("| branch"))
    assert "–<sup>" in branch
    assert any("no branches" in line for line in lines)
    assert "no branches" in show.plain(comparison.rows, {})


@pytest.mark.parametrize("name", [entry.name for entry in PEERS])
def test_a_peer_keeps_what_it_is_given(name: str, tmp_path: Path) -> None:
    entry = named(name)
    if (reason := entry.missing()) is not None:
        pytest.skip(f"the peer {name} needs what isn't there: {reason}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # theirs
        store = entry.load()(tmp_path / "one.db", "full")
        assert store.settings() == "wal, full"
        store.fill(conversation(40))
        assert len(store.everything()) == 40
        store.append(store.prepare(messages(1, seed=1)[0]))
        store.append_turn([store.prepare(message) for message in messages(3, seed=2)])
        assert len(store.everything()) == 44
        if "newest" not in store.cannot:
            assert len(store.newest(10)) >= 10
        if "branch" not in store.cannot:
            assert len(store.branch(20, store.prepare(messages(1, seed=3)[0]))) in (21, 22)
            store.back()
            assert len(store.everything()) == 44
        if "edit" not in store.cannot:
            store.edit(25, store.prepare(messages(1, seed=4)[0]))
            assert len(store.everything()) == 44
        if "delete" not in store.cannot:
            store.delete(10)
            assert len(store.everything()) == 43
        if "search" not in store.cannot:
            assert len(store.search(NEEDLE)) == 1
        store.close()


def test_who_is_missing_is_named() -> None:
    entry = attrs.evolve(PEERS[0], needs=("nothing_of_this_name",))
    assert entry.missing() == "nothing_of_this_name isn't installed"
    assert attrs.evolve(entry, needs=("nothing_of_this_name.inner",)).missing() is not None
    with pytest.raises(LookupError, match="'nobody'"):
        named("nobody")


def test_a_store_that_fails_says_so_and_the_others_go_on() -> None:
    def fail() -> float:
        raise Unable("fails: locked")

    rounds = iter([2.0, 4.0, 6.0])
    cells = peers_interleave({"ours": lambda: 2.0, "a": lambda: next(rounds), "b": fail}, rounds=3, budget=9)
    assert cells == {"ours": Cell(2, 1), "a": Cell(4, 2), "b": Cell(reason="fails: locked")}


def test_a_peer_is_before_us_only_where_it_is(comparison: Comparison) -> None:
    row = Row("a", "a", "s", {"ours": Cell(2, 1), "apsw": Cell(1, 0.5), "llm": Cell(3, 1.5)})
    assert not beaten(row)
    assert beaten(attrs.evolve(row, cells={**row.cells, "agno": Cell(1, 0.5)}))


def test_growth_is_drawn(tmp_path: Path) -> None:
    times = plot.measure(Bench(TINY, tmp_path))
    assert set(times) == set(plot.CALLS)
    lines = plot.table({"one": [(10, 1e-6), (100, 20e-6)]})
    assert lines[2] == "| one | 1.00 µs | 20.0 µs | 20 × |"
    drawn = plot.picture({**times, "far": [(50, 1.0), (500, 2.0)]})
    assert ElementTree.fromstring(drawn).tag.endswith("svg")
    assert all(name in drawn for name in plot.CALLS)


def test_a_profile_has_its_parts(tmp_path: Path) -> None:
    found = profile.profiles(Bench(TINY, tmp_path))
    assert [each.signals is None for each in found] == [False, False, True, True]
    assert all(each.whole > 0 and each.statements > 0 and each.json > 0 and each.number >= 1 for each in found)
    assert len(profile.table(found)) == 2 + len(found)


def test_a_part_of_a_page_is_replaced_between_its_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- a: by hand -->\nold\n<!-- end of a -->\nafter\n")
    for _ in range(2):
        replace(page, "a", ["new", "\\1"])
        assert page.read_text() == "before\n<!-- a: by hand -->\n\nnew\n\\1\n\n<!-- end of a -->\nafter\n"
    with pytest.raises(LookupError, match="'b'"):
        replace(page, "b", [])


@pytest.mark.parametrize(
    ("page", "name"), [(PERFORMANCE, "peers"), (PERFORMANCE, "growth"), (README, "peers"), (DESIGN, "profile")],
    ids=["table", "growth", "readme", "profile"],
)  # fmt: skip
def test_the_docs_have_the_marks(page: Path, name: str) -> None:
    text = page.read_text()
    assert text.count(f"<!-- {name}: ") == text.count(f"<!-- end of {name} -->") == 1


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
