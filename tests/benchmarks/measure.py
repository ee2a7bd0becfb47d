"""How something is measured: ours and its floor in turn, and the median of what each pair says.

A machine that others use too is slow in waves. Both halves of a pair lie in the same wave, so their ratio says more
than either time, and the median of several ratios more than one.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from statistics import median
from typing import Literal

import attrs

Unit = Literal["s", "B"]


@attrs.frozen
class Sizes:
    """How much is done. `FULL` is what the targets are about."""

    runs: int = 9  # pairs of a line; a third less where one takes seconds
    calls: int = 25  # single calls of a run, where the line is about one call
    full_appends: int = 20  # of a run, one fsync each
    normal_appends: int = 2_000
    batch: int = 1_000
    batches_a_run: int = 5  # so that a run has its share of the checkpoints
    updates: int = 2_000  # that grow a reply
    reply: int = 500_000  # bytes of that reply
    history: int = 100_000  # messages
    medium: int = 10_000
    long: int = 200_000
    longest: int = 1_000_000
    short: int = 1_000
    long_list: int = 50_000  # entries of a mirror
    short_list: int = 100
    sessions: int = 10_000

    @property
    def many_runs(self) -> int:
        """Pairs of a line that depends on the disk's pace, or on what else the machine does."""
        return self.runs * 5

    @property
    def few_runs(self) -> int:
        """Pairs of a line of which one takes seconds."""
        return max(1, self.runs * 5 // 9)


FULL = Sizes()
QUICK = Sizes(
    runs=5,
    calls=15,
    full_appends=5,
    normal_appends=500,
    batches_a_run=2,
    updates=500,
    reply=125_000,
    history=10_000,
    medium=2_000,
    long=20_000,
    longest=50_000,
    long_list=10_000,
    sessions=1_000,
)
TINY = Sizes(
    runs=1,
    calls=3,
    full_appends=3,
    normal_appends=5,
    batch=20,
    batches_a_run=2,
    updates=40,
    reply=20_000,
    history=100,
    medium=60,
    long=200,
    longest=300,
    short=50,
    long_list=200,
    short_list=20,
    sessions=5,
)
"""So small that the figures say nothing: for a test that each benchmark still runs."""


@attrs.frozen
class Line:
    """One line of the table: what ours took, what the floor took, and what was promised."""

    what: str
    floor_is: str
    ours: float
    floor: float
    ratio: float
    unit: Unit
    target: float | None = None
    target_of: Literal["ratio", "ours"] = "ratio"

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; `None` without one."""
        if self.target is None:
            return None
        return (self.ratio if self.target_of == "ratio" else self.ours) <= self.target


class Folder:
    """Where the files of a run lie: all on one disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._numbers = count(1)

    def new_file(self) -> Path:
        """The path of a file that isn't there yet."""
        return self.path / f"{next(self._numbers)}.db"


@contextmanager
def undisturbed() -> Iterator[None]:
    """What the benchmark itself holds is kept from the garbage collector's walks, which go on as in any program."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def seconds(work: Callable[[], object]) -> float:
    """How long one run takes."""
    with undisturbed():
        start = time.perf_counter()
        work()
        return time.perf_counter() - start


def cpu_seconds(work: Callable[[], object]) -> float:
    """How much of the processors one run takes: what others do on the machine, and the disk, don't count."""
    with undisturbed():
        start = time.process_time()
        work()
        return time.process_time() - start


def seconds_each(calls: Iterable[Callable[[], object]]) -> float:
    """How long the median of many single calls takes."""
    clock = time.perf_counter
    taken: list[float] = []
    with undisturbed():
        for call in calls:
            start = clock()
            call()
            taken.append(clock() - start)
    return median(taken)


def interleave(
    what: str,
    floor_is: str,
    ours: Callable[[], float],
    floor: Callable[[], float],
    *,
    runs: int,
    target: float | None = None,
) -> Line:
    """Ours, floor, ours, floor …: the medians, and the median of the pairwise ratios. Both return seconds."""
    pairs = [(ours(), floor()) for _ in range(runs)]
    return Line(
        what,
        floor_is,
        median(mine for mine, _ in pairs),
        median(theirs for _, theirs in pairs),
        median(mine / theirs for mine, theirs in pairs),
        "s",
        target,
    )


def compare_bytes(
    what: str,
    floor_is: str,
    ours: float,
    floor: float,
    target: float | None = None,
    target_of: Literal["ratio", "ours"] = "ratio",
) -> Line:
    """Bytes, which are the same at every run."""
    return Line(what, floor_is, ours, floor, ours / floor, "B", target, target_of)
