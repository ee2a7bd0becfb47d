"""What an event costs a mirror, in a long list against a short one: the mirror alone, no store under it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from itertools import count
from typing import Any, TypeAlias, cast

from eventstore import Appended, Deleted, Event, Message, Session, Subscription, Updated
from projections import mirror
from tests.benchmarks.bench import Bench
from tests.benchmarks.material import messages
from tests.benchmarks.measure import Line, interleave, seconds_each

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Side:
    """A mirrored list, and the listener that keeps it in step."""

    def __init__(self, number: int) -> None:
        self.entries: list[Message] = messages(number)
        self._seqs = count(1)
        self._seeds = count(2)
        mirror(cast(Session, self), self.entries)

    def subscribe(self, listener: Callable[[Event], object], *, after: int | None = None) -> Subscription:
        """As a session's: it keeps the listener."""
        self.listener = listener
        return Subscription(lambda: None)

    def new_messages(self, number: int) -> list[Message]:
        """Messages that the list doesn't hold."""
        return messages(number, seed=next(self._seeds))

    def appended(self, message: Message) -> Callable[[], object]:
        """The delivery of an append."""
        return partial(self.listener, Appended(message=message, parent_id=None, created_at=NOW, **self._common()))

    def updated(self, message: Message) -> Callable[[], object]:
        """The delivery of an update."""
        return partial(self.listener, Updated(message=message, **self._common()))

    def deleted(self, message_id: str) -> Callable[[], object]:
        """The delivery of a delete."""
        return partial(self.listener, Deleted(message_ids=(message_id,), **self._common()))

    def _common(self) -> dict[str, Any]:
        return {"seq": next(self._seqs), "session_id": "", "recorded_at": NOW}


Events: TypeAlias = Callable[[Side, int], Iterator[Callable[[], object]]]
"""Gives so many deliveries to time; what it does between two of them isn't timed."""


def mirror_events(bench: Bench) -> list[Line]:
    """Events alone, and with an owner who edits the end of the list between them."""
    sizes = bench.sizes
    long, short = Side(sizes.long_list), Side(sizes.short_list)
    return [
        interleave(
            f"mirror, {what}, list of {sizes.long_list:,}",
            f"list of {sizes.short_list:,}",
            partial(_run, events, long, sizes.calls),
            partial(_run, events, short, sizes.calls),
            runs=sizes.runs,
            target=2,
        )
        for what, events in (
            ("append", _append),
            ("update", _update),
            ("delete", _delete),
            ("append while the owner edits the end", _append_among_edits),
            ("update while the owner edits the end", _update_among_edits),
        )
    ]


def _run(events: Events, side: Side, number: int) -> float:
    return seconds_each(events(side, number))


def _append(side: Side, number: int) -> Iterator[Callable[[], object]]:
    for message in side.new_messages(number):
        yield side.appended(message)


def _update(side: Side, number: int) -> Iterator[Callable[[], object]]:
    for turn in range(number):
        yield side.updated({**side.entries[len(side.entries) // 2 + turn % 7], "role": "system"})


def _delete(side: Side, number: int) -> Iterator[Callable[[], object]]:
    for message in side.new_messages(number):
        side.appended(message)()
        yield side.deleted(side.entries[len(side.entries) // 2]["id"])


def _append_among_edits(side: Side, number: int) -> Iterator[Callable[[], object]]:
    for message, pending in zip(side.new_messages(number), side.new_messages(number), strict=True):
        side.entries.append(pending)
        side.entries.append(message)
        yield side.appended(message)
        side.entries.pop()


def _update_among_edits(side: Side, number: int) -> Iterator[Callable[[], object]]:
    for turn, pending in enumerate(side.new_messages(number)):
        side.entries.append(pending)
        yield side.updated({**side.entries[len(side.entries) // 2 + turn % 7], "role": "system"})
        side.entries.pop()
