"""What is known of the sessions and events of a damaged log while it is mended: values, and no rules but of shape."""

from __future__ import annotations

from typing import Any

import attrs

from eventstore import log
from eventstore.log import Envelope

SUMMARIES = (log.COMPACT, log.COMPACTION)


class Unfit(Exception):
    """An event that can't stand, and why."""


@attrs.define
class Remains:
    """A session as the events so far have left it."""

    key: int  # its number in the new log: that of its first event there
    name: str
    last: int = 0
    living: dict[int, str] = attrs.field(factory=dict)  # message -> id, in order
    numbers: dict[str, int] = attrs.field(factory=dict)  # id -> message

    def add(self, message: int, message_id: str) -> None:
        """A message came."""
        self.living[message] = message_id
        self.numbers[message_id] = message

    def remove(self, message: int) -> None:
        """A message went."""
        del self.numbers[self.living.pop(message)]

    def clear(self) -> None:
        """All went."""
        self.living.clear()
        self.numbers.clear()

    def nearest(self, below: int) -> int | None:
        """The newest living message that was written before `below`."""
        return next((message for message in reversed(self.living) if message < below), None)


@attrs.define
class Found:
    """An event on its way into the new log."""

    envelope: Envelope
    session: Remains
    row: str | None  # what its row holds of its body
    value: Any  # what its body says, where that can be vouched for
    deleted: list[int] = attrs.field(factory=list)

    def change(self, **fields: Any) -> None:
        """Gives the envelope other fields."""
        self.envelope = self.envelope._replace(**fields)


def title(e: Envelope) -> str:
    """How an event is named to the person."""
    return f"event {e.seq} ({log.TYPE_NAMES.get(e.type, 'of an unknown type')})"


def shaped(e: Envelope) -> Envelope:
    """With the type set right where the other fields tell it. Raises `Unfit` where they fit another one and don't."""
    if e.id is not None:
        fitting: tuple[int, ...] = SUMMARIES if e.message is not None else (log.APPEND, log.IMPORT)
    elif e.message is not None:
        fitting = (log.UPDATE,) if e.role is not None else (log.SELECT,)
    else:
        fitting = (log.METADATA,) if e.bytes is not None else (log.DELETE, log.CLEAR, log.DELETE_SESSION)
    if e.type not in fitting:
        if log.DELETE in fitting:
            raise Unfit("what it did can't be told")
        return e._replace(type=fitting[0])
    return e
