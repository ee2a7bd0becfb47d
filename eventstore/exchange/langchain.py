"""LangChain's messages, as `messages_to_dict`, `dumpd` or `model_dump` write them.

The lists lie in a file in the ways that `lists` tells. A message hangs on the one before it.

| in the file | in the store |
| --- | --- |
| `human`, `ai`, `system`, `tool`, `function`, `chat` | role `user`, `assistant`, `system`, `tool`, `tool`, its own |
| `content`: text, or blocks | `text`, `reasoning`, `file` parts; other blocks as `data-langchain-<type>` |
| `tool_calls` of an `ai` message | calls, in the place of the block that says the same, else behind the content |
| `invalid_tool_calls` | calls that failed, their `input` being the text that is no JSON |
| a `tool` message | the result of the call with its `tool_call_id`; an error if its `status` says so |
| a `remove` message | no message: the one that it names is left out, or all before it, and named |

A message's metadata are `model` (as the provider names it), `author` (its `name`), and under `langchain` what else it
says, but nulls and empty values. There are no times in these files: all messages are of 1970. A list is named by the id
beside it, or else by its first message: see `naming`.

Left out and named: messages without content, what a `remove` message names, and what is no message.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from eventstore.exchange.assembling import EMPTY, Assembly, Told
from eventstore.exchange.conversation import Conversation, Skipped
from eventstore.exchange.finding import Lists
from eventstore.exchange.lists import Listed, first_messages
from eventstore.exchange.naming import Names
from eventstore.exchange.response_items import told_output
from eventstore.exchange.telling import Telling
from eventstore.exchange.tools import Call, Part, Result, Said, call_part, data_part, error_part, spelled
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

FORMAT: Final = "langchain"
ROLES: Final = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}
REMOVE: Final = "remove"
EVERYTHING: Final = "__remove_all__"
_KINDS: Final = (*ROLES, "chat", REMOVE)
_EXPRESSED: Final = ("id", "type", "content", "tool_calls", "invalid_tool_calls", "tool_call_id", "name", "role")

_CHUNKS: Final = {"AIMessageChunk": "ai", "HumanMessageChunk": "human"}
_DUMPED: Final = frozenset(
    (*_EXPRESSED, "additional_kwargs", "response_metadata", "usage_metadata", "artifact", "status", "example")
)


def recognises(head: bytes) -> bool:
    """Whether a file that begins with `head` looks like these messages."""
    return any(map(_is_message, first_messages(head)[:1]))


def _is_message(value: Any) -> bool:
    """Whether a value is a message, in any of its three spellings. One that is cut off counts."""
    if not isinstance(value, dict):
        return False
    if value.get("lc") is not None and value.get("type") == "constructor":
        return str(list_of(value.get("id"))[-1:]).endswith(("Message']", "MessageChunk']"))
    if _kind(value) not in _KINDS:
        return False
    if "data" in value:
        return value["data"] is None or "content" in object_of(value["data"])
    return "content" in value and _DUMPED.issuperset(value)


def _kind(fields: dict[str, Any]) -> str:
    """The kind of a message; a chunk of an answer is one of its kind."""
    kind = fields.get("type")
    return _CHUNKS.get(kind, kind) if isinstance(kind, str) else ""


def _fields(message: dict[str, Any]) -> dict[str, Any]:
    """The fields of a message, whichever spelling it has."""
    if "lc" in message:
        name = list_of(message.get("id"))[-1]
        kind = str(name).partition("Message")[0].lower()
        return {"type": kind, **object_of(message.get("kwargs"))}
    return {"type": message["type"], **object_of(message["data"])} if "data" in message else message


def _conversation(listed: Listed, names: Names) -> Iterator[Conversation]:
    telling = Telling(names, listed.id(), held=listed.is_held)
    for number, found in enumerate(listed.messages, 1):
        if not _is_message(found):
            telling.skipped.append((f"message {number} of {listed.where}", "it is no message"))
            continue
        fields = _fields(found)
        if _kind(fields) == REMOVE:
            telling.skipped += _remove(telling.assembly, fields.get("id"))
        else:
            telling.tell([_told(fields)])
    yield telling.conversation(listed.metadata(FORMAT, telling.model), skipped=listed.skipped, digest=listed.digest)


def _remove(assembly: Assembly, named: Any) -> list[Skipped]:
    """Leaves out what a `remove` message names, which may be nothing."""
    told = assembly.told
    found = told.values() if named == EVERYTHING else [told[named]] if isinstance(named, str) and named in told else []
    for each in found:
        each.left_out = "a later message removes it"
    return [] if found else [(f"removal of {named!r}", "no message before it has this id")]


def _told(fields: dict[str, Any]) -> Told:
    kind = _kind(fields)
    said = [_result(fields)] if kind in ("tool", "function") else _said(fields)
    about = without(fields, _EXPRESSED)
    answered = object_of(fields.get("response_metadata"))
    model = next((answered[key] for key in ("model_name", "model") if isinstance(answered.get(key), str)), None)
    metadata = {
        **({"model": model} if model else {}),
        **({"author": fields["name"]} if isinstance(fields.get("name"), str) and fields["name"] else {}),
        **({FORMAT: about} if about else {}),
    }
    return Told(
        fields.get("id"),
        ROLES.get(kind) or fields.get("role") or kind,
        said,
        [kind, fields.get("content"), list_of(fields.get("tool_calls")), fields.get("tool_call_id")],
        metadata=metadata,
        left_out=None if said else EMPTY,
    )


def _result(fields: dict[str, Any]) -> Result:
    content = fields.get("content")
    alone = data_part(FORMAT, "tool", without(fields))
    call_id = fields.get("tool_call_id") or fields.get("name")
    return Result(call_id, told_output(content), alone, failed=fields.get("status") == "error")


def _said(fields: dict[str, Any]) -> list[Said]:
    calls = {index: call for index, call in enumerate(list_of(fields.get("tool_calls"))) if isinstance(call, dict)}
    content = fields.get("content")
    blocks = content if isinstance(content, list) else [content]
    said: list[Said] = []
    for block in blocks:
        told = _told_by(block, calls)
        said += _block(block) if told is None else [_call(calls.pop(told))]
    said += map(_call, calls.values())
    return [*said, *(_invalid(call) for call in list_of(fields.get("invalid_tool_calls")))]


def _told_by(block: Any, calls: dict[int, dict[str, Any]]) -> int | None:
    """The call that a block of the content tells too."""
    if not isinstance(block, dict) or block.get("type") not in ("tool_use", "tool_call", "function_call"):
        return None
    ids = [block[key] for key in ("call_id", "id") if isinstance(block.get(key), str)]
    return next((index for index, call in calls.items() if call.get("id") in ids), None)


def _call(call: dict[str, Any]) -> Call:
    return Call(call.get("id"), call.get("name"), spelled(call.get("args")))


def _invalid(call: Any) -> Part:
    if not isinstance(call, dict) or not isinstance(call.get("id"), str):
        return data_part(FORMAT, "invalid_tool_call", call)
    made = call_part(str(call.get("name") or "unknown"), call["id"], call.get("args"))
    return error_part(made, call.get("error") or "its arguments are not JSON")


def _block(block: Any) -> list[Said]:
    """A block of the content as parts; an empty text is none."""
    if block is None or isinstance(block, str):
        return [*text_parts(block)]
    if not isinstance(block, dict):
        return [data_part(FORMAT, "content", block)]
    kind = block.get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        return [*text_parts(block["text"], **provider(FORMAT, without(block, {"type", "text"})))]
    if kind in ("thinking", "reasoning"):
        key = next((key for key in ("thinking", "reasoning", "text") if isinstance(block.get(key), str)), None)
        if key is not None:
            return [*reasoning_parts(block[key], **provider(FORMAT, without(block, {"type", key})))]
    return [_file(block) or data_part(FORMAT, kind, block)]


def _file(block: dict[str, Any]) -> Part | None:
    """A picture or a file, in any of the spellings that providers have for it."""
    source = object_of(block.get("source")) or block
    media_type = next((source[key] for key in ("mime_type", "media_type") if isinstance(source.get(key), str)), None)
    other = IMAGE if "image" in str(block.get("type")) else BYTES
    name = block.get("filename", block.get("name"))
    for key in ("image_url", "url", "data", "base64"):
        value = source.get(key)
        value = value.get("url") if isinstance(value, dict) else value
        if is_address(value) or (key in ("data", "base64") and isinstance(value, str) and value):
            used = {"type", "source", "source_type", "filename", "name", "mime_type", "media_type", key}
            about = provider(FORMAT, without(block, used))
            return {**file_part(data_url(media_type or other, str(value)), media_type, name, other), **about}
    return None


_LISTS: Final = Lists(FORMAT, "message of LangChain", _is_message, _conversation)
find, read = _LISTS.find, _LISTS.read
