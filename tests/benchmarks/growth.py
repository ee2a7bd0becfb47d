"""What must not grow with the conversation: single calls in a long one against the same in a short one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import TypeAlias

from eventstore import Message, Session
from tests.benchmarks.bench import Bench
from tests.benchmarks.material import messages, opened
from tests.benchmarks.measure import Line, interleave, seconds_each

RECENT_BYTES = 64 * 1024
DELETES = 10  # of a run: a tenth of the short conversation in all


class Side:
    """One of the two conversations, with what the calls on it need."""

    def __init__(self, session: Session, number: int, deletes: int) -> None:
        self.session = session
        start = number // 2
        infos = session.get_history_row_stats()
        self.middle = infos[start].id  # it has other branches
        self.doomed = iter([info.id for info in infos[start + 1 : start + 1 + deletes]])
        self._seeds = count(2)

    def new_messages(self, number: int) -> list[Message]:
        """Messages that the conversation doesn't hold."""
        return messages(number, seed=next(self._seeds))


Calls: TypeAlias = Callable[[Side, int], Iterator[Callable[[], object]]]
"""Gives so many single calls to time; what it does between two of them isn't timed."""


def long_reads(bench: Bench) -> list[Line]:
    """The newest messages, by budget, by number and one by one, and the active leaf."""
    with _both(bench) as both:
        return [
            _compare(bench, both, "get_recent_history(max_messages=50)", newest_fifty, 1.5),
            _compare(bench, both, "get_recent_history(64 KiB)", _recent, 1.5),
            _compare(bench, both, "the same after an append", _recent_after_append, 1.5),
            _compare(bench, both, "first of history(newest_first=True)", _newest, 1.5),
            _compare(bench, both, "get_latest_leaf", latest_leaf, 1.5),
        ]


def long_append(bench: Bench) -> list[Line]:
    """An append, durability normal."""
    with _both(bench) as both:
        return [_compare(bench, both, "append_message", append, 1.5)]


def long_tree(bench: Bench) -> list[Line]:
    """The middle of the conversation: its branches, deletes, an update, a new branch, and the way back."""
    with _both(bench) as both:
        return [
            _compare(bench, both, "get_branches mid-chain", branches, 1.5),
            _compare(bench, both, "delete one message mid-chain", delete, 1.5),
            _compare(bench, both, "update_message mid-chain", update, 1.5),
            _compare(bench, both, "append_message below the middle", branch, 1.5),
            _compare(bench, both, "select_leaf", _select, 1.5),
        ]


def newest_fifty(side: Side, number: int) -> Iterator[Callable[[], object]]:
    for _ in range(number):
        yield partial(side.session.get_recent_history, max_messages=50)


def _recent(side: Side, number: int) -> Iterator[Callable[[], object]]:
    for _ in range(number):
        yield partial(side.session.get_recent_history, RECENT_BYTES)


def _recent_after_append(side: Side, number: int) -> Iterator[Callable[[], object]]:
    for message in side.new_messages(number):
        side.session.append_message(message)
        yield partial(side.session.get_recent_history, RECENT_BYTES)


def _newest(side: Side, number: int) -> Iterator[Callable[[], object]]:
    for _ in range(number):
        yield lambda: next(side.session.history(newest_first=True))


def latest_leaf(side: Side, number: int) -> Iterator[Callable[[], object]]:
    for _ in range(number):
        yield side.session.get_latest_leaf


def append(side: Side, number: int) -> Iterator[Callable[[], object]]:
    for message in side.new_messages(number):
        yield partial(side.session.append_message, message)


def branches(side: Side, number: int) -> Iterator[Callable[[], object]]:
    for _ in range(number):
        yield partial(side.session.get_branches, side.middle)


def delete(side: Side, number: int) -> Iterator[Callable[[], object]]:
    for _ in range(min(number, DELETES)):
        yield partial(side.session.delete_messages, [next(side.doomed)])


def update(side: Side, number: int) -> Iterator[Callable[[], object]]:
    for message in side.new_messages(number):
        yield partial(side.session.update_message, {**message, "id": side.middle})


def branch(side: Side, number: int) -> Iterator[Callable[[], object]]:
    leaf = side.session.get_latest_leaf()
    assert leaf is not None
    for message in side.new_messages(number):
        yield partial(side.session.append_message, message, parent_id=side.middle)
        side.session.select_leaf(leaf["id"])


def _select(side: Side, number: int) -> Iterator[Callable[[], object]]:
    (leaf,) = (message["id"] for message in side.session.get_recent_history(max_messages=1).messages)
    aside = side.session.get_branches(side.middle)[0]["id"]
    for _ in range(number):
        yield partial(side.session.select_leaf, aside)
        side.session.select_leaf(leaf)


@contextmanager
def _both(bench: Bench) -> Iterator[tuple[Side, Side]]:
    sizes = bench.sizes
    long, short = bench.conversations.store(sizes.longest), bench.conversations.store(sizes.short)
    deletes = min(sizes.calls, DELETES) * sizes.runs
    with opened(long) as many, opened(short) as few:
        yield Side(many.session(), sizes.longest, deletes), Side(few.session(), sizes.short, deletes)


def _compare(bench: Bench, both: tuple[Side, Side], what: str, calls: Calls, target: float) -> Line:
    sizes = bench.sizes
    long, short = both
    return interleave(
        f"{what}, at {sizes.longest:,} messages",
        f"at {sizes.short:,}",
        lambda: seconds_each(calls(long, sizes.calls)),
        lambda: seconds_each(calls(short, sizes.calls)),
        runs=sizes.runs,
        target=target,
    )
