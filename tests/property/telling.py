"""What a listener must be told: the log in order without gaps, and of each event what was kept of it.

`Truth` holds the log as whoever wrote it heard it. Everybody else hears a body that is no longer kept as its message
stands when the log is read: in the state after some event of those that were there by then.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from eventstore import Appended, Cleared, Compacted, Deleted, Event, Imported, MetadataChanged, SessionDeleted, Updated
from eventstore.testing import json_text
from tests.property.model_tree import erased

Told = dict[str, Any]


class Truth:
    """The events by number."""

    def __init__(self) -> None:
        self._log: list[Event] = []
        self.kept: set[int] = set()  # events whose own bodies are in the file for good
        self.copied: set[int] = (
            set()
        )  # and those of which they are there unless they were replaced when they were copied

    def __len__(self) -> int:
        return len(self._log)

    def add(self, events: Iterable[Event], kept: set[int] | None) -> None:
        """Events that were written, as they were written; `kept` is the set that they belong to."""
        for event in events:
            assert event.seq == len(self._log) + 1, f"{event} comes behind {len(self._log)}"
            self._log.append(event)
            if kept is not None:
                kept.add(event.seq)

    def forget(self) -> None:
        """From now on no file holds what was replaced or deleted."""
        self.kept.clear()
        self.copied.clear()

    def check(self, heard: Event, low: int, high: int) -> None:
        """An event that was read, or heard by its writer, between the states after `low` and `high`."""
        event = self._log[heard.seq - 1]
        found = _text(heard.to_dict())
        if event.seq in self.kept:
            assert found == _text(event.to_dict())
            return
        heads = range(max(low, event.seq), high + 1)
        possible = [told for head in heads for told in self._as_it_stands(event, head)]
        possible += [event.to_dict()] * (event.seq in self.copied)
        assert found in {_text(each) for each in possible}, f"heard {heard}, which was {event}: {possible}"

    def check_place(self, heard: Event) -> None:
        """That an event is the one of its number, whatever its body."""
        event = self._log[heard.seq - 1]
        assert (heard.type, heard.session_id) == (event.type, event.session_id)

    def _as_it_stands(self, event: Event, head: int) -> list[Told]:
        """As it is told by who reads it in the state after event `head`; what only the tree knows is left open."""
        later = [each for each in self._log[event.seq : head] if each.session_id == event.session_id]
        match event:
            case Appended() | Imported() | Updated():
                return [_message(event, later)]
            case MetadataChanged():
                return [_metadata(event, later)]
            case Compacted():
                return _summary(event, later)
            case _:
                return [event.to_dict()]


def _text(told: Told) -> str:
    """What is compared. The role of an erased message isn't: a copy has it of the version that was replaced."""
    if told["erased"] and "message" in told:
        told = told | {"message": told["message"] | {"role": ""}}
    return json_text(told)


def _message(event: Appended | Imported | Updated, later: list[Event]) -> Told:
    message, message_id = event.message, event.message["id"]
    for each in later:
        if isinstance(each, (Cleared, SessionDeleted)) or (
            isinstance(each, Deleted) and message_id in each.message_ids
        ):
            return event.to_dict() | {"message": erased(message), "erased": True}
        if isinstance(each, Updated) and each.message["id"] == message_id:
            message = each.message
    return event.to_dict() | {"message": message}


def _metadata(event: MetadataChanged, later: list[Event]) -> Told:
    told = event.to_dict()
    for each in later:
        if isinstance(each, MetadataChanged):
            told |= {"metadata": each.metadata, "erased": False}
        elif isinstance(each, SessionDeleted):
            told |= {"metadata": {}, "erased": True}
    return told


def _summary(event: Compacted, later: list[Event]) -> list[Told]:
    """It is gone when none of its messages is left."""
    told = event.to_dict()
    gone = told | {"compaction": told["compaction"] | {"summary": ""}, "erased": True}
    if any(isinstance(each, (Cleared, SessionDeleted)) for each in later):
        return [gone]
    return [told, gone] if any(isinstance(each, Deleted) for each in later) else [told]


class Ear:
    """What one listener was told so far."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self.last = 0

    def hear(self, events: list[Event], low: int, high: int, *, bodies: bool = True) -> None:
        """Further events, told between the states after `low` and `high`. A repeated append has the last number."""
        for event in events:
            if isinstance(event, Appended) and not event.inserted:
                assert event.seq == self.last, f"{event} comes behind {self.last}"
                continue
            assert event.seq == self.last + 1, f"{event} comes behind {self.last}"
            self.last = event.seq
            self._truth.check_place(event)
            if bodies:
                self._truth.check(event, low, high)
