"""LibreChat's export of a conversation as JSON: its messages nested in each other, or in a flat list.

**A message's parent is the one that `parentMessageId` names**, the nesting deciding where that names none in the file;
the parent of all first messages is `00000000-0000-0000-0000-000000000000`, so there may be several roots. Siblings keep
the order of the file. The export doesn't say which branch was shown: the last message becomes the active leaf.

What a message becomes:

- Its role: `user` if it `isCreatedByUser`, else `assistant`.
- Its parts: those of its `content`, where it has one: `text`, `reasoning` (`think`), tools with their results
  (`tool_call`), files with an address; others as `data-librechat-<type>`. Else its `text`. What its `files` and
  `attachments` name follows as `data-librechat-file`: their bytes aren't in the export.
- Its time: `createdAt`, else that of the nearest message above that has one, else 1970 (the export's own time is one of
  day, without a date).
- Its metadata: `model`, `author` (its `sender`), and under `librechat` what else it says, but nulls and empty values.

Left out and named: messages without content, and what is no message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from eventstore.exchange.assembling import EMPTY, Told, assemble, told_by_nesting
from eventstore.exchange.conversation import Conversation, Skipped
from eventstore.exchange.elements import first_objects
from eventstore.exchange.finding import Records
from eventstore.exchange.lists import conversation_metadata
from eventstore.exchange.times import any_time
from eventstore.exchange.tools import Part, call_part, data_part, result_part, spelled
from eventstore.exchange.ui_parts import IMAGE, file_part, is_address, reasoning_parts, text_parts
from eventstore.exchange.values import list_of, object_of, usable, without

FORMAT: Final = "librechat"
ROOT: Final = "00000000-0000-0000-0000-000000000000"
_EXPRESSED: Final = (
    "messageId",
    "parentMessageId",
    "isCreatedByUser",
    "text",
    "content",
    "files",
    "attachments",
    "children",
    "model",
    "sender",
)
_OF_THE_EXPORT: Final = ("messages", "conversationId", "exportAt", "branches", "recursive")


def recognises(head: bytes) -> bool:
    """Whether a file that begins with `head` looks like this export."""
    return any(_is_conversation(each) for each in first_objects(head)[:1])


def _is_conversation(value: Any) -> bool:
    if not isinstance(value, dict) or "conversationId" not in value:
        return False
    if "recursive" in value or "exportAt" in value:
        return True
    return any("messageId" in object_of(each) for each in list_of(value.get("messages"))[:1])


def _id_of(found: Mapping[str, Any]) -> Any:
    return found["conversationId"]


def _conversation(found: Mapping[str, Any], digest: str) -> Conversation:
    skipped: list[Skipped] = []
    told = list(told_by_nesting(list_of(found.get("messages")), "children", _message, skipped))
    options = object_of(found.get("options"))
    models = [object_of(each.metadata).get("model") for each in told]
    model = options.get("model") or next((model for model in reversed(models) if model), None)
    ids = (_id_of(found), *(each.id for each in told[:1]), "unknown")
    given = next(each for each in ids if usable(each))
    about = conversation_metadata(FORMAT, {**found}, model=model, held=_OF_THE_EXPORT)
    return assemble(f"{FORMAT}:{given}", about, told, current=None, skipped=skipped, digest=digest)


def _message(found: dict[str, Any], above: str | None) -> Told:
    parent = found.get("parentMessageId")
    said = [*_said(found), *_files(found)]
    model, sender = found.get("model"), found.get("sender")
    created_at = any_time(found.get("createdAt"))
    held = {*_EXPRESSED} | ({"createdAt"} if created_at else set())
    about = without(found, held)
    metadata = {
        **({"model": model} if isinstance(model, str) and model else {}),
        **({"author": sender} if isinstance(sender, str) and sender else {}),
        **({FORMAT: about} if about else {}),
    }
    return Told(
        found.get("messageId"),
        "user" if _is_by_user(found) else "assistant",
        said,
        [found.get("text"), found.get("content")],
        parent=above if parent in (None, "", ROOT) else parent,
        metadata=metadata,
        created_at=created_at,
        left_out=None if said else EMPTY,
        listed=[
            each["messageId"]
            for each in list_of(found.get("children"))
            if isinstance(object_of(each).get("messageId"), str)
        ],
    )


def _is_by_user(found: dict[str, Any]) -> bool:
    told = found.get("isCreatedByUser")
    return told if isinstance(told, bool) else str(found.get("sender")).lower() == "user"


def _files(found: dict[str, Any]) -> list[Part]:
    return [data_part(FORMAT, "file", each) for key in ("files", "attachments") for each in list_of(found.get(key))]


def _said(found: dict[str, Any]) -> list[Part]:
    content = found.get("content")
    if isinstance(content, list) and content:
        return [part for entry in content for part in _entry(entry)]
    return [*text_parts(found.get("text")), *([data_part(FORMAT, "content", content)] if content else [])]


def _entry(entry: Any) -> list[Part]:
    kind = object_of(entry).get("type")
    value = entry.get(kind) if isinstance(kind, str) else None
    if kind in ("text", "think", "error"):
        text = value.get("value") if isinstance(value, dict) else value
        if isinstance(text, str) and kind != "error":
            return text_parts(text) if kind == "text" else reasoning_parts(text)
    if kind == "tool_call" and isinstance(value, dict) and isinstance(value.get("id"), str):
        return [_tool(value)]
    if kind == "image_url":
        url = value.get("url") if isinstance(value, dict) else value
        if is_address(url):
            return [file_part(str(url), otherwise=IMAGE)]
    return [data_part(FORMAT, kind, entry)]


def _tool(call: dict[str, Any]) -> Part:
    """A call, with its result if there is one: LibreChat keeps them in one."""
    function = object_of(call.get("function"))
    name = call.get("name", function.get("name"))
    args = call.get("args", function.get("arguments"))
    output = call.get("output", function.get("output"))
    rest = without(call, {"id", "name", "args", "output", "type", "function"})
    more = {"callProviderMetadata": {FORMAT: rest}} if rest else {}
    part = call_part(name if isinstance(name, str) and name else "unknown", call["id"], spelled(args), **more)
    return part if output is None else result_part(part, output)


_RECORDS: Final = Records(
    FORMAT, "a LibreChat conversation with its `messages`", _is_conversation, _id_of, _conversation
)
find, read = _RECORDS.find, _RECORDS.read
