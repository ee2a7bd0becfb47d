"""pydantic-ai's messages, as `all_messages_json()` writes them.

The lists lie in a file in the ways that `lists` tells. A request of the file is what a model is sent, so its parts have
different speakers: **each run of parts of one speaker becomes one message**, hung on the one before it.

| in the file | in the store |
| --- | --- |
| `system-prompt` | a text, role `system` |
| `user-prompt`: text, or texts, pictures and files | `text` and `file` parts, role `user` |
| `text`, `thinking`, `file` of a response | `text`, `reasoning`, `file` parts, role `assistant` |
| `tool-call` | a call, role `assistant` |
| `tool-return`, `retry-prompt` of a tool | the result of the call with its `tool_call_id`, or its error, role `tool` |
| `builtin-tool-call` and `-return` of a response | a call that the provider ran, and its result in the same part |
| `retry-prompt` of no tool | a text, role `user` |
| others | `data-pydantic-ai-<part_kind>` |

Messages have no ids in these files: each gets one by the rule of `identities`. Its time is the message's, else its
first part's. Its metadata are `model`, and under `pydantic-ai` what else the request or the response says, but nulls
and empty values; where several messages come of one, the first has that. A list is named by its `conversation_id`, or
else by its first message: see `naming`.

Left out and named: requests and responses without any part, and what is neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, Final

from eventstore.exchange.assembling import EMPTY, Told
from eventstore.exchange.conversation import Conversation
from eventstore.exchange.finding import Lists
from eventstore.exchange.lists import Listed, first_messages
from eventstore.exchange.naming import Names
from eventstore.exchange.telling import Telling
from eventstore.exchange.times import any_time
from eventstore.exchange.tools import Call, Part, Result, Said, data_part, spelled
from eventstore.exchange.ui_parts import data_url, file_part, is_address, provider, reasoning_parts, text_parts
from eventstore.exchange.values import list_of, object_of, usable, without

FORMAT: Final = "pydantic-ai"
KINDS: Final = ("request", "response")
_HELD_WITHOUT_MODEL: Final = frozenset(("parts", "kind", "timestamp"))
_HELD: Final = _HELD_WITHOUT_MODEL | {"model_name"}
RETRY: Final = "retry-prompt"
ROLES: Final = {"system-prompt": "system", "user-prompt": "user", "tool-return": "tool"}
_PROVIDED_CALLS: Final = ("builtin-tool-call", "native-tool-call")
_PROVIDED_RETURNS: Final = ("builtin-tool-return", "native-tool-return")


def recognises(head: bytes) -> bool:
    """Whether a file that begins with `head` looks like these messages."""
    return any(_is_message(each) for each in first_messages(head)[:10])


def _is_message(value: Any) -> bool:
    """Whether a value is a request or a response. One that is cut off before it says so counts by its parts."""
    if not isinstance(value, dict) or "parts" not in value:
        return False
    if value.get("kind") in KINDS:
        return True
    return any(isinstance(object_of(part).get("part_kind"), str) for part in list_of(value["parts"]))


def _conversation(listed: Listed, names: Names) -> Iterator[Conversation]:
    telling = Telling(names, listed.id(), held=listed.is_held)
    given: str | None = None
    for number, found in enumerate(listed.messages, 1):
        if given is None and usable(object_of(found).get("conversation_id")):
            given = found["conversation_id"]
        if _is_message(found):
            telling.tell(_told(found))
        else:
            telling.skipped.append((f"message {number} of {listed.where}", "it is neither a request nor a response"))
    about = listed.metadata(FORMAT, telling.model)
    yield telling.conversation(about, given, skipped=listed.skipped, digest=listed.digest)


def _told(found: dict[str, Any]) -> list[Told]:
    """The messages that a request or a response is: one for each run of parts of one speaker."""
    model, when = found.get("model_name"), any_time(found.get("timestamp"))
    about = without(found, _HELD if isinstance(model, str) else _HELD_WITHOUT_MODEL)
    first: dict[str, Any] = {"model": model} if isinstance(model, str) else {}
    if about:
        first[FORMAT] = about
    runs = [(role, [*parts]) for role, parts in groupby(list_of(found["parts"]), lambda part: _role(part, found))]
    told: list[Told] = []
    for role, parts in runs or [("assistant" if found.get("kind") == "response" else "user", [])]:
        said = [each for part in parts for each in _said(part)]
        times = (any_time(object_of(part).get("timestamp")) for part in parts)
        told.append(
            Told(
                None,
                role,
                said,
                [role, [_content(part) for part in parts]],
                metadata={} if told else first,
                created_at=when or next(filter(None, times), None),
                left_out=None if said else EMPTY,
            )
        )
    return told


def _content(part: Any) -> Any:
    """What a part says, without what a newer version of the library may add, and without its time."""
    return without(part, {"timestamp"}) if isinstance(part, dict) else part


def _role(part: Any, found: dict[str, Any]) -> str:
    if found.get("kind") == "response":
        return "assistant"
    kind = object_of(part).get("part_kind")
    if kind == RETRY:
        return "tool" if object_of(part).get("tool_name") else "user"
    return ROLES.get(kind, "user") if isinstance(kind, str) else "user"


def _said(part: Any) -> list[Said]:
    if not isinstance(part, dict):
        return [data_part(FORMAT, "part", part)]
    kind, content = part.get("part_kind"), part.get("content")
    if kind in ("tool-call", *_PROVIDED_CALLS):
        about = provider(FORMAT, _about(part, "tool_name", "args", "tool_call_id"), "callProviderMetadata")
        more = {"providerExecuted": True, **about} if kind in _PROVIDED_CALLS else about
        return [Call(part.get("tool_call_id"), part.get("tool_name"), spelled(part.get("args")), more)]
    if kind in ("tool-return", *_PROVIDED_RETURNS) or (kind == RETRY and part.get("tool_name")):
        return [_result(part)]
    if kind == "thinking":
        more = provider(FORMAT, _about(part, "content"))
        return [*reasoning_parts(content, **more)] or ([{"type": "reasoning", "text": "", **more}] if more else [])
    if kind == "file" and (file := _file(object_of(content))) is not None:
        return [{**file, **provider(FORMAT, _about(part, "content"))}]
    if kind in ("system-prompt", "user-prompt", "text", RETRY) and (
        isinstance(content, (str, list)) or content is None
    ):
        entries = content if isinstance(content, list) and kind != RETRY else [content]
        more = provider(FORMAT, _about(part, "content"))
        return [each for entry in entries for each in _entry(entry, more)]
    return [data_part(FORMAT, kind, part)]


def _about(part: dict[str, Any], *used: str) -> dict[str, Any]:
    """What else a part says; `scope` is what a library writes of itself."""
    return without(part, {"part_kind", "timestamp", *used})


def _result(part: dict[str, Any]) -> Result:
    about = _about(part, "tool_name", "content", "tool_call_id")
    failed = part.get("part_kind") == RETRY or part.get("outcome") in ("failed", "denied")
    return Result(
        part.get("tool_call_id"),
        part.get("content"),
        data_part(FORMAT, part.get("part_kind"), part),
        failed=failed,
        about={FORMAT: about} if about else {},
    )


def _entry(entry: Any, more: dict[str, Any]) -> list[Part]:
    """An entry of a prompt."""
    if entry is None or isinstance(entry, str):
        return text_parts(entry, **more)
    if isinstance(entry, dict) and (file := _file(entry)) is not None:
        return [file]
    if (
        isinstance(entry, dict)
        and entry.get("kind") in ("text", "text-content")
        and isinstance(entry.get("content"), str)
    ):
        return text_parts(entry["content"], **provider(FORMAT, without(entry, {"kind", "content"})))
    return [data_part(FORMAT, object_of(entry).get("kind") or "content", entry)]


def _file(entry: dict[str, Any]) -> Part | None:
    media_type = entry.get("media_type")
    if entry.get("kind") == "binary" and isinstance(entry.get("data"), str):
        # pydantic writes bytes in the alphabet for addresses
        data = entry["data"].replace("-", "+").replace("_", "/")
        part, used = file_part(data_url(media_type, data), media_type), {"kind", "data", "media_type"}
    elif is_address(entry.get("url")) and isinstance(entry.get("kind"), str):
        part, used = file_part(entry["url"], media_type), {"kind", "url", "media_type"}
    else:
        return None
    return {**part, **provider(FORMAT, without(entry, used))}


_LISTS: Final = Lists(FORMAT, "message of pydantic-ai", _is_message, _conversation)
find, read = _LISTS.find, _LISTS.read
