"""Messages as a file tells them, one after the other, put together into a `Conversation`.

A module for a format says of each message what the file says (`Told`); ids, parents, order, tool calls, times and the
shown branch are settled here, for all in the same way:

- A message whose id no store takes (there is none, it isn't text, it is empty) gets one by the rule of `identities`.
- Of several messages with one id the first has it. One that says the same again is left out; one that says something
  else gets an id as if it had none. Both are named.
- Parents are mended by the rules of `conversation`; the order is that of the file, parents first.
- What hangs on a message that is left out hangs on the nearest one above it that is kept.
- Calls and results are paired by the rules of `tools`. A result in the message of its call is one part with it; one in
  a later message is a part of its own there, with the call's name and input. One without a call, and one more of a call
  that has its result in that message already, is kept as data.
- A message without a time has that of the nearest one above it, else the conversation's, else 1970.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Any, Final, TypeAlias

import attrs

from eventstore.exchange.conversation import Conversation, Skipped
from eventstore.exchange.identities import Identities, content_id
from eventstore.exchange.planting import Forest
from eventstore.exchange.tools import Part, call_part, error_part, pair, result_part
from eventstore.exchange.values import EPOCH, usable

EMPTY: Final = "it is empty"


class Place(Enum):
    """A place that isn't named but told by the order."""

    PREVIOUS = "the message before"


PREVIOUS: Final = Place.PREVIOUS


@attrs.frozen
class Call:
    """A tool's call, which stands in a message for the part that it becomes. `more` are other keys of the part."""

    call_id: Any
    tool: Any
    input: Any
    more: Mapping[str, Any] = attrs.field(factory=dict)

    def name(self, key: str, number: int) -> str:
        """The id; of a call without any one by its place, which nothing answers."""
        return self.call_id if isinstance(self.call_id, str) and self.call_id else f"{key}/{number}"

    def to_part(self, name: str) -> Part:
        """The part, under the name that the call has in its conversation."""
        return call_part(
            self.tool if isinstance(self.tool, str) and self.tool else "unknown", name, self.input, **self.more
        )


@attrs.frozen
class Result:
    """What came of a call. `alone` is the part that it becomes if it has no call, or isn't its first."""

    call_id: Any
    output: Any
    alone: Part
    failed: bool = False
    more: Mapping[str, Any] = attrs.field(factory=dict)

    def name(self) -> str:
        """The id of its call."""
        return self.call_id if isinstance(self.call_id, str) else ""

    def to_part(self, call: Part) -> Part:
        """The call's part with this result."""
        answered = error_part(call, self.output) if self.failed else result_part(call, self.output)
        return {**answered, **self.more}


Said: TypeAlias = Part | Call | Result


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

    def call_part(self, place: tuple[str, int]) -> Part:
        """The part of a call without its result."""
        return self.calls[place[0]][place[1]].to_part(self.pairs.names[place])

    def parts_of(self, key: str) -> tuple[list[Part], list[Part | None]]:
        """The parts of a message's calls, and of its results; a result that its call's part took is `None`."""
        calls = [self.call_part((key, number)) for number in range(len(self.calls.get(key, ())))]
        results: list[Part | None] = []
        done: set[tuple[str, int]] = set()
        for number, result in enumerate(self.results.get(key, ())):
            place = self.pairs.calls.get((key, number))
            if place is None or place in done:
                results.append(result.alone)
                continue
            done.add(place)
            if place[0] == key:
                calls[place[1]] = result.to_part(calls[place[1]])
                results.append(None)
            else:
                results.append(result.to_part(self.call_part(place)))
        return calls, results


def _message(key: str, told: Told, tools: _Tools) -> dict[str, Any]:
    """The message `key` as a store takes it."""
    of_calls, of_results = tools.parts_of(key)
    calls, results = iter(of_calls), iter(of_results)
    parts: list[Part | None] = []
    for said in told.said:
        parts.append(next(calls) if isinstance(said, Call) else next(results) if isinstance(said, Result) else said)
    role = told.role if usable(told.role) else "unknown"
    message = {"id": key, "role": role, "parts": [part for part in parts if part is not None]}
    return message if told.metadata in (None, {}) else {**message, "metadata": told.metadata}
