"""The kinds of work that a process does by itself, one function each: what is done, and how long one of it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import count
from typing import TypeAlias

from tests.benchmarks.bench import Bench
from tests.benchmarks.measure import Sizes
from tests.benchmarks.peers.compare import Row, each, interleave
from tests.benchmarks.peers.contract import Store
from tests.benchmarks.peers.field import NEEDLE, Field, filled, fresh
from tests.benchmarks.peers.roster import Entry

NEWEST = 50
TURN = 4
LONGEST_RUN = 0.5  # seconds of single calls
BUDGET = 20.0  # seconds that a store may take for a line

Calls: TypeAlias = Callable[[Store, Sizes], Iterable[Callable[[], object]]]
"""Gives single calls to time; what it does between two of them isn't timed."""


def _append(store: Store, sizes: Sizes) -> Iterator[Callable[[], object]]:
    for item in fresh(store, max(sizes.full_appends // 3, 1)):
        yield partial(store.append, item)


def _turn(store: Store, sizes: Sizes) -> Iterator[Callable[[], object]]:
    for _ in range(max(sizes.full_appends // 3, 1)):
        yield partial(store.append_turn, fresh(store, TURN))


def _newest(store: Store, sizes: Sizes) -> Iterator[Callable[[], object]]:
    for _ in range(sizes.calls):
        yield partial(store.newest, NEWEST)


def _everything(store: Store, sizes: Sizes) -> Iterator[Callable[[], object]]:
    yield store.everything


def _edit(middle: int) -> Calls:
    """Messages from the middle on: each store's own."""
    numbers: dict[int, Iterator[int]] = {}

    def calls(store: Store, sizes: Sizes) -> Iterator[Callable[[], object]]:
        mine = numbers.setdefault(id(store), count(middle + 1))
        for item in fresh(store, 3):
            yield partial(store.edit, next(mine), item)

    return calls


def _delete(middle: int) -> Calls:
    """Messages before the middle, from there backwards: each store's own."""
    numbers: dict[int, Iterator[int]] = {}

    def calls(store: Store, sizes: Sizes) -> Iterator[Callable[[], object]]:
        mine = numbers.setdefault(id(store), iter(range(middle - 2, 0, -1)))
        for _ in range(2):
            yield partial(store.delete, next(mine))

    return calls


def _branch(middle: int) -> Calls:
    def calls(store: Store, sizes: Sizes) -> Iterator[Callable[[], object]]:
        yield partial(store.branch, middle, fresh(store, 1)[0])
        store.back()

    return calls


def _search(store: Store, sizes: Sizes) -> Iterator[Callable[[], object]]:
    store.search(NEEDLE)  # a first one, which may make an index
    for _ in range(min(sizes.calls, 10)):
        yield partial(store.search, NEEDLE)


def _row(bench: Bench, field: Field, name: str, what: str, calls: Calls, rounds: int) -> Row:
    able = field.able(name)
    measures = {
        short: partial(lambda store: each(calls(store, bench.sizes), LONGEST_RUN), store)
        for short, store in able.items()
    }
    cells = {**interleave(measures, rounds=rounds, budget=BUDGET), **field.unable(name)}
    return Row(name, what, "s", {short: cells[short] for short in field.stores}, field.notes(name))


def work(bench: Bench, entries: Sequence[Entry]) -> Iterator[Row]:
    """Every line, as soon as it is measured."""
    sizes = bench.sizes
    many, few = sizes.runs * 3, sizes.few_runs
    with filled(bench, entries, sizes.short) as field:
        yield _row(bench, field, "append", f"append one, at {sizes.short:,} messages", _append, many)
        yield _row(bench, field, "turn", f"append a turn of {TURN}", _turn, many)
    with filled(bench, entries, sizes.short, None) as field:
        yield _row(bench, field, "default", "append one, each as it is by default", _append, many)
    with filled(bench, entries, sizes.short, "normal") as field:
        yield _row(bench, field, "normal", "append one, synchronous=NORMAL", _append, many)
    with filled(bench, entries, sizes.medium) as field:
        middle = sizes.medium // 2
        at = f"of {sizes.medium:,}"
        yield _row(bench, field, "medium", f"append one, at {sizes.medium:,}", _append, many)
        yield _row(bench, field, "everything", f"load all {at}", _everything, sizes.runs)
        yield _row(bench, field, "branch", f"branch in the middle {at}, read the branch", _branch(middle), few)
        yield _row(bench, field, "edit", f"edit one {at}", _edit(middle), sizes.runs)
        yield _row(bench, field, "delete", f"delete one {at}", _delete(middle), sizes.runs)
        yield _row(bench, field, "search", f"search a word {at}", _search, few)
        yield _notify(bench, field)
    with filled(bench, entries, sizes.history) as field:
        yield _row(bench, field, "newest", f"load the newest {NEWEST} of {sizes.history:,}", _newest, sizes.runs)
        yield _row(bench, field, "long", f"append one, at {sizes.history:,}", _append, sizes.runs)


def _notify(bench: Bench, field: Field) -> Row:
    for store in field.able("notify").values():
        store.notify(field.number)
    what = f"append one and have it in a list of {field.number:,} that follows"
    return _row(bench, field, "notify", what, _append, bench.sizes.runs * 3)
