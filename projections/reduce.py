"""What an event does to a list of messages: the reduction, and nothing about lists, indexes or subscriptions.

It speaks to the list through `Entries`, so that one rule serves every way of keeping a list. What always holds:
`transform` is the owner's code and may raise or edit the list, so it runs before anything is changed, and the place
is looked up (again) after it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Protocol, TypeAlias, TypeGuard, TypeVar, cast

from eventstore import Appended, Cleared, Deleted, Event, Message, SessionDeleted, Updated

T = TypeVar("T")
Applied: TypeAlias = tuple[Appended | Updated, T, T | None]
"""The event, the entry that it left in the list, and the entry that was in its place (`None` when it was pushed)."""


class Entries(Protocol[T]):
    """A list whose entries are found by the id of their message. Positions are those of the last `find`."""

    def find(self, message_ids: Collection[str]) -> list[int]:
        """The positions of all entries with these ids, ascending."""

    def push(self, message_id: str, entry: T) -> None:
        """Put a new entry at the end."""

    def replace(self, position: int, entry: T) -> T:
        """Put the entry at a found position, and return what was there."""

    def drop(self, positions: list[int]) -> None:
        """Take out the entries at found positions (ascending)."""

    def clear(self) -> None:
        """Take out everything."""


def reduce(event: Event, entries: Entries[T], transform: Callable[[Message], T] | None) -> Applied[T] | None:
    """Apply one event. Returns what an append or update did to the list, `None` when it did nothing and for the rest.

    A new append takes the place of the (first) entry with its id, or is pushed; an update only takes a place. A delete
    drops every entry with one of its ids; a clear, and the session's deletion, empty the list. All else changes
    nothing: repeated appends, imports, selections, metadata and compactions.
    """
    match event:
        case Appended(inserted=True) | Updated():
            return _put(event, entries, transform)
        case Deleted(message_ids=message_ids):
            positions = entries.find(message_ids)
            if positions:
                entries.drop(positions)
        case Cleared() | SessionDeleted():
            entries.clear()
        case _:
            pass
    return None


def puts(event: Event, entries: Entries[Any]) -> TypeGuard[Appended | Updated]:
    """Whether the event will push or replace an entry, as the list stands."""
    match event:
        case Appended(inserted=True):
            return True
        case Updated(message=message):
            return bool(entries.find((message["id"],)))
        case _:
            return False


def _put(event: Appended | Updated, entries: Entries[T], transform: Callable[[Message], T] | None) -> Applied[T] | None:
    message_id = event.message["id"]
    positions = entries.find((message_id,))
    if not positions and isinstance(event, Updated):
        return None
    if transform is None:
        entry = cast(T, event.message)
    else:
        entry = transform(event.message)
        positions = entries.find((message_id,))
    if positions:
        return event, entry, entries.replace(positions[0], entry)
    if isinstance(event, Updated):  # the transform took the entry out
        return None
    entries.push(message_id, entry)
    return event, entry, None
