"""Paths read as messages: whole, in windows, or as the newest that fit a budget.

A window is planned from sizes alone, then read in one go, and no connection is held while the caller has it. So a slow
reader keeps nobody waiting, may write between two messages, and what is deleted meanwhile is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from eventstore import messages, paths, summaries, tree
from eventstore.driver import Connection
from eventstore.errors import InvalidArgument
from eventstore.messages import Stretch
from eventstore.paths import Path
from eventstore.segments import Descent, Segment, read_all
from eventstore.summaries import Shown
from eventstore.totals import PathTotals
from eventstore.types import Message, RecentHistory

WINDOW_MESSAGES = 50
WINDOW_BYTES = 4 * 1024 * 1024
_MOST_AT_ONCE = 256  # sizes looked at in one query

Read = Callable[[], AbstractContextManager[Connection]]


def get_history(
    connection: Connection, name: str, leaf_id: str | None, before: str | None, *, newest_first: bool, compacted: bool
) -> list[Message]:
    """A whole path, of one state."""
    path = paths.find_path(connection, name, leaf_id, before)
    if path is None:
        return []
    segments = list(Descent(connection, path, compacted=compacted, whole=True).all(connection))
    found = read_all(connection, segments[::-1])
    return found[::-1] if newest_first else found


def batches(
    read: Read,
    name: str,
    leaf_id: str | None,
    before: str | None,
    *,
    newest_first: bool,
    compacted: bool,
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
        walk = _Walk(connection, path, newest_first, compacted)
    return _batches(read, walk, newest_first, min(batch_size, tree.ENDLESS), max_batch_bytes)


def check_limit(name: str, value: object, least: int | None) -> None:
    """Raises `InvalidArgument` unless `value` is an integer of at least `least`; `None`: any integer."""
    if not isinstance(value, int) or isinstance(value, bool) or (least is not None and value < least):
        wanted = "an integer" if least is None else f"an integer of at least {least}"
        raise InvalidArgument(f"{name} must be {wanted}, not {value!r}")


class _Walk:
    """The segments of a path one after the other, over connections that change between windows."""

    def __init__(self, connection: Connection, path: Path, newest_first: bool, compacted: bool) -> None:
        self._descent = Descent(connection, path, compacted=compacted, whole=not newest_first)
        self._known: list[Segment] | None = None if newest_first else list(self._descent.all(connection))
        self.current: Segment | None = None
        self.advance(connection)

    def advance(self, connection: Connection) -> None:
        """Moves `current` to the next segment, `None` behind the last."""
        if self._known is None:
            self.current = self._descent.next(connection)
        else:
            self.current = self._known.pop() if self._known else None


def _batches(
    read: Read, walk: _Walk, newest_first: bool, batch_size: int, max_batch_bytes: int
) -> Iterator[list[Message]]:
    while walk.current is not None:
        with read() as connection:
            batch = _window(connection, walk, newest_first, batch_size, max_batch_bytes)
        if batch:
            yield batch


def _window(connection: Connection, walk: _Walk, newest_first: bool, count: int, budget: int) -> list[Message]:
    """The next window, over as many segments as it takes."""
    found: list[Message] = []
    room = budget
    while (segment := walk.current) is not None and len(found) < count:
        if isinstance(segment, Shown):
            if segment.bytes > room and found:
                break
            if summaries.is_alive(connection, segment):
                found += summaries.read(connection, [segment.seq])
                room -= segment.bytes
            walk.advance(connection)
            continue
        chosen, room, full = _fitting(connection, segment, newest_first, count - len(found), room, first=not found)
        if chosen:
            low, high = min(chosen), max(chosen) + 1
            part = messages.read(connection, Stretch(segment.chain, low, high))
            found += part[::-1] if newest_first else part
            walk.current = (
                Stretch(segment.chain, segment.low, low) if newest_first else Stretch(segment.chain, high, segment.high)
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
    compacted: bool,
    totals: PathTotals,
    seq: int,
) -> RecentHistory:
    """The newest messages of a path that fit both limits, at least one. `seq` is the state's."""
    path = paths.find_path(connection, name, leaf_id, before)
    if path is None:
        return RecentHistory([], False, 0, seq)
    total, _ = totals.of(connection, path)
    window = _Newest(connection, path, compacted)
    truncated = window.fill(max_bytes, max_messages)
    return RecentHistory(read_all(connection, window.chosen[::-1]), truncated, total, seq)


class _Newest:
    """The newest messages of a path that fit limits, as segments from the newest on."""

    def __init__(self, connection: Connection, path: Path, compacted: bool) -> None:
        self.chosen: list[Segment] = []
        self._connection = connection
        self._descent = Descent(connection, path, compacted=compacted)

    def fill(self, max_bytes: int | None, max_messages: int | None) -> bool:
        """Chooses them, and says whether older ones are left out."""
        room = tree.ENDLESS if max_bytes is None else max_bytes
        count = tree.ENDLESS if max_messages is None else max_messages
        while (segment := self._descent.next(self._connection)) is not None:
            if count == 0:
                if isinstance(segment, Shown) or self._any_in(segment):
                    return True
            elif isinstance(segment, Shown):
                if segment.bytes > room and self.chosen:
                    return True
                self.chosen.append(segment)
                room, count = room - segment.bytes, count - 1
            else:
                room, count, full = self._take(segment, room, count)
                if full:
                    return True
        return False

    def _take(self, rest: Stretch, room: int, count: int) -> tuple[int, int, bool]:
        """(room and count left, whether one of a stretch is left out)."""
        while count:
            last = count <= _MOST_AT_ONCE  # one more then says whether older ones are left out
            most = count + 1 if last else _MOST_AT_ONCE
            seqs, room, full = _fitting(self._connection, rest, True, most, room, first=not self.chosen)
            done = len(seqs) < most
            if last and not done:
                seqs.pop()
                full = True
            if seqs:
                self.chosen.append(Stretch(rest.chain, seqs[-1], seqs[0] + 1))
                rest = Stretch(rest.chain, rest.low, seqs[-1])
                count -= len(seqs)
            if full or done:
                return room, count, full
        return room, count, False

    def _any_in(self, stretch: Stretch) -> bool:
        return bool(messages.sizes(self._connection, stretch, 1, newest_first=True))
