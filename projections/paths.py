"""The reads of a list that follows: a path whole, or its end as far as it may have changed. With a sync session, in
whatever thread reads; each answer is of one state and names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from eventstore import (
    Appended,
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

TRIES = 3  # reads of one state of a session that is being written to, before it is read whole


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

    def __init__(self, session: Session, leaf_id: str | None, compacted: bool) -> None:
        self._session = session
        self.leaf_id = leaf_id
        self.compacted = compacted
        self.has_overlays = False  # or had: deletes may then show and hide more than they name
        self._is_gone = False  # the leaf that was asked for isn't there

    def emptied(self) -> None:
        """The path was cleared, or the leaf that was asked for deleted."""
        self.has_overlays = False
        self._is_gone = self.leaf_id is not None

    def is_moved_by(self, message_id: str) -> bool:
        """Whether the path changes when this message is new."""
        return self.leaf_id is None or (self._is_gone and self.leaf_id == message_id)

    def first(self) -> Found:
        """The whole path. Raises `UnknownMessage`."""
        recent = self._session.get_recent_history(leaf_id=self.leaf_id, compacted=self.compacted)
        self._is_gone = False
        self.has_overlays = self.compacted and _has_overlays(self._session, recent.messages)
        return Found(recent.seq, 0, recent.messages)

    def whole(self) -> Found:
        """The whole path, empty when its leaf isn't there."""
        seq = self._session.sessions.latest_seq
        try:
            return self.first()
        except UnknownMessage:
            self.emptied()
            return Found(seq, 0, [])

    def end(self, places: Mapping[str, int], shown: int) -> Found | None:
        """The path behind the last entry of the list up to which nothing has changed since event `shown`.

        `None` when the session was written to whenever it was read.
        """
        session = self._session
        for _ in range(TRIES):
            seq = session.info().seq
            changed, lowest = self._changes(session.events(after=shown), places)
            found = self._back_to(places, lowest)
            if session.info().seq == seq:
                return attrs.evolve(found, seq=seq, changed=frozenset(changed))
        return None

    def _changes(self, events: Iterable[Event], places: Mapping[str, int]) -> tuple[set[str], int]:
        """(ids that events speak of, the first place that they may change)."""
        changed: set[str] = set()
        lowest = len(places)
        for event in events:
            match event:
                case Appended(message=message) | Imported(message=message) | Updated(message=message):
                    changed.add(message["id"])
                case Deleted(message_ids=message_ids):
                    changed.update(message_ids)
                    lowest = 0 if self.has_overlays else lowest
                case Cleared() | SessionDeleted():
                    lowest = 0
                case Compacted() if self.compacted:
                    self.has_overlays = True
                    lowest = 0
                case _:
                    pass
        return changed, min([lowest, *(places[message_id] for message_id in changed if message_id in places)])

    def _back_to(self, places: Mapping[str, int], lowest: int) -> Found:
        messages: list[Message] = []
        start = 0
        try:
            for message in self._session.history(leaf_id=self.leaf_id, newest_first=True, compacted=self.compacted):
                place = places.get(message["id"], lowest)
                if place < lowest:
                    start = place + 1
                    break
                messages.append(message)
            self._is_gone = False
        except UnknownMessage:
            self.emptied()
        return Found(0, start, messages[::-1])


def _has_overlays(session: Session, messages: Iterable[Message]) -> bool:
    get_compactions = getattr(session, "get_compactions", None)
    shown = any(message["id"].startswith("compaction_") for message in messages)
    return shown or bool(get_compactions is not None and get_compactions())
