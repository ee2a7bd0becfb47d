"""Tool calls and their results as AI SDK parts, and which result belongs to which call.

Files name a call by an id that is meant to be unique and often isn't: rounds count from zero again, one id is used for
two calls, results are missing or come without a call. The rules (`pair`):

- A result belongs to a call with its id on its own path: to the first of them since the last question that has no
  result yet, else to the nearest one before that has none, else (a second result) to the nearest one of all.
- `toolCallId` is unique on a path: a call whose id a call above it has already gets `#2`, `#3`, … behind it, and so do
  its results. It is named in the report.
- A call without a result stays "input-available". A result without a call is kept as it is, as a data part.

A message's own parts (`woven`): a result in the message of its call is one part with it; one in a later message is a
part of its own there, with the call's name and input. One without a call, and one more of a call that has its result in
that message already, is kept as data.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import attrs

from eventstore import strict
from eventstore.exchange.conversation import Skipped
from eventstore.exchange.elements import DECODER

T = TypeVar("T")
Part: TypeAlias = dict[str, Any]
Place: TypeAlias = tuple[str, int]
"""(node, n): the n-th call or result of a node, from 0."""


# ---- parts


def call_part(tool: str, call_id: str, input: Any, **more: Any) -> Part:
    """A tool call that has no result here."""
    return {"type": f"tool-{tool}", "toolCallId": call_id, "state": "input-available", "input": input, **more}


def result_part(call: Part, output: Any) -> Part:
    """A call with its result."""
    return {**call, "state": "output-available", "output": output}


def error_part(call: Part, error: Any) -> Part:
    """A call that failed. What it said is kept beside its text if it is more than a text."""
    text = error if isinstance(error, str) else _text_of(error)
    kept = {} if text == error else {"resultProviderMetadata": {"eventstore": {"error": error}}}
    return {**call, "state": "output-error", "errorText": text, **kept}


def _text_of(error: Any) -> str:
    """The text in an error that is blocks of text; else its JSON."""
    blocks = error if isinstance(error, list) else [error]
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    if len(texts) == len(blocks) and all(isinstance(text, str) for text in texts):
        return "\n".join(map(str, texts))
    return strict.encode(error)


def data_part(format: str, kind: object, data: Any) -> Part:
    """What no other part can hold, whole: `data-<format>-<kind>`."""
    name = kind if isinstance(kind, str) and kind else "part"
    return {"type": f"data-{format}-{name}", "data": data}


def spelled(text: Any) -> Any:
    """The object that a text spells in JSON, as models give the arguments of a call; else `text` itself."""
    if isinstance(text, str) and text.lstrip().startswith("{"):
        try:
            value = DECODER.decode(text)
        except (ValueError, RecursionError):
            return text
        if not strict.too_deep(value):
            return value
    return text


# ---- what a message says


@attrs.frozen
class Call:
    """A tool's call, which stands in a message for the part that it becomes. `more` are other keys of the part.

    Where it gets another name than its `call_id`, that is kept in its provider metadata, if there is a `keeper` for it.
    """

    call_id: Any
    tool: Any
    input: Any
    more: Mapping[str, Any] = attrs.field(factory=dict)
    keeper: str | None = None

    def name(self, key: str, number: int) -> str:
        """The id; of a call without any one by its place, which nothing answers."""
        return self.call_id if isinstance(self.call_id, str) and self.call_id else f"{key}/{number}"

    def to_part(self, name: str) -> Part:
        """The part, under the name that the call has in its conversation."""
        tool = self.tool if isinstance(self.tool, str) and self.tool else "unknown"
        part = call_part(tool, name, self.input, **self.more)
        if self.keeper is not None and self.call_id not in (name, None):
            _add(part, "callProviderMetadata", {self.keeper: {"toolCallId": self.call_id}})
        return part


@attrs.frozen
class Result:
    """What came of a call. `alone` is the part that it becomes if it has no call, or isn't its first.

    `about` is what else is said of it, by provider.
    """

    call_id: Any
    output: Any
    alone: Part
    failed: bool = False
    about: Mapping[str, Any] = attrs.field(factory=dict)

    def name(self) -> str:
        """The id of its call."""
        return self.call_id if isinstance(self.call_id, str) else ""

    def to_part(self, call: Part) -> Part:
        """The call's part with this result."""
        part = error_part(call, self.output) if self.failed else result_part(call, self.output)
        if self.about:
            _add(part, "resultProviderMetadata", self.about)
        return part


def _add(part: Part, key: str, about: Mapping[str, Any]) -> None:
    """Adds to a part's provider metadata, which may be another part's too."""
    held = part.get(key, {})
    part[key] = {**held, **{name: {**held.get(name, {}), **said} for name, said in about.items()}}


Said: TypeAlias = Part | Call | Result


def woven(said: Sequence[Said], names: Sequence[str], answered: Sequence[int | Part | None]) -> list[Part]:
    """The parts of what a message says.

    `names` are the `toolCallId` of its calls. `answered` are for each of its results the number of the call in this
    message, or the call's part from an earlier message, or `None` where there is no call.
    """
    if not names and not answered:
        return [*said]  # type: ignore[list-item] # parts, all of them
    calls = [call.to_part(name) for call, name in zip(_those(said, Call), names, strict=True)]
    results: list[Part | None] = []
    done: set[str] = set()
    for result, number in zip(_those(said, Result), answered, strict=True):
        call = calls[number] if isinstance(number, int) else number
        if call is None or call["toolCallId"] in done:
            results.append(result.alone)
            continue
        done.add(call["toolCallId"])
        part = result.to_part(call)
        if isinstance(number, int):
            calls[number] = part
        results.append(None if isinstance(number, int) else part)
    of_calls, of_results = iter(calls), iter(results)
    parts = (
        next(of_calls) if isinstance(each, Call) else next(of_results) if isinstance(each, Result) else each
        for each in said
    )
    return [part for part in parts if part is not None]


def _those(said: Sequence[Said], kind: type[T]) -> Iterator[T]:
    return (each for each in said if isinstance(each, kind))


# ---- pairs


@attrs.define
class _Open:
    """A call on the way, while its subtree is walked."""

    place: Place
    name: str  # its `toolCallId`
    turn: int
    answered: int = 0  # up to this place in the order: the end of the subtree of its result


@attrs.frozen
class Pairs:
    """The `toolCallId` of each call, the call of each result that has one, and what a report names."""

    names: dict[Place, str]
    calls: dict[Place, Place]
    skipped: list[Skipped]


def pair(
    order: Sequence[str],
    parents: Mapping[str, str | None],
    calls: Mapping[str, Sequence[str]],
    results: Mapping[str, Sequence[str]],
    asked: Collection[str] = (),
) -> Pairs:
    """Pairs the calls and results of a conversation by their ids.

    `order` has the nodes depth first, parents first. `calls` and `results` are the ids that a node calls and answers,
    each in the node's own order; a node's calls come before its results. `asked` are the nodes where a person speaks.
    Time is linear, but for many calls of one id on one path that have no result.
    """
    found = Pairs({}, {}, [])
    if not any(calls.values()) and not any(results.values()):
        return found
    index = {node: at for at, node in enumerate(order)}
    ends = subtree_ends(order, parents)
    turns: dict[str | None, int] = {None: 0}
    stacks: dict[str, list[_Open]] = {}
    for at, node in enumerate(order):
        turns[node] = turns[parents[node]] + (node in asked)
        for number, call_id in enumerate(calls.get(node, ())):
            stack = stacks.setdefault(call_id, [])
            _leave(stack, ends, at)
            name = call_id if not stack else f"{call_id}#{len(stack) + 1}"
            if stack:
                found.skipped.append((f"tool call {call_id!r} in message {node!r}", f"its id is used before: {name!r}"))
            stack.append(_Open((node, number), name, turns[node]))
            found.names[node, number] = name
        for number, call_id in enumerate(results.get(node, ())):
            stack = stacks.get(call_id, [])
            _leave(stack, ends, at)
            if stack:
                call = _answered_by(stack, turns[node], index[node])
                call.answered = ends[node]
                found.calls[node, number] = call.place
            else:
                what = f"tool result {call_id!r} in message {node!r}"
                found.skipped.append((what, "no call has its id: kept as data"))
    return found


def _leave(stack: list[_Open], ends: Mapping[str, int], at: int) -> None:
    """Drops the calls whose subtree was left behind."""
    while stack and ends[stack[-1].place[0]] <= at:
        stack.pop()


def _answered_by(stack: Sequence[_Open], turn: int, at: int) -> _Open:
    """The call that a result belongs to, by the rule above."""
    nearest: _Open | None = None
    for call in reversed(stack):
        if nearest is not None and call.turn != turn:
            break
        if call.answered <= at:  # none yet on this path
            nearest = call
    return nearest or stack[-1]


def subtree_ends(order: Sequence[str], parents: Mapping[str, str | None]) -> dict[str, int]:
    """For each node the place in `order` (depth first) right behind the last of its descendants."""
    ends = {key: place + 1 for place, key in enumerate(order)}
    for key in reversed(order):
        parent = parents[key]
        if parent is not None:
            ends[parent] = max(ends[parent], ends[key])
    return ends
