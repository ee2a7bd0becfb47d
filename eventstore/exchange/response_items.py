"""Items of OpenAI's Responses API as parts: those of Codex, of the Agents SDK and of its JavaScript sibling. Pure.

| item | parts |
| --- | --- |
| `message`, or no `type` and a `role` | `text`, `file` or data parts for the entries of its content |
| the same with `tool_calls`, or a `tool_call_id` | calls; a result |
| `reasoning` | `reasoning` parts: its summary, then its content; one without text if it is encrypted alone |
| a call (`function_call`, `custom_tool_call`, `computer_call`, `program`, …) | a call of the tool that it names |
| a result (`function_call_output`, `function_call_result`, `program_output`, …) | the result of that `call_id` |
| a call that the provider ran (`web_search_call`, `mcp_call`, …; no `call_id`) | a call and its result in one part |
| the same without an `id` either | a call |
| anything else | one `data-<format>-<type>` part with the whole item |

What an item says beside that, its id and its encrypted content too, stands where the AI SDK puts it: under `openai` in
the part's metadata.
"""

from __future__ import annotations

from typing import Any

import attrs

from eventstore.exchange.tools import (
    Call,
    Part,
    Result,
    Said,
    call_part,
    data_part,
    error_part,
    result_part,
    spelled,
)
from eventstore.exchange.ui_parts import (
    BYTES,
    IMAGE,
    data_url,
    file_part,
    is_address,
    provider,
    reasoning_parts,
    text_parts,
)
from eventstore.exchange.values import list_of, object_of, without

FAKE_ID = "__fake_id__"  # what the agents write where an API gave no id
INPUTS = ("arguments", "input", "action", "code", "queries", "operation")
OUTPUTS = ("output", "result", "results", "outputs")
_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")
_OF_A_MESSAGE = frozenset(("id", "type", "role", "content", "tool_calls"))
_CALL_IDS = ("call_id", "callId")


@attrs.frozen
class Item:
    """An item: its role, what it says, and what of it that doesn't hold."""

    role: str
    said: list[Said]
    rest: dict[str, Any] = attrs.field(factory=dict)


def kind_of(item: dict[str, Any]) -> str:
    """The type of an item; a message may have none."""
    kind = item.get("type")
    return kind if isinstance(kind, str) and kind else ("message" if "role" in item else "item")


def id_of(item: dict[str, Any]) -> str | None:
    """An item's own id."""
    found = item.get("id")
    return found if isinstance(found, str) and found not in ("", FAKE_ID) else None


def call_id_of(item: dict[str, Any]) -> str | None:
    """The id that a call and its result have in common."""
    return next((item[key] for key in _CALL_IDS if isinstance(item.get(key), str) and item[key]), None)


def express(item: dict[str, Any], format: str) -> Item:
    """An item of the export `format`. Nothing is dropped but empty texts."""
    kind = kind_of(item)
    if kind == "message":
        return _message(item, format)
    if kind == "reasoning":
        return Item("assistant", [*_reasoning(item, format)])
    if call_id_of(item) is not None and kind.endswith(("_output", "_result")):
        return Item("tool", [_result(item, format)])
    if call_id_of(item) is not None and (kind.endswith("_call") or kind == "program"):
        return Item("assistant", [_call(item)])
    if kind.endswith("_call"):
        return Item("assistant", [_call(item) if id_of(item) is None else _provided(item)])
    return Item("assistant", [data_part(format, kind, item)])


def _message(item: dict[str, Any], format: str) -> Item:
    """A message; one of the older API for chats may make calls (`tool_calls`) or bring a result (`tool_call_id`)."""
    role = item.get("role")
    if role == "tool" and isinstance(item.get("tool_call_id"), str):
        rest = without(item, {"id", "type", "role", "content", "tool_call_id", "name"})
        output = told_output(item.get("content"))
        return Item(role, [Result(item["tool_call_id"], output, data_part(format, "tool", item))], rest)
    said: list[Said] = [*content_parts(item.get("content"), format)]
    for call in list_of(item.get("tool_calls")):
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            said.append(Call(call.get("id"), function.get("name"), spelled(function.get("arguments"))))
        else:
            said.append(data_part(format, "tool_call", call))
    rest = without(item, _OF_A_MESSAGE)
    if role == "developer":
        return Item("system", said, {**rest, "role": role})
    return Item(role if isinstance(role, str) else "unknown", said, rest)


def _tool(item: dict[str, Any]) -> str:
    """The tool that an item calls: by its name, else by its type."""
    name = item.get("name")
    return name if isinstance(name, str) and name else kind_of(item).removesuffix("_call")


def _first(item: dict[str, Any], keys: tuple[str, ...]) -> tuple[str | None, Any]:
    return next(((key, item[key]) for key in keys if item.get(key) is not None), (None, None))


def _about(item: dict[str, Any], *used: str | None) -> dict[str, Any]:
    """What else an item says of its part."""
    about = without(item, {"type", "name", "id", *_CALL_IDS, *filter(None, used)})
    own = id_of(item)
    return about if own is None else {"itemId": own, **about}


def _given(key: str | None, input: Any) -> Any:
    """What a tool is given: `arguments` spell JSON, other texts are what they are."""
    return spelled(input) if key == "arguments" else input


def _call(item: dict[str, Any]) -> Call:
    key, input = _first(item, INPUTS)
    about = provider("openai", _about(item, key), "callProviderMetadata")
    return Call(call_id_of(item), _tool(item), _given(key, input), about, "openai")


def _result(item: dict[str, Any], format: str) -> Result:
    key, output = _first(item, OUTPUTS)
    about = _about(item, key)
    alone = data_part(format, kind_of(item), item)
    said = {"openai": about} if about else {}
    if object_of(output).get("success") is False:  # as Codex tells it
        return Result(call_id_of(item), output.get("content", output), alone, failed=True, about=said)
    return Result(call_id_of(item), told_output(output), alone, about=said)


def told_output(output: Any) -> Any:
    """A tool's output; one that is told as one text and nothing else is that text."""
    entry = output[0] if isinstance(output, list) and len(output) == 1 else output
    if isinstance(entry, dict) and entry.get("type") in _TEXTS and isinstance(entry.get("text"), str):
        return output if without(entry, ("type", "text")) else entry["text"]
    return output


def _provided(item: dict[str, Any]) -> Part:
    used, input = _first(item, INPUTS)
    key, output = _first(item, OUTPUTS)
    about = provider("openai", _about(item, used, key, "error"), "callProviderMetadata")
    call = call_part(_tool(item), str(id_of(item)), _given(used, input), providerExecuted=True, **about)
    return result_part(call, output) if item.get("error") is None else error_part(call, item["error"])


def _reasoning(item: dict[str, Any], format: str) -> list[Part]:
    about = _about(item, "summary", "content", "rawContent", "encrypted_content")
    if item.get("encrypted_content"):
        about["reasoningEncryptedContent"] = item["encrypted_content"]
    more = provider("openai", about)
    parts: list[Part] = []
    for key in ("summary", "content", "rawContent"):
        for entry in list_of(item.get(key)):
            text = entry.get("text") if isinstance(entry, dict) else entry
            parts += reasoning_parts(text, **more) if isinstance(text, str) else [data_part(format, "reasoning", entry)]
    return parts or ([{"type": "reasoning", "text": "", **more}] if more else [])


def content_parts(content: Any, format: str) -> list[Part]:
    """The content of a message: text, or a list of texts, pictures, files and others."""
    if content is None or isinstance(content, str):
        return text_parts(content)
    entries = content if isinstance(content, list) else [content]
    return [part for entry in entries for part in _entry(entry, format)]


def _entry(entry: Any, format: str) -> list[Part]:
    if isinstance(entry, str):
        return text_parts(entry)
    if not isinstance(entry, dict):
        return [data_part(format, "content", entry)]
    kind = entry.get("type")
    if kind == "refusal" and isinstance(entry.get("refusal"), str):
        return text_parts(entry["refusal"], **provider("openai", {"refusal": True}))
    if kind in _TEXTS and isinstance(entry.get("text"), str):
        return text_parts(entry["text"], **provider("openai", without(entry, {"type", "text"})))
    for key in ("image_url", "image", "file_url", "file_data"):
        value = entry.get(key)
        url = value.get("url") if isinstance(value, dict) else value
        if is_address(url) or (key == "file_data" and isinstance(url, str) and url):
            about = without(value, {"url"}) if isinstance(value, dict) else {}
            about |= without(entry, {"type", key, "filename"})
            other = IMAGE if "image" in key else BYTES
            named = file_part(data_url(None, str(url)), None, entry.get("filename"), other)
            return [{**named, **provider("openai", about)}]
    return [data_part(format, kind, entry)]
