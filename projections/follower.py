"""What an event does to a list that is a session's history: the change, found with as little reading as can be.

`Follower` knows the list as it left it: the ids that it shows, the place of each, and the number of the event that it
shows the state after. An event up to that number is passed over: what came late was read already. A plain append,
update, delete or clear is applied as it is told. For all else the path is read from its end backwards, up
to the first entry that the list holds already and that nothing before it has changed: what lies before is the same, for
the path to a message is one, and so is what it shows.

Nothing here waits: all is work in steps (see `steps`), so that one rule serves both faces of the store.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, MutableSequence, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

import attrs

from eventstore import (
    Appended,
    Cleared,
    Compacted,
    Deleted,
    Event,
    Imported,
    LeafSelected,
    Message,
    SessionDeleted,
    Updated,
)
from projections.paths import Found, Reading
from projections.steps import Steps

T = TypeVar("T")


@attrs.frozen
class Change(Generic[T]):
    """`removed`, the entries from `start` on, give way to `added`. Either may be empty."""

    start: int
    removed: list[T]
    added: list[T]


class Follower(Generic[T]):
    """Keeps `messages` what `reading` reads."""

    def __init__(
        self,
        messages: MutableSequence[T],
        reading: Reading,
        transform: Callable[[Message], Any] | None,
        on_change: Callable[[Change[T]], Any] | None,
    ) -> None:
        self._messages = messages
        self._reading = reading
        self._transform = transform
        self._on_change = on_change
        self._ids: list[str] = []
        self._places: dict[str, int] = {}
        self._state = 0  # what the list will show once the present step is done
        self._stale = False  # a step was broken off
        self._at_work = False
        self._again = False  # something came while it was at work
        self.shown = 0

    # ---- steps

    def fill(self) -> Steps[None]:
        """Makes the list what the session shows. Raises `UnknownMessage` for a leaf that isn't there."""
        yield from self._show((yield from self._reading.first()))

    def handle(self, event: Event) -> Steps[None]:
        """Applies one event."""
        yield from self._alone(partial(self._handle, event))

    def reload(self) -> Steps[None]:
        """Reads the whole path, and changes what isn't so in the list, whoever made it so."""
        yield from self._alone(self._reload)

    def _alone(self, work: Callable[[], Steps[None]]) -> Steps[None]:
        """Does work. While some is being done (by another task, or by who calls a hook), that ends with a reload."""
        if self._at_work:
            self._again = True
            return
        self._at_work = True
        try:
            yield from work()
            while self._again:
                self._again = False
                yield from self._reload()
        finally:
            self._at_work = False

    def _handle(self, event: Event) -> Steps[None]:
        if event.seq <= self.shown or (isinstance(event, Appended) and not event.inserted):
            return
        if self._stale or len(self._messages) != len(self._ids):
            yield from self._reload()
            return
        self._stale = True
        self._state = event.seq
        yield from self._apply(event)
        self._done()

    def _reload(self) -> Steps[None]:
        self._stale = True
        yield from self._show((yield from self._reading.whole()))

    def _show(self, whole: Found) -> Steps[None]:
        entries = yield from self._entries(whole.messages)
        self._state = whole.seq
        now = list(self._messages)
        start, stop, added = _trimmed(0, len(now), len(entries), lambda old, new: is_same(now[old], entries[new]))
        self._know(0, len(self._ids), [message["id"] for message in whole.messages])
        yield from self._change(start, stop, entries[start : start + added])
        self._done()

    # ---- events

    def _apply(self, event: Event) -> Steps[None]:
        reading = self._reading
        match event:
            case Appended() | Imported():
                if reading.is_moved_by(event.message["id"]) and (event.erased or event.parent_id != self._last()):
                    yield from self._read_on()
                elif reading.is_moved_by(event.message["id"]):
                    yield from self._put(len(self._ids), len(self._ids), [event.message])
            case Updated(message=message):
                place = self._places.get(message["id"])
                if place is not None and not event.erased:
                    yield from self._put(place, place + 1, [message])
            case Deleted(message_ids=message_ids):
                yield from self._delete(message_ids)
            case LeafSelected(message_id=message_id):
                if reading.leaf_id is None and message_id != self._last():
                    yield from self._read_on()
            case Cleared() | SessionDeleted():
                reading.cleared()
                yield from self._put(0, len(self._ids), [])
            case Compacted() if reading.compacted:
                yield from self._read_on()
            case _:
                pass

    def _last(self) -> str | None:
        return self._ids[-1] if self._ids else None

    def _delete(self, message_ids: Sequence[str]) -> Steps[None]:
        reading = self._reading
        gone = set(message_ids)
        if reading.leaf_id in gone:
            reading.lost()
            yield from self._put(0, len(self._ids), [])
        elif reading.has_overlays or (reading.leaf_id is None and self._last() in gone):
            yield from self._read_on()
        elif places := sorted(self._places[message_id] for message_id in gone if message_id in self._places):
            start, stop = places[0], places[-1] + 1
            kept = [place for place in range(start, stop) if self._ids[place] not in gone]
            entries = [self._messages[place] for place in kept]
            ids = [self._ids[place] for place in kept]
            self._know(start, stop, ids)
            yield from self._change(start, stop, entries)

    def _read_on(self) -> Steps[None]:
        """Reads the end of the path, as far as the list may not show it."""
        found = yield from self._reading.end(self._places, self.shown)
        if found is None:  # it was written to all the time
            yield from self._reload()
            return
        self._state = max(self._state, found.seq)
        fresh = [message["id"] for message in found.messages]

        def same(old: int, new: int) -> bool:
            return self._ids[old] == fresh[new - found.start] and fresh[new - found.start] not in found.changed

        start, stop, added = _trimmed(found.start, len(self._ids), found.start + len(fresh), same)
        begin = start - found.start
        yield from self._put(start, stop, found.messages[begin : begin + added])

    # ---- the list

    def _put(self, start: int, stop: int, messages: Sequence[Message]) -> Steps[None]:
        """Puts messages in the place of those from `start` to `stop`."""
        entries = yield from self._entries(messages)
        self._know(start, stop, [message["id"] for message in messages])
        yield from self._change(start, stop, entries)

    def _entries(self, messages: Iterable[Message]) -> Steps[list[T]]:
        if self._transform is None:
            plain: list[Any] = list(messages)
            return plain
        entries: list[T] = []
        for message in messages:
            entries.append((yield partial(self._transform, message)))
        return entries

    def _change(self, start: int, stop: int, entries: list[T]) -> Steps[None]:
        """The one place where the list changes. It does also when `on_change` raises: then only that is told."""
        try:
            if self._on_change is not None and (entries or start < stop):
                removed = [self._messages[place] for place in range(start, stop)]
                yield partial(self._on_change, Change(start, removed, list(entries)))
        finally:
            if entries or start < stop:
                self._messages[start:stop] = entries
            self._done()

    def _done(self) -> None:
        self.shown = max(self.shown, self._state)
        self._stale = False

    def _know(self, start: int, stop: int, ids: list[str]) -> None:
        """Remembers which ids will stand from `start` on, in the place of those up to `stop`."""
        for message_id in self._ids[start:stop]:
            del self._places[message_id]
        self._ids[start:stop] = ids
        end = start + len(ids) if len(ids) == stop - start else len(self._ids)
        for place in range(start, end):
            self._places[self._ids[place]] = place


def _trimmed(start: int, old: int, new: int, same: Callable[[int, int], bool]) -> tuple[int, int, int]:
    """(start, stop, added): the slice in which a list of `old` entries differs from one of `new`, from `start` on."""
    while start < min(old, new) and same(start, start):
        start += 1
    while start < min(old, new) and same(old - 1, new - 1):
        old, new = old - 1, new - 1
    return start, old, new - start


def is_same(one: object, other: object) -> bool:
    """Whether two entries are equal, down to the kinds of their numbers where they are JSON."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, (dict, list)):
        try:
            return json.dumps(one) == json.dumps(other)
        except (TypeError, ValueError):
            pass
    return bool(one == other)
