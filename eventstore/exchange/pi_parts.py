"""The messages of a pi session as roles and AI SDK parts. Pure.

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

from eventstore.exchange.tools import Call, Part, Result, Said, call_part, data_part, result_part
from eventstore.exchange.values import object_of, usable, without

FORMAT: Final = "pi"
RESULT: Final = "toolResult"
_ROLES: Final = {
    RESULT: "tool",
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
    return () if message.get("role") == RESULT else tuple(block["id"] for block in blocks_of(message) if is_call(block))


def result_of(message: Mapping[str, Any]) -> str | None:
    """The id of the call that a message answers."""
    return message["toolCallId"] if message.get("role") == RESULT and usable(message.get("toolCallId")) else None


def blocks_of(message: Mapping[str, Any]) -> list[Any]:
    """A message's content as a list of blocks."""
    content = message.get("content")
    return content if isinstance(content, list) else [] if content in (None, "") else [content]


def said_by(message: Mapping[str, Any], id: str) -> list[Said]:
    """What the message `id` says."""
    role = message.get("role")
    if role == RESULT:
        return [_result(message)]
    if role == "bashExecution":
        return [_ran(message, id)]
    if role in _SUMMARIES and isinstance(message.get("summary"), str):
        return [{"type": "text", "text": message["summary"]}] if message["summary"] else []
    said = [each for block in blocks_of(message) for each in _said(block)]
    if not said and isinstance(message.get("errorMessage"), str):
        return [data_part(FORMAT, "error", message["errorMessage"])]
    return said


def _result(message: Mapping[str, Any]) -> Result:
    details = without({"details": message.get("details")})
    alone = data_part(FORMAT, RESULT, dict(message))
    failed, about = message.get("isError") is True, {FORMAT: details} if details else {}
    return Result(message.get("toolCallId"), message.get("content"), alone, failed, about)


def _ran(message: Mapping[str, Any], id: str) -> Part:
    output = {key: value for key, value in message.items() if key not in ("role", "command", "timestamp")}
    return result_part(call_part("bash", id, {"command": message.get("command")}), output)


def _said(block: Any) -> Sequence[Said]:
    if isinstance(block, str):
        return [{"type": "text", "text": block}] if block else []
    found = object_of(block)
    kind = found.get("type")
    if is_call(block):
        rest = without(found, ("type", "id", "name", "arguments"))
        more = {"callProviderMetadata": {FORMAT: rest}} if rest else {}
        return [Call(found["id"], found["name"], found.get("arguments"), more, FORMAT)]
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
