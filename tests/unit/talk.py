"""What the tests of this folder speak with: messages of one text, what a listener heard, when two values are equal."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

from eventstore import Event, Message, MessageInfo, Session, Sessions


def message(message_id: str, text: str = "", **fields: Any) -> Message:
    """A user's message of one text part, with whatever other fields."""
    made: Any = {"id": message_id, "role": "user", "parts": [{"type": "text", "text": text}], **fields}
    found: Message = made
    return found


def reply(message_id: str, text: str, state: str = "streaming") -> Message:
    """An assistant's reply as it streams: its text in the middle of its JSON."""
    parts = [{"type": "text", "text": text, "state": state}]
    return {"id": message_id, "role": "assistant", "parts": parts, "metadata": {"model": "m"}}


def chain(session: Session, *message_ids: str, parent_id: str | None = None) -> None:
    """Appends messages one behind the other, the first of them under `parent_id`."""
    session.append_messages([message(each) for each in message_ids], parent_id=parent_id)


@functools.cache
def sized_path(length: int, run: int) -> tuple[Session, list[str], list[int]]:
    """A path of messages of many sizes over several chains of `run` messages, with the sizes. Nobody writes to it."""
    session = Sessions().session()
    names = [f"m{n}" for n in range(length)]
    with session.sessions.transaction():
        for n, name in enumerate(names):
            parent_id = names[n - 1] if n else None
            if n and n % run == 0:
                session.append_message(message(f"beside {name}"), parent_id=parent_id)
            session.append_message(message(name, "x" * (n * 37 % 101)), parent_id=parent_id)
    return session, names, [info.bytes for info in session.get_history_row_stats()]


def ids(found: Iterable[Message | MessageInfo]) -> list[str]:
    """The ids of messages or infos, in their order."""
    return [each.id if isinstance(each, MessageInfo) else each["id"] for each in found]


def joined(text: str) -> str:
    """Text as JSON means it: two halves of a pair that meet are one character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def canonical(value: Any) -> list[Any]:
    """A value as a flat list of what JSON text tells: 1, 1.0 and true apart, 0.0 from -0.0, the order of keys."""
    told: list[Any] = []
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Mapping):
            told.append(("object", [joined(key) for key in item]))
            waiting += list(item.values())[::-1]
        elif isinstance(item, (list, tuple)):
            told.append(("array", len(item)))
            waiting += list(item)[::-1]
        elif isinstance(item, float):
            told.append(("float", item.hex()))
        else:
            told.append((type(item).__name__, joined(item) if isinstance(item, str) else item))
    return told


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
