"""ChatGPT's message contents as AI SDK parts. Pure: a content goes in, parts come out.

| content_type | parts |
| --- | --- |
| `text`, `multimodal_text` | a `text` part for each string of `parts`; other entries as data |
| `code`, `execution_output`, `tether_quote`, `tether_browsing_display` | a `text` part of their text |
| `thoughts`, `reasoning_recap` | `reasoning` parts |
| anything else, or one of these in another shape | one `data-chatgpt-<content_type>` part with the whole content |

An entry of `parts` that isn't a string, an asset pointer say, becomes `data-chatgpt-<its content_type>`, or
`data-chatgpt-part` if it has none (`null`, a number). Empty strings make no part. What a content says beside its text
(the language of code, the address of a quote) comes back as `Expressed.rest`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from eventstore.exchange.tools import Part, data_part

TEXT_FIELDS = {
    "code": "text",
    "execution_output": "text",
    "tether_quote": "text",
    "tether_browsing_display": "result",
    "reasoning_recap": "content",
}
REASONING = ("thoughts", "reasoning_recap")


@attrs.frozen
class Expressed:
    """A content as parts, and those of its fields that the parts don't hold."""

    parts: list[Part]
    rest: dict[str, Any] = attrs.field(factory=dict)

    def text(self) -> str | None:
        """The text, if it is one text and nothing else."""
        if len(self.parts) == 1 and self.parts[0]["type"] == "text":
            return str(self.parts[0]["text"])
        return None


def express(content: Any) -> Expressed:
    """A message's content as parts. Nothing is dropped but empty strings."""
    if not isinstance(content, dict):
        return Expressed([] if content in (None, []) else _entries([content]))
    kind = content.get("content_type")
    if kind in (None, "text", "multimodal_text"):
        return _from_list(content, "parts", _entries)
    if kind == "thoughts":
        return _from_list(content, "thoughts" if "thoughts" in content else "parts", _thoughts)
    if isinstance(kind, str) and kind in TEXT_FIELDS:
        field = TEXT_FIELDS[kind]
        make = _thoughts if kind in REASONING else _entries
        if isinstance(content.get(field), str):
            return Expressed(make([content[field]]), _rest(content, field))
        return _from_list(content, "parts", make)
    return Expressed([_data(content)])


def _from_list(content: dict[str, Any], field: str, make: Callable[[list[Any]], list[Part]]) -> Expressed:
    entries = content.get(field)
    if not isinstance(entries, list):
        says_nothing = all(value is None for key, value in content.items() if key != "content_type")
        return Expressed([] if says_nothing else [_data(content, "content")])
    return Expressed(make(entries), _rest(content, field))


def _rest(content: dict[str, Any], field: str) -> dict[str, Any]:
    return {
        key: value for key, value in content.items() if key != field and not (key == "content_type" and value == "text")
    }


def _data(value: Any, otherwise: str = "part") -> Part:
    kind = value.get("content_type") if isinstance(value, dict) else None
    return data_part("chatgpt", kind or otherwise, value)


def _entries(entries: list[Any]) -> list[Part]:
    return [
        {"type": "text", "text": entry} if isinstance(entry, str) else _data(entry) for entry in entries if entry != ""
    ]


def _thoughts(entries: list[Any]) -> list[Part]:
    parts: list[Part] = []
    for entry in entries:
        if isinstance(entry, str):
            parts += [{"type": "reasoning", "text": entry}] if entry else []
        elif isinstance(entry, dict) and isinstance(entry.get("content"), str):
            rest = {key: value for key, value in entry.items() if key != "content"}
            about = {"providerMetadata": {"chatgpt": rest}} if rest else {}
            parts.append({"type": "reasoning", "text": entry["content"], **about})
        else:
            parts.append(_data(entry, "thought"))
    return parts


def attachments(listed: list[Any]) -> list[Part]:
    """The files that a message names beside its content: their bytes are not in the export."""
    return [{"type": "data-chatgpt-attachment", "data": entry} for entry in listed]
