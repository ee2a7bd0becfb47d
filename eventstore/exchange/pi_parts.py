"""The messages of a pi session as roles and AI SDK parts. Pure but for the call that a result is given.

| message or block | part |
| --- | --- |
| `text`, or a bare text | `text`; an empty one is none |
| `thinking` | `reasoning`, with its signature as provider metadata |
| `toolCall` | `tool-<name>` |
| a `toolResult` message | its call's part with the content as `output`, or as `errorText` |
| a `bashExecution` message: a person's own command | `tool-bash` with the command and what came of it |
| `image` | `file` |
| `branchSummary`, `compactionSummary` messages | `text` |
| anything else | `data-pi-<type>`, whole |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from eventstore.exchange.tools import Part, call_part, data_part, error_part, result_part
from eventstore.exchange.values import object_of, usable, without

FORMAT: Final = "pi"
_ROLES: Final = {
    "toolResult": "tool",
    "bashExecution": "tool",
    "custom": "user",
    "branchSummary": "user",
    "compactionSummary": "user",
}
_SUMMARIES: Final = ("branchSummary", "compactionSummary")
HELD: Final = ("role", "content", "timestamp", "model", "summary")


def role_of(message: Mapping[str, Any]) -> str:
    """The role of a message in a store."""
    role = message.get("role")
    return _ROLES.get(str(role), str(role)) if usable(role) else "unknown"


def is_call(block: Any) -> bool:
    """Whether a block calls a tool."""
    found = object_of(block)
    return found.get("type") == "toolCall" and usable(found.get("id")) and usable(found.get("name"))


def calls_of(message: Mapping[str, Any]) -> tuple[str, ...]:
    """The ids of a message's calls."""
    return tuple(block["id"] for block in blocks_of(message) if is_call(block))


def result_of(message: Mapping[str, Any]) -> str | None:
    """The id of the call that a message answers."""
    return message["toolCallId"] if message.get("role") == "toolResult" and usable(message.get("toolCallId")) else None


def blocks_of(message: Mapping[str, Any]) -> list[Any]:
    """A message's content as a list of blocks."""
    content = message.get("content")
    return content if isinstance(content, list) else [] if content in (None, "") else [content]


def parts_of(message: Mapping[str, Any], names: Sequence[str], call: Part | None, id: str) -> list[Part]:
    """The parts of the message `id`: `names` are the `toolCallId` of its calls, `call` what it answers."""
    role = message.get("role")
    if role == "toolResult":
        return [data_part(FORMAT, role, dict(message)) if call is None else _answered(call, message)]
    if role == "bashExecution":
        return [_ran(message, id)]
    if role in _SUMMARIES and isinstance(message.get("summary"), str):
        return [{"type": "text", "text": message["summary"]}] if message["summary"] else []
    waiting = iter(names)
    parts = [part for block in blocks_of(message) for part in _said(block, waiting)]
    if not parts and isinstance(message.get("errorMessage"), str):
        parts.append(data_part(FORMAT, "error", message["errorMessage"]))
    return parts


def call_of(block: Mapping[str, Any], name: str) -> Part:
    """The part of a call. `name` is its `toolCallId`."""
    rest = without(block, ("type", "id", "name", "arguments"))
    if block["id"] != name:
        rest["toolCallId"] = block["id"]
    more = {"callProviderMetadata": {FORMAT: rest}} if rest else {}
    return call_part(block["name"], name, block.get("arguments"), **more)


def _answered(call: Part, message: Mapping[str, Any]) -> Part:
    content = message.get("content")
    part = error_part(call, content) if message.get("isError") is True else result_part(call, content)
    if message.get("details") not in (None, {}, []):
        about = {**part.get("resultProviderMetadata", {}), FORMAT: {"details": message["details"]}}
        part["resultProviderMetadata"] = about
    return part


def _ran(message: Mapping[str, Any], id: str) -> Part:
    output = {key: value for key, value in message.items() if key not in ("role", "command", "timestamp")}
    return result_part(call_part("bash", id, {"command": message.get("command")}), output)


def _said(block: Any, names: Any) -> list[Part]:
    if isinstance(block, str):
        return [{"type": "text", "text": block}] if block else []
    found = object_of(block)
    kind = found.get("type")
    if is_call(block):
        return [call_of(found, next(names))]
    if kind == "text" and isinstance(found.get("text"), str):
        return _with_rest({"type": "text", "text": found["text"]}, found, "text") if found["text"] else []
    if kind == "thinking" and isinstance(found.get("thinking"), str):
        return _with_rest({"type": "reasoning", "text": found["thinking"]}, found, "thinking")
    if kind == "image" and isinstance(found.get("data"), str) and isinstance(found.get("mimeType"), str):
        url = f"data:{found['mimeType']};base64,{found['data']}"
        return _with_rest({"type": "file", "mediaType": found["mimeType"], "url": url}, found, "data", "mimeType")
    return [data_part(FORMAT, kind, block)]


def _with_rest(part: Part, block: Mapping[str, Any], *held: str) -> list[Part]:
    rest = {key: value for key, value in without(block, ("type", *held)).items() if value is not False}
    return [{**part, "providerMetadata": {FORMAT: rest}} if rest else part]
