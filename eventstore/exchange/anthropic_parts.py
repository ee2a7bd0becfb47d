"""Anthropic's content blocks as AI SDK parts: what Claude.ai's export and Claude Code's transcripts both hold.

| block | part |
| --- | --- |
| `text`, or a bare text | `text`; an empty one is none |
| `thinking` | `reasoning`, its signature as `providerMetadata.anthropic.signature` |
| `tool_use`, `server_tool_use`, any `…tool_use` | `tool-<name>` |
| `tool_result`, any `…tool_result` | the output of its call: in the call's part, if that is in the same message |
| `image`, `document` with bytes or an address | `file` |
| anything else, or one of these in another shape | `data-<format>-<type>` with the whole block |

What a block says beside that comes along as provider metadata under the format's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eventstore.exchange.tools import Call, Part, Result, Said, data_part
from eventstore.exchange.ui_parts import text_parts
from eventstore.exchange.values import object_of, usable, without


def blocks_of(content: Any) -> list[Any]:
    """A content as a list of blocks."""
    if isinstance(content, list):
        return content
    return [] if content is None or content == "" else [content]


def is_call(block: Any) -> bool:
    """Whether a block calls a tool."""
    return _is(block, "tool_use") and usable(block.get("name")) and usable(block.get("id"))


def is_result(block: Any) -> bool:
    """Whether a block is a tool's result."""
    return _is(block, "tool_result") and usable(block.get("tool_use_id"))


def _is(block: Any, kind: str) -> bool:
    return isinstance(block, dict) and isinstance(found := block.get("type"), str) and found.endswith(kind)


def said_by(blocks: Sequence[Any], format: str) -> list[Said]:
    """What a message's blocks say. Nothing is dropped but empty texts."""
    said: list[Said] = []
    for block in blocks:
        if is_call(block):
            said.append(_call(block, format))
        elif is_result(block):
            said.append(_result(block, format))
        else:
            said += _plain(block, format)
    return said


def _call(block: dict[str, Any], format: str) -> Call:
    about: dict[str, Any] = without(block, ("type", "id", "name", "input"))
    if block["type"] != "tool_use":
        about["type"] = block["type"]
    more: dict[str, Any] = {"callProviderMetadata": {format: about}} if about else {}
    if block["type"] == "server_tool_use":
        more["providerExecuted"] = True
    return Call(block["id"], block["name"], block.get("input"), more, format)


def _result(block: dict[str, Any], format: str) -> Result:
    failed = block.get("is_error")
    about = without(block, ("type", "tool_use_id", "content", *(["is_error"] if isinstance(failed, bool) else [])))
    alone = data_part(format, block["type"], block)
    said = {format: about} if about else {}
    return Result(block["tool_use_id"], block.get("content"), alone, failed is True, said)


def _plain(block: Any, format: str) -> list[Part]:
    """The part of a block that is neither a call nor a result; none of an empty text."""
    if isinstance(block, str):
        return text_parts(block)
    kind = object_of(block).get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        parts = text_parts(block["text"])
        return [_with_rest(part, block, ("type", "text"), format) for part in parts]
    if kind == "thinking" and isinstance(block.get("thinking"), str):
        part = {"type": "reasoning", "text": block["thinking"]}
        if isinstance(block.get("signature"), str):
            part["providerMetadata"] = {"anthropic": {"signature": block["signature"]}}
        return [_with_rest(part, block, ("type", "thinking", "signature"), format)]
    if kind in ("image", "document") and (file := _file(block)) is not None:
        return [_with_rest(file, block, ("type", "source"), format)]
    return [data_part(format, kind if usable(kind) else "part", block)]


def _with_rest(part: Part, block: dict[str, Any], held: Sequence[str], format: str) -> Part:
    rest = without(block, held)
    return {**part, "providerMetadata": {**part.get("providerMetadata", {}), format: rest}} if rest else part


def _file(block: dict[str, Any]) -> Part | None:
    source = object_of(block.get("source"))
    media, data, url = source.get("media_type"), source.get("data"), source.get("url")
    if source.keys() == {"type", "media_type", "data"} and source["type"] == "base64":
        if isinstance(media, str) and isinstance(data, str):
            return {"type": "file", "mediaType": media, "url": f"data:{media};base64,{data}"}
    elif source.keys() == {"type", "url"} and isinstance(url, str):
        return {"type": "file", "mediaType": "image/*" if block["type"] == "image" else "application/pdf", "url": url}
    return None
