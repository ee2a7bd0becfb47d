"""Where the entry of a message stands in a list that its owner edits too, without searching the list.

Remembered is the list as the last event left it: its entries, the message id of each, and for every id a *ticket*.
Tickets grow along the list, and the position of an entry is its ticket less the removed tickets before it, so that a
removal in the middle renumbers nothing.

The list isn't ours, so nothing remembered is used unchecked:

- Before each look-up the list is compared with what is remembered, from the end backwards, until `WATCHED` entries in
  a row are the same, and is read anew from the lowest that differs. What its owner adds, removes or exchanges at the
  end costs what was edited, and an insertion or removal anywhere, which shifts everything behind it, at most one pass.
- A position is used only if the entry there is the one that is meant. If it isn't, or when an entry that stood
  further up turns up in what was read anew, or an id occurs more than once, one pass reads the whole list.

So a list of up to `WATCHED` entries is known exactly, whatever its owner did. In a longer one only an edit that moves
nothing, further from the end than that, can't be seen without a pass: an entry exchanged for another, or its id changed
in place. The new id then counts as not in the list until the next pass; what stood there is never mistaken for it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, insort
from collections import defaultdict, deque
from collections.abc import Collection, Mapping, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")

WATCHED = 32  # entries that must agree in a row, and so the cost of a look-up: about 4 µs
MANY = 100  # from so many removals at once on, one pass is cheaper than as many shifts


class Positions(ABC, Generic[T]):
    """The memory of one list. The subclasses say what makes an entry the entry of a message."""

    def __init__(self) -> None:
        self._held: list[tuple[T, str | None]] = []
        self._tickets: dict[str, int] = {}
        self._removed: list[int] = []
        self._repeated: set[str] = set()  # ids that are met more than once; their tickets mean nothing

    @abstractmethod
    def _identify(self, entries: list[T], start: int) -> list[str | None] | None:
        """The message ids of the entries that now stand at `start` and behind, `None` for what isn't a message's.

        Instead of the list `None`, when one of them belongs before `start`: then all must be read.
        """

    @abstractmethod
    def _is_same(self, entry: T, held: T, message_id: str | None) -> bool:
        """Whether `entry`, found where `held` is remembered, is an entry of the same message."""

    def _entered(self, entry: T, message_id: str) -> None:
        """Called for every message's entry that is remembered."""

    def _left(self, entry: T) -> None:
        """Called for every entry that is no longer remembered."""

    def find(self, entries: Sequence[T], message_ids: Collection[str]) -> list[int]:
        """The positions of all entries of these messages in the list as it stands, ascending."""
        self.align(entries)
        if not all(self._confirmed(entries, message_id) for message_id in message_ids):
            self.read(entries)
        if not self._repeated.isdisjoint(message_ids):
            wanted = set(message_ids)
            return [position for position, (_, message_id) in enumerate(self._held) if message_id in wanted]
        return sorted({self._position(message_id) for message_id in message_ids if message_id in self._tickets})

    def align(self, entries: Sequence[T]) -> None:
        """Notice what the owner did to the list."""
        size, known = len(entries), len(self._held)
        start = position = min(size, known)
        agreed = 0
        while position and agreed < WATCHED:
            position -= 1
            entry = entries[position]
            held, message_id = self._held[position]
            if entry is held and self._is_same(entry, held, message_id):
                agreed += 1
            else:
                start, agreed = position, 0
        if start < size or start < known:
            self.read(entries, start)

    def read(self, entries: Sequence[T], start: int = 0) -> None:
        """Remember the list from `start` on as it stands: one pass over that part."""
        fresh = [entries[position] for position in range(start, len(entries))]
        message_ids = self._identify(fresh, start)
        if message_ids is None:
            self.read(entries)
            return
        self._forget(start)
        for entry, message_id in zip(fresh, message_ids, strict=True):
            self._remember(entry, message_id)

    def pushed(self, message_id: str, entry: T) -> None:
        """An entry of a message that had none was put at the end."""
        self._remember(entry, message_id)

    def replaced(self, position: int, entry: T) -> None:
        """A message's entry at this position was replaced by its new one."""
        held, message_id = self._held[position]
        self._held[position] = entry, message_id
        self._left(held)
        if message_id is not None:
            self._entered(entry, message_id)

    def dropped(self, positions: list[int]) -> None:
        """The messages' entries at these positions (ascending) were taken out."""
        message_ids = [self._held[position][1] for position in positions]
        if len(positions) >= MANY or not self._repeated.isdisjoint(message_ids):
            self._renumber(set(positions))
            return
        for position in reversed(positions):
            entry, message_id = self._held.pop(position)
            self._left(entry)
            if message_id is not None:
                insort(self._removed, self._tickets.pop(message_id))
        if len(self._removed) > len(self._held):
            self._renumber(set())

    def cleared(self) -> None:
        """The list was emptied."""
        self._forget(0)

    def _position(self, message_id: str) -> int:
        ticket = self._tickets[message_id]
        return ticket - bisect_left(self._removed, ticket)

    def _confirmed(self, entries: Sequence[T], message_id: str) -> bool:
        """Whether what is remembered of this message, be it that there is no entry, is the case."""
        if message_id in self._repeated:
            return False
        if message_id not in self._tickets:
            return True
        position = self._position(message_id)
        return self._is_same(entries[position], *self._held[position])

    def _remember(self, entry: T, message_id: str | None) -> None:
        if message_id is not None:
            if message_id in self._tickets:
                self._repeated.add(message_id)
            else:
                self._tickets[message_id] = len(self._held) + len(self._removed)
            self._entered(entry, message_id)
        self._held.append((entry, message_id))

    def _forget(self, start: int) -> None:
        """Forget what stood at `start` and behind."""
        removed = self._removed
        while removed and removed[-1] - len(removed) + 1 >= start:
            removed.pop()
        for entry, message_id in self._held[start:]:
            self._left(entry)
            if message_id is not None:
                self._tickets.pop(message_id, None)
        del self._held[start:]
        if start == 0:
            self._repeated.clear()

    def _renumber(self, without: set[int]) -> None:
        """Give out new tickets, without the entries at these positions."""
        kept = [held for position, held in enumerate(self._held) if position not in without]
        self._forget(0)
        for entry, message_id in kept:
            self._remember(entry, message_id)


class PositionsById(Positions[T]):
    """An entry is a message's when it is a mapping with the message's id: whoever put it there."""

    def _identify(self, entries: list[T], start: int) -> list[str | None] | None:
        message_ids = [id_of(entry) for entry in entries]
        known = self._tickets.keys() & message_ids if start else ()
        if any(self._position(message_id) < start for message_id in known):
            return None
        return message_ids

    def _is_same(self, entry: T, held: T, message_id: str | None) -> bool:
        return id_of(entry) == message_id


class PositionsOfOwn(Positions[T]):
    """An entry is a message's when it is the very object that was pushed, or put in place, for it.

    One object may serve several messages (equal short strings, say): the order in the list then tells them apart. An
    entry that was out of the list when an event came is its owner's from then on.
    """

    def __init__(self) -> None:
        super().__init__()
        self._message_ids: dict[int, str] = {}  # by the identity of an entry, which `_held` keeps alive

    def _identify(self, entries: list[T], start: int) -> list[str | None] | None:
        waiting: defaultdict[int, deque[str]] = defaultdict(deque)
        for entry, message_id in self._held[start:]:
            if message_id is not None:
                waiting[id(entry)].append(message_id)
        message_ids: list[str | None] = []
        for entry in entries:
            known = self._message_ids.get(id(entry))
            if same := waiting.get(id(entry)):
                message_ids.append(same.popleft())
            elif known is not None and self._position(known) < start:
                return None
            else:
                message_ids.append(None)
        return message_ids

    def _is_same(self, entry: T, held: T, message_id: str | None) -> bool:
        return entry is held

    def _entered(self, entry: T, message_id: str) -> None:
        self._message_ids[id(entry)] = message_id

    def _left(self, entry: T) -> None:
        self._message_ids.pop(id(entry), None)


def id_of(entry: object) -> str | None:
    """The `id` of a mapping that has one and where it is a string."""
    if not isinstance(entry, (dict, Mapping)):  # `dict` first: the test of the abstract class is ten times slower
        return None
    message_id = entry.get("id")
    return message_id if isinstance(message_id, str) else None
