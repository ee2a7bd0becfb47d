"""What the tests of this folder speak with: messages of one text, and what a listener heard."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from eventstore import Event, Message, MessageInfo, Session


def message(message_id: str, text: str = "", **fields: Any) -> Message:
    """A user's message of one text part, with whatever other fields."""
    made: Any = {"id": message_id, "role": "user", "parts": [{"type": "text", "text": text}], **fields}
    found: Message = made
    return found


def chain(session: Session, *message_ids: str, parent_id: str | None = None) -> None:
    """Appends messages one behind the other, the first of them under `parent_id`."""
    session.append_messages([message(each) for each in message_ids], parent_id=parent_id)


def ids(found: Iterable[Message | MessageInfo]) -> list[str]:
    """The ids of messages or infos, in their order."""
    return [each.id if isinstance(each, MessageInfo) else each["id"] for each in found]


class Heard(list[Event]):
    """A listener: the events that it heard, in the order in which they came."""

    def __call__(self, event: Event) -> None:
        self.append(event)

    @property
    def seqs(self) -> list[int]:
        return [event.seq for event in self]

    @property
    def types(self) -> list[str]:
        return [event.type for event in self]
