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

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from eventstore.exchange.tools import Part, call_part, data_part, error_part, result_part
from eventstore.exchange.values import object_of, usable, without


@attrs.frozen
class Tools:
    """What the calls and results of one message are: see `tools.pair`.

    `names` are the `toolCallId` of its calls. `answered` are for each of its results the number of the call in this
    message, or the call's part from an earlier message, or `None` where there is no call.
    """

    names: Sequence[str] = ()
    answered: Sequence[int | Part | None] = ()


def blocks_of(content: Any) -> list[Any]:
    """A content as a list of blocks."""
    if isinstance(content, list):
        return content
    return [] if content is None or content == "" else [content]


def is_call(block: Any) -> bool:
    """Whether a block calls a tool."""
    kind = object_of(block).get("type")
    return isinstance(kind, str) and kind.endswith("tool_use") and usable(block.get("name")) and usable(block.get("id"))


def is_result(block: Any) -> bool:
    """Whether a block is a tool's result."""
    kind = object_of(block).get("type")
    return isinstance(kind, str) and kind.endswith("tool_result") and usable(block.get("tool_use_id"))


def express(blocks: Sequence[Any], format: str, tools: Tools) -> list[Part]:
    """The parts of a message's blocks. Nothing is dropped but empty texts.

    A result that stands before its call, or is one more of the same call, is kept as data.
    """
    parts: list[Part] = []
    calls: list[int] = []  # where in `parts` each call of this message is
    done: set[str] = set()  # the calls that have their result
    names, answered = iter(tools.names), iter(tools.answered)
    for block in blocks:
        if is_call(block):
            calls.append(len(parts))
            parts.append(tool_call(block, format, next(names)))
        elif is_result(block):
            number = next(answered)
            call = number if not isinstance(number, int) else parts[calls[number]] if number < len(calls) else None
            if call is None or call["toolCallId"] in done:
                parts.append(data_part(format, block["type"], block))
                continue
            done.add(call["toolCallId"])
            if isinstance(number, int):
                parts[calls[number]] = _answered(call, block, format)
            else:
                parts.append(_answered(call, block, format))
        else:
            parts += _plain(block, format)
    return parts


def tool_call(block: dict[str, Any], format: str, name: str) -> Part:
    """The part of a call. `name` is its `toolCallId`."""
    about: dict[str, Any] = without(block, ("type", "id", "name", "input"))
    if name != block["id"]:
        about["toolCallId"] = block["id"]
    if block["type"] != "tool_use":
        about["type"] = block["type"]
    more: dict[str, Any] = {"callProviderMetadata": {format: about}} if about else {}
    if block["type"] == "server_tool_use":
        more["providerExecuted"] = True
    return call_part(block["name"], name, block.get("input"), **more)


def _answered(call: Part, block: dict[str, Any], format: str) -> Part:
    output = block.get("content")
    failed = block.get("is_error") is True
    part = error_part(call, output) if failed else result_part(call, output)
    about = without(block, ("type", "tool_use_id", "content", *(["is_error"] if failed else [])))
    if about.get("is_error") is False:
        del about["is_error"]
    if about:
        part["resultProviderMetadata"] = {**part.get("resultProviderMetadata", {}), format: about}
    return part


def _plain(block: Any, format: str) -> Iterator[Part]:
    """The part of a block that is neither a call nor a result."""
    if isinstance(block, str):
        if block:
            yield {"type": "text", "text": block}
        return
    kind = object_of(block).get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        if block["text"]:
            yield _with_rest({"type": "text", "text": block["text"]}, block, ("type", "text"), format)
    elif kind == "thinking" and isinstance(block.get("thinking"), str):
        part = {"type": "reasoning", "text": block["thinking"]}
        if isinstance(block.get("signature"), str):
            part["providerMetadata"] = {"anthropic": {"signature": block["signature"]}}
        yield _with_rest(part, block, ("type", "thinking", "signature"), format)
    elif kind in ("image", "document") and (file := _file(block)) is not None:
        yield _with_rest(file, block, ("type", "source"), format)
    else:
        yield data_part(format, kind if usable(kind) else "part", block)


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
