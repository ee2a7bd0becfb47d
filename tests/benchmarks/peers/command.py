"""`python -m tests.benchmarks peers`: every kind of work by every store that is installed, as one table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from tests.benchmarks.bench import Bench
from tests.benchmarks.measure import FULL, QUICK, Sizes
from tests.benchmarks.pages import PERFORMANCE, README, machine, now, replace
from tests.benchmarks.peers.apart import apart
from tests.benchmarks.peers.compare import Row
from tests.benchmarks.peers.roster import EVERYONE, FLOORS, OURS, PEERS, Entry
from tests.benchmarks.peers.show import Comparison, as_json, from_json, markdown, plain, settings
from tests.benchmarks.peers.work import work

SHORT = ("append", "turn", "newest", "everything", "branch", "edit", "search", "processes", "disk", "start")
"""The lines that the README shows."""


def taking_part(wanted: Sequence[str]) -> tuple[list[Entry], dict[str, str]]:
    """The store, the floors and the peers that are wanted (no name: all); and who is missing, with the reason."""
    asked = [entry for entry in PEERS if not wanted or entry.name in wanted]
    missing = {entry.name: reason for entry in asked if (reason := entry.missing()) is not None}
    return [OURS, *FLOORS, *(entry for entry in asked if entry.name not in missing)], missing


def measure(bench: Bench, entries: Sequence[Entry]) -> Iterator[Row]:
    """Every line."""
    yield from work(bench, entries)
    yield from apart(bench, entries)


def compare(sizes: Sizes, folder: Path, wanted: Sequence[str]) -> Comparison:
    """Measures. All files lie below `folder`."""
    entries, missing = taking_part(wanted)
    for name, reason in missing.items():
        print(f"{name} is left out: {reason}", file=sys.stderr)
    with TemporaryDirectory(prefix="benchmarks-", dir=folder) as path:
        bench = Bench(sizes, Path(path))
        by_default, compared = _settings(bench, entries, None), _settings(bench, entries, "full")
        rows: list[Row] = []
        for row in measure(bench, entries):
            rows.append(row)
            print(plain([row], {}), file=sys.stderr, flush=True)
    versions = {entry.name: entry.version() for entry in entries}
    return Comparison(now(), machine(), versions, by_default, compared, missing, rows)


def _settings(bench: Bench, entries: Sequence[Entry], durability: str | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in entries:
        store = entry.load()(bench.folder.new_file(), "full" if durability else None)
        found[entry.name] = store.settings()
        store.close()
    return found


def write(comparison: Comparison) -> None:
    """Puts the tables into the docs, between their marks."""
    names = [entry.name for entry in EVERYONE if entry.name in comparison.compared]
    said = f"{comparison.when}, {comparison.machine}."
    whole = [said, "", *markdown(comparison.rows, names), "", *settings(comparison)]
    whole += [f"Left out: {name}, since {reason}." for name, reason in comparison.missing.items()]
    replace(PERFORMANCE, "peers", whole)
    short = [row for name in SHORT for row in comparison.rows if row.name == name]
    replace(README, "peers", [*markdown(short, [name for name in names if name != "sqlite3"], short=True), said])


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks peers", description="Compare with other stores.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(entry.name for entry in PEERS)}")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, for a first look")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/performance.md and README.md")
    parser.add_argument("--saved", type=Path, help="the JSON of an earlier run, instead of measuring")
    parser.add_argument("--folder", type=Path, default=Path(gettempdir()), help="a folder on the disk to measure")
    chosen = parser.parse_args(arguments)
    if chosen.saved is None:
        comparison = compare(QUICK if chosen.quick else FULL, chosen.folder, chosen.names)
    else:
        comparison = from_json(chosen.saved.read_text())
    print(as_json(comparison) if chosen.json else plain(comparison.rows, comparison.missing))
    if chosen.write:
        write(comparison)
    return 0
