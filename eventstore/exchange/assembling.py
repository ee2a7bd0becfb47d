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

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from enum import Enum
from typing import Any, Final, TypeAlias

import attrs

from eventstore.exchange.conversation import Conversation, Skipped
from eventstore.exchange.identities import Identities, content_id
from eventstore.exchange.planting import Forest
from eventstore.exchange.spool import Spool
from eventstore.exchange.tools import Call, Pairs, Part, Place, Result, Said, pair, woven
from eventstore.exchange.values import EPOCH, list_of, usable

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
    isn't kept. `listed` are the ids of its children, where the format lists them. `place` is where on a spool it is put
    aside.
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
    place: int = 0


def told_by_nesting(
    messages: Sequence[Any], inside: str, told_of: Callable[[dict[str, Any], str | None], Told], skipped: list[Skipped]
) -> Iterator[Told]:
    """Messages that hold those which follow them under the key `inside`: in the file's order, each before those in it.

    `told_of(message, above)` says what the file says of one; `above` is the id of the nearest one around it.
    """
    waiting: list[tuple[Any, str | None]] = [(each, None) for each in reversed(messages)]
    number = 0
    while waiting:
        found, above = waiting.pop()
        number += 1
        if not isinstance(found, dict):
            skipped.append((f"message {number}", "it isn't an object"))
            continue
        told = told_of(found, above)
        yield told
        here = told.id if isinstance(told.id, str) else above
        waiting += [(each, here) for each in reversed(list_of(found.get(inside)))]


Words: TypeAlias = tuple[Sequence[Said], Any, Any]
"""(said, content, metadata) of a message."""


class Assembly:
    """Messages on their way into a conversation, in the order of the file.

    With a `spool` what they say lies there until their rows are made, so that memory holds only the tree.
    """

    def __init__(self, spool: Spool | None = None) -> None:
        self.told: dict[str, Told] = {}
        self.notes: list[Skipped] = []
        self.calls: dict[str, list[str]] = {}  # the names of calls and results, of the messages that have any
        self.results: dict[str, list[str]] = {}
        self._parents: dict[str, str | None] = {}
        self._previous: str | None = None
        self._derived = Identities()
        self._spool = spool

    def add(self, told: Told) -> str | None:
        """Takes the next message, under its id or one that it gets; `None` if it is there already."""
        parent = self._previous if told.parent is PREVIOUS else told.parent
        parent = parent if parent is None or isinstance(parent, str) else repr(parent)
        key = told.id
        if not usable(key):
            key = self._derive(parent, told.content)
            if told.id not in (None, ""):
                self.notes.append((f"id {told.id!r}", f"no store takes it: replaced by {key!r}"))
        elif key in self.told:
            if content_id(None, self.words(key)[1]) == content_id(None, told.content):
                self.notes.append((f"message {key!r}", "it is there a second time: kept once"))
                return None
            key = self._derive(parent, told.content)
            self.notes.append((f"id {told.id!r}", f"another message has it: replaced by {key!r}"))
        self._parents[key] = parent
        self._previous = key
        self._note_tools(key, told)
        self._put(key, told)
        return str(key)

    def _put(self, key: str, told: Told) -> None:
        self.told[key] = told
        if self._spool is not None:
            told.place = self._spool.append((told.said, told.content, told.metadata))
            told.said, told.content, told.metadata = (), None, None

    def say(self, key: str, said: Sequence[Said]) -> None:
        """Lets the message `key` say something else, with the same calls and results."""
        told = self.told[key]
        _, told.content, told.metadata = self.words(key)
        told.said = said
        self._put(key, told)

    def children(self) -> dict[str | None, list[str]]:
        """What hangs on each message so far, by what they say; the roots under `None`."""
        below: dict[str | None, list[str]] = {}
        for key, parent in self._parents.items():
            below.setdefault(parent if parent in self.told else None, []).append(key)
        return below

    def words(self, key: str) -> Words:
        """What the message `key` says."""
        told = self.told[key]
        if self._spool is not None:
            found: Words = self._spool[told.place]
            return found
        return told.said, told.content, told.metadata

    def _derive(self, parent: str | None, content: Any) -> str:
        while (key := self._derived.derive(parent, content)) in self.told:
            continue
        return key

    def _note_tools(self, key: str, told: Told) -> None:
        for said in told.said:
            if isinstance(said, Call):
                names = self.calls.setdefault(key, [])
                names.append(said.name(key, len(names)))
            elif isinstance(said, Result):
                self.results.setdefault(key, []).append(said.name())

    def conversation(
        self,
        session_id: str,
        metadata: dict[str, Any],
        *,
        current: Any = PREVIOUS,
        otherwise: datetime | None = None,
        skipped: Iterable[Skipped] = (),
        digest: str | None = None,
    ) -> Conversation:
        """The conversation of these messages, see `assemble`."""
        told = self.told
        forest = Forest.of(self._parents, {key: each.listed for key, each in told.items() if each.listed})
        standing = forest.standing(key for key in forest.order if told[key].left_out is None)
        times = {key: each.created_at for key, each in told.items() if each.created_at}
        asked = {key for key, each in told.items() if each.role == "user" and key not in self.results}
        pairs = pair(forest.order, forest.parents, self.calls, self.results, asked)
        rows, hung = forest.plant(standing, times, otherwise or EPOCH, _Messages(self, pairs).message)
        notes = [*skipped, *self.notes, *forest.skipped, *pairs.skipped]
        notes += [(f"message {key!r}", why) for key in forest.order if (why := told[key].left_out) is not None]
        shown = self._previous if current is PREVIOUS else current
        if shown is not None and (not isinstance(shown, str) or shown not in told):
            notes.append((f"current message {shown!r}", "it is not in the file"))
        return Conversation(
            session_id,
            metadata,
            rows,
            standing.get(shown) if isinstance(shown, str) else None,
            tuple(notes),
            elsewhere=forest.missing(hung),
            digest=digest,
        )


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
    assembly = Assembly()
    for each in told:
        assembly.add(each)
    return assembly.conversation(
        session_id, metadata, current=current, otherwise=otherwise, skipped=skipped, digest=digest
    )


@attrs.frozen
class _Messages:
    """The messages of an assembly as a store takes them, their calls paired with their results."""

    assembly: Assembly
    pairs: Pairs

    def message(self, key: str) -> dict[str, Any]:
        """The message `key`."""
        said, _, metadata = self.assembly.words(key)
        role = self.assembly.told[key].role
        has_tools = key in self.assembly.calls or key in self.assembly.results
        parts = self._woven(key, said) if has_tools else [*said]
        message = {"id": key, "role": role if usable(role) else "unknown", "parts": parts}
        if metadata is not None and metadata != {}:
            message["metadata"] = metadata
        return message

    def _woven(self, key: str, said: Sequence[Said]) -> list[Part]:
        calls, results = self.assembly.calls.get(key, ()), self.assembly.results.get(key, ())
        answered: list[int | Part | None] = []
        for number in range(len(results)):
            place = self.pairs.calls.get((key, number))
            if place is None or place[0] == key:
                answered.append(None if place is None else place[1])
            else:
                answered.append(self._call(place))
        return woven(said, [self.pairs.names[key, number] for number in range(len(calls))], answered)

    def _call(self, place: Place) -> Part:
        """The part of an earlier message's call, without its result."""
        calls = [said for said in self.assembly.words(place[0])[0] if isinstance(said, Call)]
        return calls[place[1]].to_part(self.pairs.names[place])
