"""`python -m tests.benchmarks plot`: single calls in conversations of growing length, as a table and a picture."""

from __future__ import annotations

import argparse
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory, gettempdir

from tests.benchmarks import growth, svg
from tests.benchmarks.bench import Bench
from tests.benchmarks.growth import DELETES, Side
from tests.benchmarks.material import opened
from tests.benchmarks.measure import FULL, QUICK, Sizes, seconds_each
from tests.benchmarks.pages import PERFORMANCE, replace, said
from tests.benchmarks.table import amount

PICTURE = PERFORMANCE.with_suffix(".svg")


def _everything(side: Side, number: int) -> Iterator[Callable[[], object]]:
    yield lambda: deque(side.session.history(), maxlen=0)


CALLS: dict[str, growth.Calls] = {
    "read all, one by one": _everything,
    "branches of a message": growth.branches,
    "load the newest 50": growth.newest_fifty,
    "delete one in the middle": growth.delete,
    "branch in the middle": growth.branch,
    "update one in the middle": growth.update,
    "append one": growth.append,
    "the active leaf": growth.latest_leaf,
}
"""By what a reader of the plot calls it; durability is normal, so that no line is a disk's."""

Times = dict[str, list[tuple[int, float]]]


def lengths(sizes: Sizes) -> list[int]:
    """Powers of ten from the short conversation to the longest."""
    found = [sizes.short]
    while found[-1] * 10 <= sizes.longest:
        found.append(found[-1] * 10)
    return found


def measure(bench: Bench) -> Times:
    """The median of each call at each length, the lengths in turn."""
    sizes = bench.sizes
    with ExitStack() as stack:
        sides: dict[int, Side] = {}
        for number in lengths(sizes):
            store = stack.enter_context(opened(bench.conversations.store(number)))
            sides[number] = Side(store.session(), number, DELETES * sizes.few_runs)
        times: Times = {}
        for what, calls in CALLS.items():
            taken: dict[int, list[float]] = {number: [] for number in sides}
            for _ in range(1 if calls is _everything else sizes.few_runs):
                for number, side in sides.items():
                    taken[number].append(seconds_each(calls(side, min(sizes.calls, DELETES))))
            times[what] = [(number, median(each)) for number, each in taken.items()]
            print(what, *(f"{number:,}: {amount(each, 's')}" for number, each in times[what]), file=sys.stderr)
    return times


def table(times: Times) -> list[str]:
    """A Markdown table: a line a call, with how much it grows from the shortest to the longest."""
    numbers = [number for number, _ in next(iter(times.values()))]
    lines = [f"| messages | {' | '.join(f'{number:,}' for number in numbers)} | grows |"]
    lines.append("| --- |" + " ---: |" * (len(numbers) + 1))
    for what, each in times.items():
        cells = [amount(taken, "s") for _, taken in each]
        grows = each[-1][1] / each[0][1]
        lines.append(f"| {what} | {' | '.join(cells)} | {grows:,.0f} × |" if grows >= 10 else
                     f"| {what} | {' | '.join(cells)} | {grows:.1f} × |")  # fmt: skip
    return lines


def picture(times: Times) -> str:
    """The same as SVG."""
    return svg.plot(
        "one call, by the conversation's length (durability normal)", "messages in the conversation", times,
        lambda number: f"{number:,.0f}", lambda taken: amount(taken, "s").replace(".00", "").replace(".0", ""),
    )  # fmt: skip


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks plot", description="Costs as they grow.")
    parser.add_argument("--quick", action="store_true", help="up to 50,000 messages instead of 1,000,000")
    parser.add_argument("--write", action="store_true", help="into docs/performance.md and docs/performance.svg")
    parser.add_argument("--folder", type=Path, default=Path(gettempdir()), help="a folder on the disk to measure")
    chosen = parser.parse_args(arguments)
    with TemporaryDirectory(prefix="benchmarks-", dir=chosen.folder) as path:
        times = measure(Bench(QUICK if chosen.quick else FULL, Path(path)))
    lines = table(times)
    print("\n".join(lines))
    if chosen.write:
        PICTURE.write_text(picture(times))
        replace(PERFORMANCE, "growth", [said(), "", *lines])
    return 0
