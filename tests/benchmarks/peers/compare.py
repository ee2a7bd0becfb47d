"""The same work of many stores in turn: round after round, so that a slow moment of the machine falls on all.

A store that writes megabytes leaves the disk busy for the next one. So each round has an order of its own, and what
others have written is on the disk before a store begins.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterable, Mapping
from statistics import median

import attrs

from tests.benchmarks.measure import Unit, undisturbed

OURS = "ours"


@attrs.frozen
class Cell:
    """What one store took: the median, and of the rounds' ratios to ours. Or why there is nothing to say."""

    value: float | None = None
    ratio: float | None = None
    reason: str | None = None


@attrs.frozen
class Row:
    """One kind of work, by the stores' short names. `notes` is what to know of a store's way of doing it."""

    name: str
    what: str
    unit: Unit
    cells: dict[str, Cell]
    notes: dict[str, str] = attrs.Factory(dict)


class Unable(Exception):
    """A store tried and failed: the reason."""


def interleave(measures: Mapping[str, Callable[[], float]], *, rounds: int, budget: float) -> dict[str, Cell]:
    """Each measures once a round. One whose rounds have taken `budget` seconds together takes part in no more."""
    taken: dict[str, list[float]] = {name: [] for name in measures}
    spent = dict.fromkeys(measures, 0.0)
    failed: dict[str, str] = {}
    chance = random.Random(0)
    with undisturbed():
        for _ in range(rounds):
            for name in chance.sample(list(measures), len(measures)):
                if name in failed or (spent[name] > budget and name != OURS):
                    continue
                os.sync()
                start = time.perf_counter()
                try:
                    taken[name].append(measures[name]())
                except Unable as error:
                    failed[name] = str(error)
                spent[name] += time.perf_counter() - start
    return {
        name: Cell(reason=failed[name]) if name in failed else _cell(taken[name], taken[OURS]) for name in measures
    }  # fmt: skip


def _cell(taken: list[float], ours: list[float]) -> Cell:
    return Cell(median(taken), median(each / mine for each, mine in zip(taken, ours, strict=False)))


def each(calls: Iterable[Callable[[], object]], seconds: float) -> float:
    """How long the median of single calls takes; after so many seconds it is of those that there were."""
    clock = time.perf_counter
    taken: list[float] = []
    end = clock() + seconds
    for call in calls:
        start = clock()
        call()
        now = clock()
        taken.append(now - start)
        if now > end:
            break
    return median(taken)
