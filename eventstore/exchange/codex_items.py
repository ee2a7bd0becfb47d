"""One item of a Codex rollout as one message: its role and parts. Pure but for the call that a result is given.

| item | part |
| --- | --- |
| `message`, or one without a type | a `text` part for each `input_text` or `output_text`; `input_image` a `file` |
| `reasoning` | `reasoning` parts; its ciphertext as `providerMetadata.openai.reasoningEncryptedContent` |
| `function_call`, `custom_tool_call`, any `…_call` | `tool-<name>`, its arguments as the JSON that they spell |
| `function_call_output`, any `…_output` | its call's part with the `output` |
| anything else | `data-codex-<type>` with the whole item |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from eventstore.exchange.tools import Part, call_part, data_part, error_part, result_part, spelled
from eventstore.exchange.values import list_of, object_of, usable, without

FORMAT: Final = "codex"
NO_ITEMS: Final = ("token_count", "ghost_snapshot")  # what stands among the items and says nothing
_ROLES: Final = {"developer": "system"}


def kind_of(item: Mapping[str, Any]) -> str:
    """What an item is; one without a type that has a role is a message."""
    kind = item.get("type")
    if isinstance(kind, str) and kind:
        return kind
    return "message" if usable(item.get("role")) else "item"


def is_call(item: Mapping[str, Any]) -> bool:
    """Whether an item calls a tool."""
    return kind_of(item).endswith("_call")


def is_result(item: Mapping[str, Any]) -> bool:
    """Whether an item is a tool's result."""
    return kind_of(item).endswith("_output") and usable(item.get("call_id"))


def call_id_of(item: Mapping[str, Any], otherwise: str) -> str:
    """The id by which a call and its result know each other."""
    return next(str(name) for name in (item.get("call_id"), item.get("id"), otherwise) if usable(name))


def role_of(item: Mapping[str, Any]) -> str:
    """The role of an item's message."""
    if is_result(item):
        return "tool"
    role = item.get("role")
    return _ROLES.get(str(role), str(role)) if usable(role) else "assistant"


def call_of(item: Mapping[str, Any], name: str) -> Part:
    """The part of a call. `name` is its `toolCallId`."""
    kind = kind_of(item)
    tool = item.get("name")
    held = ["type", "call_id", "name"]
    input: Any = None
    for field in ("arguments", "input", "action"):
        if field in item:
            held.append(field)
            input = spelled(item[field]) if field == "arguments" else item[field]
            break
    rest = without(item, [*held, *(["id"] if item.get("id") == name else [])])
    if usable(item.get("call_id")) and item["call_id"] != name:
        rest["toolCallId"] = item["call_id"]
    more = {"callProviderMetadata": {FORMAT: rest}} if rest else {}
    return call_part(str(tool) if usable(tool) else kind.removesuffix("_call"), name, input, **more)


def parts_of(item: Mapping[str, Any], name: str | None, call: Part | None) -> list[Part]:
    """The parts of an item. `name` is the `toolCallId` if it is a call, `call` the part of the call that it answers."""
    kind = kind_of(item)
    if name is not None:
        return [call_of(item, name)]
    if call is not None:
        return [_answered(call, item)]
    if kind == "message":
        return [part for block in _blocks(item.get("content")) for part in _said(block)]
    if kind == "reasoning":
        return _thought(item)
    return [data_part(FORMAT, kind, dict(item))]


def _answered(call: Part, item: Mapping[str, Any]) -> Part:
    output, said = item.get("output"), object_of(item.get("output"))
    failed = said.get("success") is False
    part = error_part(call, said.get("content", output)) if failed else result_part(call, output)
    rest = without(item, ("type", "call_id", "output", "id"))
    return {**part, "resultProviderMetadata": {FORMAT: rest}} if rest else part


def _blocks(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [] if content in (None, "") else [content]


def _said(block: Any) -> list[Part]:
    if isinstance(block, str):
        return [{"type": "text", "text": block}] if block else []
    found = object_of(block)
    kind, text, url = found.get("type"), found.get("text"), found.get("image_url")
    if kind in ("input_text", "output_text", "text") and isinstance(text, str):
        rest = without(found, ("type", "text"))
        about = {"providerMetadata": {FORMAT: rest}} if rest else {}
        return [{"type": "text", "text": text, **about}] if text else []
    if kind == "input_image" and isinstance(url, str):
        media = url[5:].partition(";")[0] if url.startswith("data:") else "image/*"
        rest = without(found, ("type", "image_url"))
        about = {"providerMetadata": {FORMAT: rest}} if rest else {}
        return [{"type": "file", "mediaType": media, "url": url, **about}]
    return [data_part(FORMAT, kind, block)]


def _thought(item: Mapping[str, Any]) -> list[Part]:
    texts = [
        block["text"]
        for field in ("summary", "content")
        for block in list_of(item.get(field))
        if isinstance(block, dict) and isinstance(block.get("text"), str)
    ]
    if len(texts) != len(list_of(item.get("summary"))) + len(list_of(item.get("content"))):
        return [data_part(FORMAT, "reasoning", dict(item))]
    parts: list[Part] = [{"type": "reasoning", "text": text} for text in texts if text]
    if isinstance(secret := item.get("encrypted_content"), str) and secret:
        parts = parts or [{"type": "reasoning", "text": ""}]
        parts[-1] = {**parts[-1], "providerMetadata": {"openai": {"reasoningEncryptedContent": secret}}}
    return parts


def text_of(item: Any) -> str:
    """The text of a message, to stand in a summary; of what else there may be, nothing."""
    found = object_of(item)
    if kind_of(found) != "message":
        return ""
    parts = parts_of(found, None, None)
    return "\n".join(part["text"] for part in parts if part["type"] == "text")
