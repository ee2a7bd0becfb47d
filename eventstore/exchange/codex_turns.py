"""The branch that a Codex rollout is at, and what a rollback takes off its end. Pure.

Codex writes a rollback as an event: `{"type": "thread_rolled_back", "num_turns": n}`. The rows before it stay in the
file, and the next row follows what was in front of the last `n` turns. A turn begins where a person says something;
what Codex says in the person's name (instructions, the environment, notices) begins none. Where there are fewer turns
all are taken off, and what stands in front of the first one stays.
"""

from __future__ import annotations

import re
from typing import Any, Final

import attrs

from eventstore.exchange.response_items import kind_of
from eventstore.exchange.values import list_of, object_of

_TAGS: Final = (
    "codex_internal_context",
    "environment_context",
    "goal_context",
    "hook_prompt",
    "recommended_plugins",
    "skill",
    "subagent_notification",
    "turn_aborted",
    "user_instructions",
    "user_shell_command",
    r"external_\w+",
)
_CONTEXT: Final = re.compile(
    rf"\s*(?:# AGENTS\.md instructions.*</INSTRUCTIONS>|<({'|'.join(_TAGS)})\b[^>]*>.*</\1>)\s*",
    re.DOTALL | re.IGNORECASE,
)
_WARNINGS: Final = (
    "Warning: The maximum number of unified exec processes",
    "Warning: apply_patch was requested via",
    "Warning: Your account was flagged",
)
"""What begins as a message of the person's does, and is Codex's."""


def begins_turn(item: dict[str, Any]) -> bool:
    """Whether an item is something that a person said."""
    if kind_of(item) != "message" or item.get("role") != "user":
        return False
    content = item.get("content")
    entries = [content] if isinstance(content, str) else [object_of(entry).get("text") for entry in list_of(content)]
    return not any(isinstance(text, str) and _is_context(text) for text in entries)


def _is_context(text: str) -> bool:
    return _CONTEXT.fullmatch(text) is not None or text.startswith(_WARNINGS)


@attrs.define
class Branch:
    """The messages of the branch so far, by their keys."""

    _keys: list[str] = attrs.field(factory=list)
    _kept: list[int] = attrs.field(factory=list)  # the places of those that aren't left out
    _turns: list[int] = attrs.field(factory=list)  # the places at which turns begin

    def add(self, key: str, *, kept: bool, turn: bool) -> None:
        """Takes the next message."""
        if kept:
            self._kept.append(len(self._keys))
        if turn:
            self._turns.append(len(self._keys))
        self._keys.append(key)

    def roll_back(self, turns: int) -> None:
        """Takes off the last turns."""
        if turns < 1 or not self._turns:
            return
        cut = self._turns[-min(turns, len(self._turns))]
        for places in (self._kept, self._turns):
            while places and places[-1] >= cut:
                places.pop()
        del self._keys[cut:]

    @property
    def leaf(self) -> str | None:
        """The last message."""
        return self._keys[-1] if self._keys else None

    @property
    def kept(self) -> tuple[str, str] | None:
        """The first and the last message that isn't left out."""
        return (self._keys[self._kept[0]], self._keys[self._kept[-1]]) if self._kept else None
