"""One row of a Claude Code transcript: what is remembered of it while the rest of the file is read.

A row is read twice. The first time its place, its parent and what decides on its fate are noted here; the second time,
when its message is made, its content is read again.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias

import attrs

from eventstore.exchange.anthropic_parts import blocks_of, is_call, is_result
from eventstore.exchange.values import is_nothing, object_of, time_of_text, usable, without

FORMAT: Final = "claude-code"
SPOKEN: Final = ("user", "assistant")
SHARED: Final = ("cwd", "gitBranch", "version", "userType", "entrypoint", "sessionKind", "slug")
"""Fields that nearly all rows of a session have in common: said once, of the session."""

_HELD: Final = frozenset(("uuid", "parentUuid", "sessionId", "type", "timestamp", "message"))
_HELD_OF_MESSAGE: Final = frozenset(("role", "content", "model", "type"))
Place: TypeAlias = tuple[int, int]
"""(number of the file, place of the row in it)."""


@attrs.define
class Row:
    """A row with an id, as far as the tree needs it. `role` is `None` for a row that is no message."""

    id: str
    place: Place
    kind: str
    parent: str | None
    names_parent: bool
    role: str | None
    time: datetime | None
    side: str | None = None  # the side chain that it belongs to
    answer: str | None = None  # the id of the answer that it is a piece of
    empty: bool = False
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    summarizes: bool = False  # it holds a compaction's summary
    cuts: bool = False  # it marks a compaction: it begins a new root, but follows what was there
    follows: str | None = None  # the row that it says it follows then
    preserved: tuple[str, ...] = ()  # rows that the compaction left as they were

    @classmethod
    def of(cls, id: str, value: Mapping[str, Any], place: Place) -> Row:
        """What is remembered of the row `value`."""
        kind, parent = str(value.get("type")), value.get("parentUuid")
        row = cls(
            id=id,
            place=place,
            kind=kind,
            parent=parent if isinstance(parent, str) and parent else None,
            names_parent="parentUuid" in value,
            role=None,
            time=time_of_text(value.get("timestamp")),
        )
        if value.get("isSidechain") is True:
            row.side = str(value.get("agentId") or "side")
        if is_spoken(value):
            row._speak(value)
        elif kind == "summary" and isinstance(value.get("summary"), str):
            row.summarizes = row.cuts = True
            row.follows = _name(value.get("leafUuid"))
        elif kind == "system" and value.get("subtype") == "compact_boundary":
            row.cuts = True
            row.follows = _name(value.get("logicalParentUuid"))
            row.preserved = _preserved(object_of(value.get("compactMetadata")))
        return row

    def _speak(self, value: Mapping[str, Any]) -> None:
        blocks = blocks_of(value["message"].get("content"))
        role, answer = value["message"].get("role"), value["message"].get("id")
        self.calls = tuple([block["id"] for block in blocks if is_call(block)])
        self.results = tuple([block["tool_use_id"] for block in blocks if is_result(block)])
        self.role = str(role) if usable(role) else self.kind
        if self.results and len(self.results) == len(blocks) and self.role == "user":
            self.role = "tool"
        if self.role == "assistant":
            self.answer = _name(answer)
        self.empty = all(map(_says_nothing, blocks))
        self.summarizes = value.get("isCompactSummary") is True

    @property
    def asks(self) -> bool:
        """Whether a person speaks here."""
        return self.role == "user"


def is_row(value: Any) -> bool:
    """Whether a value is a row of such a transcript, of whatever type."""
    return isinstance(value, dict) and usable(value.get("type"))


def is_spoken(value: Mapping[str, Any]) -> bool:
    """Whether a row is a message."""
    return value.get("type") in SPOKEN and isinstance(value.get("message"), dict)


def said(value: Mapping[str, Any]) -> list[Any]:
    """What makes a row another one: its content, and who says it."""
    message = object_of(value.get("message"))
    return [value.get("type"), message.get("role"), message.get("content"), value.get("summary")]


def about(value: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    """What a row says of its message and nothing else holds. `shared` is what the session says already."""
    rest = {
        key: item
        for key, item in value.items()
        if key not in _HELD and not (key in shared and shared[key] == item) and (item or not is_nothing(item))
    }
    if rest.get("isSidechain") is False:
        del rest["isSidechain"]
    if message := without(object_of(value.get("message")), _HELD_OF_MESSAGE):
        rest["message"] = message
    return rest


def _name(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _says_nothing(block: Any) -> bool:
    return block == "" or (isinstance(block, dict) and block.get("type") == "text" and block.get("text") == "")


def _preserved(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """The rows that a compaction names as left as they were, the first of a segment first."""
    segment, listed = object_of(metadata.get("preservedSegment")), metadata.get("preservedMessages")
    if isinstance(listed, dict):
        listed = listed.get("uuids")
    names = [segment.get("headUuid"), *(listed if isinstance(listed, list) else [])]
    return tuple(name for name in names if isinstance(name, str))
