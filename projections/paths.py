"""The reads of a list that follows: a path whole, or its end as far as it may have changed, each of one state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import attrs

from eventstore import (
    Appended,
    AsyncSession,
    Cleared,
    Compacted,
    Deleted,
    Event,
    Imported,
    Message,
    Session,
    SessionDeleted,
    UnknownMessage,
    Updated,
)
from projections.steps import Steps

TRIES = 3  # reads of one state of a session that is being written to, before it is read whole
WINDOW = 50  # messages read at once, from the end backwards


@attrs.frozen
class Found:
    """The messages that a path shows from place `start` on, in the state after event `seq`. `changed` are the ids whose
    messages may be others than the list holds."""

    seq: int
    start: int
    messages: list[Message]
    changed: frozenset[str] = frozenset()


class Reading:
    """Which path is read, and what is known of it."""

    def __init__(self, session: Session | AsyncSession, leaf_id: str | None, compacted: bool) -> None:
        self._session: Any = session
        self._next: Callable[[Any], Any] = _anext if isinstance(session, AsyncSession) else _next
        self._path: dict[str, Any] = {"leaf_id": leaf_id, "compacted": compacted}
        self.leaf_id = leaf_id
        self.compacted = compacted
        self.has_overlays = False  # or had: deletes may then show and hide more than they name
        self._is_gone = False  # the leaf that was asked for isn't there

    def cleared(self) -> None:
        """The session was cleared: its summaries are gone too."""
        self.has_overlays = False
        self._is_gone = self.leaf_id is not None

    def lost(self) -> None:
        """The leaf that was asked for isn't there. Summaries may be: a message with its id may come below them."""
        self._is_gone = True

    def is_moved_by(self, message_id: str) -> bool:
        """Whether the path changes when this message is new."""
        return self.leaf_id is None or (self._is_gone and self.leaf_id == message_id)

    def first(self) -> Steps[Found]:
        """The whole path. Raises `UnknownMessage`."""
        recent = yield partial(self._session.get_recent_history, **self._path)
        self._is_gone = False
        if self.compacted:
            self.has_overlays = bool((yield self._session.get_compactions)) or any(map(_is_overlay, recent.messages))
        return Found(recent.seq, 0, recent.messages)

    def whole(self) -> Steps[Found]:
        """The whole path, empty when its leaf isn't there."""
        info = yield self._session.info
        try:
            return (yield from self.first())
        except UnknownMessage:
            self.lost()
            self.has_overlays = self.compacted  # none of them was read
            return Found(info.seq, 0, [])

    def end(self, places: Mapping[str, int], shown: int) -> Steps[Found | None]:
        """The path behind the last entry of the list up to which nothing has changed since event `shown`.

        `None` when the session was written to whenever it was read.
        """
        for _ in range(TRIES):
            before = yield self._session.info
            changed, lowest = yield from self._changes(places, shown)
            start, messages = yield from self._back_to(places, lowest)
            after = yield self._session.info
            if before.seq == after.seq:
                return Found(after.seq, start, messages, frozenset(changed))
        return None

    def _changes(self, places: Mapping[str, int], shown: int) -> Steps[tuple[set[str], int]]:
        """(ids that events after `shown` speak of, the first place that they may change)."""
        changed: set[str] = set()
        lowest = len(places)
        events = self._session.events(after=shown)
        while (event := (yield partial(self._next, events))) is not None:
            changed.update(_ids(event))
            if isinstance(event, (Cleared, SessionDeleted)) or (self.has_overlays and isinstance(event, Deleted)):
                lowest = 0
            elif isinstance(event, Compacted) and self.compacted:
                self.has_overlays = True
                lowest = 0
        return changed, min([lowest, *(places[message_id] for message_id in changed if message_id in places)])

    def _back_to(self, places: Mapping[str, int], lowest: int) -> Steps[tuple[int, list[Message]]]:
        """(place, the messages from there on): back to the last one that stands below `lowest`."""
        newest_first: list[Message] = []
        try:
            batches = yield partial(self._session.history_batches, batch_size=WINDOW, newest_first=True, **self._path)
            while (batch := (yield partial(self._next, batches))) is not None:
                for message in batch:
                    place = places.get(message["id"], lowest)
                    if place < lowest:
                        return place + 1, newest_first[::-1]
                    newest_first.append(message)
            self._is_gone = False
        except UnknownMessage:
            self.lost()
        return 0, newest_first[::-1]


def _ids(event: Event) -> Iterable[str]:
    match event:
        case Appended(message=message) | Imported(message=message) | Updated(message=message):
            return (message["id"],)
        case Deleted(message_ids=message_ids):
            return message_ids
        case _:
            return ()


def _is_overlay(message: Message) -> bool:
    return message["id"].startswith("compaction_")


def _next(iterator: Any) -> Any:
    return next(iterator, None)


async def _anext(iterator: Any) -> Any:
    return await anext(iterator, None)
