"""Messages as a file tells them, one after the other, put together into a `Conversation`.

A module for a format says of each message what the file says (`Told`); ids, parents, order, tool calls, times and the
shown branch are settled here, for all in the same way:

- A message whose id no store takes (there is none, it isn't text, it is empty) gets one by the rule of `identities`.
- Of several messages with one id the first has it. One that says the same again is left out; one that says something
  else gets an id as if it had none. Both are named.
- Parents are mended by the rules of `conversation`; the order is that of the file, parents first.
- What hangs on a message that is left out hangs on the nearest one above it that is kept.
- Calls and results are paired by the rules of `tools`.
- A message without a time has that of the nearest one above it, else the conversation's, else 1970.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Any, Final

import attrs

from eventstore.exchange.conversation import Conversation, Skipped
from eventstore.exchange.identities import Identities, content_id
from eventstore.exchange.planting import Forest
from eventstore.exchange.tools import Call, Part, Place, Result, Said, pair, woven
from eventstore.exchange.values import EPOCH, usable

EMPTY: Final = "it is empty"


class Hung(Enum):
    """A place that isn't named but told by the order."""

    PREVIOUS = "the message before"


PREVIOUS: Final = Hung.PREVIOUS


@attrs.define
class Told:
    """What a file says of one message.

    `id` and `parent` are the file's own, of whatever type; `parent` is `None` at a root. `content` is JSON that stands
    for what the message says, as far as it doesn't change from one export to the next. `left_out` says why the message
    isn't kept. `listed` are the ids of its children, where the format lists them.
    """

    id: Any
    role: Any
    said: Sequence[Said]
    content: Any
    parent: Any = PREVIOUS
    metadata: Any = None
    created_at: datetime | None = None
    left_out: str | None = None
    listed: Sequence[str] = ()


class _Ids:
    """The messages of a conversation by their ids, in the order of the file."""

    def __init__(self) -> None:
        self.told: dict[str, Told] = {}
        self.parents: dict[str, str | None] = {}
        self.notes: list[Skipped] = []
        self._derived = Identities()

    def add(self, told: Told, previous: str | None) -> str | None:
        """Gives a message its id; `None` if it is left out because it is there already."""
        parent = previous if told.parent is PREVIOUS else told.parent
        parent = parent if parent is None or isinstance(parent, str) else repr(parent)
        key = told.id
        if not usable(key):
            key = self._derive(parent, told.content)
            if told.id not in (None, ""):
                self.notes.append((f"id {told.id!r}", f"no store takes it: replaced by {key!r}"))
        elif key in self.told:
            if content_id(None, self.told[key].content) == content_id(None, told.content):
                self.notes.append((f"message {key!r}", "it is there a second time: kept once"))
                return None
            key = self._derive(parent, told.content)
            self.notes.append((f"id {told.id!r}", f"another message has it: replaced by {key!r}"))
        self.told[key] = told
        self.parents[key] = parent
        return str(key)

    def _derive(self, parent: str | None, content: Any) -> str:
        while (key := self._derived.derive(parent, content)) in self.told:
            continue
        return key


def assemble(
    session_id: str,
    metadata: dict[str, Any],
    told: Iterable[Told],
    *,
    current: Any = PREVIOUS,
    otherwise: datetime | None = None,
    skipped: Iterable[Skipped] = (),
    digest: str | None = None,
) -> Conversation:
    """A conversation of these messages.

    `current` is the id of the message that is shown last, `None` if the file names none; as it is, the last one told.
    `otherwise` is the time of messages without any. `digest` stands for all that the file says of it.
    """
    ids = _Ids()
    previous: str | None = None
    for each in told:
        previous = ids.add(each, previous) or previous
    children = {key: each.listed for key, each in ids.told.items() if each.listed}
    forest = Forest.of(ids.parents, children)
    kept = [key for key in forest.order if ids.told[key].left_out is None]
    times = {key: each.created_at for key, each in ids.told.items() if each.created_at}
    tools = _Tools(forest, ids.told)
    rows, hung = forest.plant(kept, times, otherwise or EPOCH, lambda key: _message(key, ids.told[key], tools))
    notes = [*skipped, *ids.notes, *forest.skipped, *tools.pairs.skipped]
    notes += [(f"message {key!r}", why) for key in forest.order if (why := ids.told[key].left_out) is not None]
    shown = previous if current is PREVIOUS else current
    if shown is not None and (not isinstance(shown, str) or shown not in forest.parents):
        notes.append((f"current message {shown!r}", "it is not in the file"))
    return Conversation(
        session_id,
        metadata,
        rows,
        forest.standing(kept).get(shown) if isinstance(shown, str) else None,
        tuple(notes),
        elsewhere=forest.missing(hung),
        digest=digest,
    )


# ---- messages, their calls paired with their results


class _Tools:
    """The calls and results of a conversation, each message's in its own order, and which belong together."""

    def __init__(self, forest: Forest, told: Mapping[str, Told]) -> None:
        self.calls: dict[str, list[Call]] = {}  # only of messages that have any
        self.results: dict[str, list[Result]] = {}
        for key in forest.order:
            for said in told[key].said:
                if isinstance(said, Call):
                    self.calls.setdefault(key, []).append(said)
                elif isinstance(said, Result):
                    self.results.setdefault(key, []).append(said)
        names = {key: [call.name(key, at) for at, call in enumerate(calls)] for key, calls in self.calls.items()}
        answered = {key: [result.name() for result in results] for key, results in self.results.items()}
        asked = {key for key, each in told.items() if each.role == "user" and key not in answered}
        self.pairs = pair(forest.order, forest.parents, names, answered, asked)

    def call_part(self, place: Place) -> Part:
        """The part of a call without its result."""
        return self.calls[place[0]][place[1]].to_part(self.pairs.names[place])

    def parts_of(self, key: str, said: Sequence[Said]) -> list[Part]:
        """The parts of the message `key`."""
        calls, results = self.calls.get(key, ()), self.results.get(key, ())
        if not calls and not results:
            return [*said]  # type: ignore[list-item] # parts, all of them
        names = [self.pairs.names[key, number] for number in range(len(calls))]
        answered: list[int | Part | None] = []
        for number in range(len(results)):
            place = self.pairs.calls.get((key, number))
            if place is None or place[0] == key:
                answered.append(None if place is None else place[1])
            else:
                answered.append(self.call_part(place))
        return woven(said, names, answered)


def _message(key: str, told: Told, tools: _Tools) -> dict[str, Any]:
    """The message `key` as a store takes it."""
    role = told.role if usable(told.role) else "unknown"
    message = {"id": key, "role": role, "parts": tools.parts_of(key, told.said)}
    return message if told.metadata in (None, {}) else {**message, "metadata": told.metadata}
