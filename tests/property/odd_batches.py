"""Batches as nobody should give them: messages of every kind among plain ones, in lists that aren't what they seem."""

from __future__ import annotations

import enum
import uuid
from collections import OrderedDict, UserDict, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from hypothesis import strategies as st

from eventstore.testing import messages
from tests.property.test_rubbish_messages import rubbish
from tests.unit.talk import message

WHEN = datetime(2026, 1, 1, tzinfo=UTC)
KEPT = {"kept": 1, "other": 1}
IDS = ("a", "b", "c", "d", "e", "first", "compaction_f", "", "\ud83d", "a\x00b", "\ud83d\ude00", "é")


class Word(str):
    """A string, and more."""

    __slots__ = ()


class Number(int):
    """An integer, and more."""


class Role(enum.StrEnum):
    """What some give as a role."""

    USER = "user"


class Count(enum.IntEnum):
    """A number with a name."""

    ONE = 1


class Message(dict[str, Any]):
    """A message of a framework's own kind."""


class Lazy(list[Any]):
    """A list of its own kind: what it gives isn't what its slots hold."""

    def __init__(self, items: list[Any]) -> None:
        super().__init__([None] * len(items))
        self._items = items

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)


def one_dict(items: list[Any]) -> Iterator[Any]:
    """Dicts in one dict, which is filled again and again."""
    shared: dict[Any, Any] = {}
    for each in items:
        if type(each) is dict:
            shared.clear()
            shared.update(each)
            yield shared
        else:
            yield each


class Alike:
    """Equal to whatever it is compared with."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


@dataclass
class Claimed:
    """Says that it is a message, and is none."""

    id: str
    role: str
    parts: list[Any]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, dict)

    __hash__ = None  # type: ignore[assignment]


@dataclass(eq=False)
class ClaimedPart:
    type: str
    text: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, dict)

    __hash__ = None  # type: ignore[assignment]


def nested(depth: int) -> Any:
    value: Any = 1
    for level in range(depth):
        value = [value] if level % 2 else {"in": value}
    return value


VALUES: tuple[Any, ...] = (
    1, True, 1.0, -0.0, 0, False, None, 1e400, float("nan"), 2**63, 2**64, -(2**63) - 1, 10**700, 1e16, 5e-324,
    "\ud83d", "\ud83d\ude00", "a\x00b", Word("word"), Number(3), Count.ONE, Role.USER, Alike(), b"bytes", {1}, 1j,
    uuid.UUID(int=1), WHEN, WHEN.date(), (1, (2,)), dict[Any, Any]({1: 2}), {"a": {"\ud83d": 1}}, {Word("k"): 1},
    {"\ud83d\ude00": 1, "\U0001f600": 2}, OrderedDict(b=1, a=2), defaultdict(list, k=[1]), MappingProxyType({"k": 1}),
    UserDict(k=1), Claimed("a", "user", []), nested(120), nested(260), nested(498), nested(499), nested(500),
    nested(501), nested(1_100), "x" * 3_000, "é" * 1_500,
)  # fmt: skip
PARTS: tuple[Any, ...] = (
    {"type": "text", "text": ""},
    {"type": Role.USER, "text": Word("a")},
    {"type": "text", "text": None},
    {"type": "text"},
    {"text": "text", "kind": "text"},
    {"type": "", "text": "x"},
    {"type": "text", "text": "x", "more": 1},
    {"type": "file", "text": "data:image/png;base64,iVBORw0KGgo="},
    {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,iVBORw0KGgo="},
    {"type": "file", "mediaType": "image/png", "data": "iVBORw0KGgo="},
    {"url": "data:image/png;base64,iVBORw0KGgo=", "type": "file"},
    {"type": "file", "text": "x", "mediaType": "image/png", "data": "iVBORw0KGgo="},
    {"type": "text", "text": "x" * 400},
    {"type": "text", "text": "\ud83d"},
    {"type": "text", "text": "é你👍"},
    ClaimedPart("text", "x"),
    MappingProxyType({"type": "text", "text": "x"}),
    "text",
    None,
    [],
)
OTHERS: tuple[Any, ...] = (
    None, "text", b"", 1, [], ["id"], {}, [["id", "x"]], Claimed("claimed", "user", []), Alike(), object(),
    Message(message("framework")), UserDict(message("user")), MappingProxyType(message("proxy")),
    {"id": Word("w"), "role": Role.USER, "parts": ()}, {"id": 1, "role": "user", "parts": []},
    {"id": "", "role": "user", "parts": []}, {"id": "x", "role": "", "parts": []}, {"id": "x", "role": "u"},
    {"id": Role.USER, "role": "user", "parts": ({"type": "text", "text": "x"},)},
    dict([*message("keys").items(), (1, 2)]), {**message("keys"), Word("k"): 2},
    {**message("keys"), Word("id"): "other"},
)  # fmt: skip


def each_odd_message() -> Iterator[Any]:
    """One of each kind."""
    yield from OTHERS
    for each in IDS:
        yield message(each)
    for value in VALUES:
        yield message("odd", value=value)
        yield message("odd", metadata={"kept": 1, "value": value})
        yield {"id": "odd", "role": value, "parts": []}
        yield {"id": "odd", "role": "user", "parts": [{"type": "text", "text": value}]}
        yield {"id": "odd", "role": "user", "parts": [{"type": value, "text": "x"}]}
    for part in PARTS:
        yield {"id": "odd", "role": "user", "parts": [part]}
        yield {"id": "odd", "role": "user", "parts": (PARTS[0], part)}


@st.composite
def odd_messages(draw: st.DrawFn) -> Any:
    """A message of any kind, or what is none."""
    match draw(st.integers(0, 5)):
        case 0:
            return draw(rubbish())
        case 1:
            return draw(st.sampled_from(OTHERS))
        case 2:
            return draw(messages(ids=st.sampled_from(IDS[:7])))
        case 3:
            return message(draw(st.sampled_from(IDS)), value=draw(st.sampled_from(VALUES)))
        case 4:
            parts = draw(st.lists(st.sampled_from(PARTS), max_size=3))
            kind = draw(st.sampled_from((list, tuple)))
            return {"id": draw(st.sampled_from(IDS)), "role": "user", "parts": kind(parts)}
        case _:
            return message(draw(st.sampled_from(IDS[:6])), metadata={**KEPT, "kept": draw(st.integers(0, 1))})


@st.composite
def batches(draw: st.DrawFn) -> list[Any]:
    """Mostly plain messages, with an odd one or two among them, or none."""
    batch: list[Any] = [
        message(
            each, draw(st.sampled_from(("", "x", "x" * 300))), **draw(st.sampled_from(({}, {}, {"metadata": KEPT})))
        )
        for each in draw(st.lists(st.sampled_from(IDS[:7]) | st.uuids().map(str), max_size=8))
    ]
    for odd in draw(st.lists(odd_messages(), max_size=2)):
        batch.insert(draw(st.integers(0, len(batch))), odd)
    return batch
