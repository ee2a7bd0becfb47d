"""Paths read as messages: whole, in windows, or as the newest that fit a budget.

A window is planned from sizes alone, then read in one go, and no connection is held while the caller has it. So a slow
reader keeps nobody waiting, may write between two messages, and what is deleted meanwhile is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from eventstore import messages, paths, tree
from eventstore.driver import Connection
from eventstore.errors import InvalidArgument
from eventstore.messages import Stretch
from eventstore.paths import Path
from eventstore.totals import PathTotals
from eventstore.types import Message, RecentHistory

WINDOW_MESSAGES = 50
WINDOW_BYTES = 4 * 1024 * 1024
_MOST_AT_ONCE = 256  # sizes looked at in one query

Read = Callable[[], AbstractContextManager[Connection]]


def get_history(
    connection: Connection, name: str, leaf_id: str | None, before: str | None, *, newest_first: bool
) -> list[Message]:
    """A whole path, of one state."""
    path = paths.find_path(connection, name, leaf_id, before)
    if path is None:
        return []
    found: list[Message] = []
    for stretch in path.oldest_first(connection):
        found += messages.read(connection, stretch)
    return found[::-1] if newest_first else found


def batches(
    read: Read,
    name: str,
    leaf_id: str | None,
    before: str | None,
    *,
    newest_first: bool,
    batch_size: int,
    max_batch_bytes: int,
) -> Iterator[list[Message]]:
    """A path in lists of at most `batch_size` messages and `max_batch_bytes` bytes, of at least one message each.

    The path is found, and its arguments are checked, in the call. Raises `UnknownMessage` and `InvalidArgument`.
    """
    check_limit("batch_size", batch_size, 1)
    check_limit("max_batch_bytes", max_batch_bytes, 0)
    with read() as connection:
        path = paths.find_path(connection, name, leaf_id, before)
        if path is None:
            return iter(())
        ranges = _Walk(path, newest_first)
        ranges.advance(connection)
    return _batches(read, ranges, newest_first, batch_size, max_batch_bytes)


def check_limit(name: str, value: object, least: int) -> None:
    """Raises `InvalidArgument` unless `value` is an integer of at least `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidArgument(f"{name} must be an integer of at least {least}, not {value!r}")


class _Walk:
    """The stretches of a path one after the other, over connections that change between windows."""

    def __init__(self, path: Path, newest_first: bool) -> None:
        self._newest_first = newest_first
        self._path = path
        self._known: list[Stretch] | None = None  # oldest first: reversed, to pop from
        self._next: Stretch | None = Stretch(path.leaf.chain, 0, min(path.leaf.seq + 1, path.cut))
        self.current: Stretch | None = None

    def advance(self, connection: Connection) -> None:
        """Moves `current` to the next stretch, `None` behind the last."""
        if not self._newest_first:
            if self._known is None:
                self._known = list(self._path.stretches(connection))
            self.current = self._known.pop() if self._known else None
            return
        if self._known is None:
            self._known = []
        if not self._known and self._next is not None:
            self._walk_up(connection)
        self.current = self._known.pop() if self._known else None

    def _walk_up(self, connection: Connection) -> None:
        """Looks a bounded number of chains further up."""
        assert self._next is not None
        following = tree.Range(self._next.chain, self._next.high)
        if not tree.has_chain(connection, following.chain):  # all of it was deleted since the last window
            alive = tree.ancestor_of_dead(connection, self._path.session, following.chain)
            if alive is None:
                self._next = None
                return
            following = tree.Range(alive.chain, alive.seq + 1)
        block = tree.range_block(connection, following)
        stretches = [Stretch(chain, 0, min(end, self._path.cut)) for chain, end in block.ranges]
        self._known = stretches[::-1]
        self._next = None if block.following is None else Stretch(block.following.chain, 0, block.following.end)


def _batches(
    read: Read, walk: _Walk, newest_first: bool, batch_size: int, max_batch_bytes: int
) -> Iterator[list[Message]]:
    while walk.current is not None:
        with read() as connection:
            batch = _window(connection, walk, newest_first, batch_size, max_batch_bytes)
        if batch:
            yield batch


def _window(connection: Connection, walk: _Walk, newest_first: bool, count: int, budget: int) -> list[Message]:
    """The next window, over as many stretches as it takes."""
    found: list[Message] = []
    room = budget
    while walk.current is not None and len(found) < count:
        stretch = walk.current
        chosen, room, full = _fitting(connection, stretch, newest_first, count - len(found), room, first=not found)
        if chosen:
            low, high = min(chosen), max(chosen) + 1
            part = messages.read(connection, Stretch(stretch.chain, low, high))
            found += part[::-1] if newest_first else part
            walk.current = (
                Stretch(stretch.chain, stretch.low, low) if newest_first else Stretch(stretch.chain, high, stretch.high)
            )
        if full:
            break
        if len(found) < count:
            walk.advance(connection)
    return found


def _fitting(
    connection: Connection, stretch: Stretch, newest_first: bool, count: int, room: int, *, first: bool
) -> tuple[list[int], int, bool]:
    """(seqs that fit, room left, whether one didn't fit). The very first always fits."""
    chosen: list[int] = []
    for seq, size in messages.sizes(connection, stretch, count, newest_first=newest_first):
        if size > room and (chosen or not first):
            return chosen, room, True
        chosen.append(seq)
        room -= size
    return chosen, room, False


def get_recent_history(
    connection: Connection,
    name: str,
    leaf_id: str | None,
    before: str | None,
    *,
    max_bytes: int | None,
    max_messages: int | None,
    totals: PathTotals,
    seq: int,
) -> RecentHistory:
    """The newest messages of a path that fit both limits, at least one. `seq` is the state's."""
    path = paths.find_path(connection, name, leaf_id, before)
    if path is None:
        return RecentHistory([], False, 0, seq)
    total, _ = totals.of(connection, path)
    chosen, truncated = _newest(connection, path, max_bytes, max_messages)
    found: list[Message] = []
    for stretch in reversed(chosen):
        found += messages.read(connection, stretch)
    return RecentHistory(found, truncated, total, seq)


def _newest(
    connection: Connection, path: Path, max_bytes: int | None, max_messages: int | None
) -> tuple[list[Stretch], bool]:
    """(the stretches of the newest messages that fit, newest first; whether older ones are left out)."""
    room = tree.ENDLESS if max_bytes is None else max_bytes
    count = tree.ENDLESS if max_messages is None else max_messages
    chosen: list[Stretch] = []
    taken = 0
    for stretch in path.stretches(connection):
        rest = stretch
        while True:
            seqs, room, full = _fitting(
                connection, rest, True, min(_MOST_AT_ONCE, count - taken), room, first=not taken
            )
            if seqs:
                chosen.append(Stretch(stretch.chain, seqs[-1], seqs[0] + 1))
                taken += len(seqs)
                rest = Stretch(stretch.chain, rest.low, seqs[-1])
            if full:
                return chosen, True
            if taken >= count:
                return chosen, _any_left(connection, path, rest)
            if len(seqs) < _MOST_AT_ONCE:
                break
    return chosen, False


def _any_left(connection: Connection, path: Path, rest: Stretch) -> bool:
    """Whether the path has a message below what was taken."""
    older = tree.ranges_down(connection, tree.Range(rest.chain, min(rest.high, path.cut)))
    return tree.survivor(connection, older) is not None
