"""One node of a ChatGPT conversation as one message: its role, parts, time and metadata, and why it may be left out.

`chatgpt` says what the rules are and knows the tree. Nothing here looks at another node by itself: a result is given
the call that it answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from typing import Any

import attrs

from eventstore.exchange.chatgpt_parts import Expressed, attachments, express
from eventstore.exchange.tools import Part, call_part, result_part, spelled
from eventstore.exchange.values import object_of, time_of, usable, without

CALLS = ("text", "code")  # kinds of content that a tool is called with
HIDDEN = "is_visually_hidden_from_conversation"


@attrs.define(slots=False)  # many, short-lived, with values that are kept once they are asked for
class Node:
    """A node that holds a message. `tool_part` takes the place of its text when it is a tool's call or result."""

    key: str
    message: Mapping[str, Any]
    said: Expressed
    calls: str | None = None  # the tool that it calls
    tool_part: Part | None = None

    @classmethod
    def of(cls, key: str, message: Mapping[str, Any]) -> Node:
        """The node `key` with its message, a call if it is addressed to a tool."""
        node = cls(key, message, express(message.get("content")))
        tool, text = message.get("recipient"), node.said.text()
        kind = object_of(message.get("content")).get("content_type")
        addressed = node.role == "assistant" and isinstance(tool, str) and tool not in ("", "all")
        if addressed and kind in CALLS and text is not None:
            node.calls, node.tool_part = tool, call_part(str(tool), key, spelled(text))
        return node

    @cached_property
    def _author(self) -> dict[str, Any]:
        return object_of(self.message.get("author"))

    @cached_property
    def _metadata(self) -> dict[str, Any]:
        return object_of(self.message.get("metadata"))

    @cached_property
    def role(self) -> str:
        """The author's role; "unknown" where the export has none."""
        role = self._author.get("role")
        return str(role) if usable(role) else "unknown"

    @property
    def answers(self) -> str | None:
        """The tool that this message comes from."""
        name = self._author.get("name")
        return name if self.role == "tool" and isinstance(name, str) else None

    def answer(self, call: Node) -> None:
        """Makes this message the result of `call`, unless it is empty: its text, or else its content, is the output."""
        if call.tool_part is None or not self.said.parts:
            return
        text = self.said.text()
        self.tool_part = result_part(call.tool_part, self.message.get("content") if text is None else text)
        if text is None:
            self.said = Expressed(self.said.parts)

    @property
    def parts(self) -> list[Part]:
        """The message's parts, files last."""
        files = self._metadata.get("attachments")
        said = self.said.parts if self.tool_part is None else [self.tool_part]
        return [*said, *attachments(files)] if isinstance(files, list) else said

    @property
    def left_out(self) -> str | None:
        """Why ChatGPT shows nothing of it, or `None`."""
        if self._metadata.get(HIDDEN) is True:
            return "it is hidden from the conversation"
        if self.role == "system":
            return "it is a system message"
        return None if self.tool_part or self.said.parts or self.parts else "it is empty"

    @property
    def speaks(self) -> bool:
        """Whether somebody says something here, so that a later result belongs to no call above."""
        if self.left_out or self.tool_part or self.role not in ("user", "assistant"):
            return False
        return any(part["type"] != "reasoning" for part in self.parts)

    @cached_property
    def time(self) -> datetime | None:
        """The message's own time."""
        return time_of(self.message.get("create_time"))

    def to_message(self) -> dict[str, Any]:
        """The message as a store takes it."""
        metadata: dict[str, Any] = {}
        if isinstance(model := self._metadata.get("model_slug"), str):
            metadata["model"] = model
        if isinstance(name := self._author.get("name"), str):
            metadata["author"] = name
        metadata["chatgpt"] = self._about()
        return {"id": self.key, "role": self.role, "parts": self.parts, "metadata": metadata}

    def _about(self) -> dict[str, Any]:
        """What the export says of the message and nothing else of it holds."""
        about = without(self.message, ["id"] if self.message.get("id") == self.key else [])
        about.pop("content", None)
        if self.time is not None:
            del about["create_time"]
        for name, held in (
            ("author", {"role": str, "name": str}),
            ("metadata", {"model_slug": str, "attachments": list}),
        ):
            if isinstance(value := about.get(name), dict):
                about[name] = without(value, [key for key, kind in held.items() if isinstance(value.get(key), kind)])
        return without({**about, "content": self.said.rest})
