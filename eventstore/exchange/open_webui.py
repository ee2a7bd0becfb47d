"""Open WebUI's export: a list of chats, one of them, or the bare `chat` inside one.

**A message's parent is the one that `parentId` names**; `childrenIds` decide the order of siblings, and hang messages
that name no parent in the file. Where they are missing, the order is that of the file. The branch that is shown is that
of `currentId`. The flat list `messages` of a chat repeats that branch: what only it holds is added, and named.

What a message becomes:

- Its parts: those of its `output`, where it has one (reasoning, tool calls with their results, texts: see
  `response_items`). Else its `content`, of which an assistant's `<details type="reasoning">` become reasoning parts and
  `<details type="tool_calls">` tools, as `open_webui_details` tells. Its `files` follow: `file` parts those with an
  address, `data-open-webui-file` parts the others.
- Its time: `timestamp`, else that of the nearest message above that has one, else the chat's `created_at`, else 1970.
- Its metadata: `model`, and under `open-webui` what else it says, but nulls and empty values; `content` too, where
  `output` is told and says something else.

A chat is named by its id, or else, as the bare ones often are, by the id of its first message.

Left out and named: messages without content, and what is no message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from eventstore.exchange.assembling import EMPTY, PREVIOUS, Told, assemble
from eventstore.exchange.conversation import Conversation, Skipped
from eventstore.exchange.elements import first_objects
from eventstore.exchange.finding import Records
from eventstore.exchange.lists import conversation_metadata
from eventstore.exchange.open_webui_details import express_details, without_details
from eventstore.exchange.response_items import content_parts, express
from eventstore.exchange.times import any_time
from eventstore.exchange.tools import Said, data_part
from eventstore.exchange.ui_parts import IMAGE, file_part, is_address
from eventstore.exchange.values import list_of, object_of, usable, without

FORMAT: Final = "open-webui"
_EXPRESSED: Final = ("id", "parentId", "childrenIds", "role", "content", "output", "files", "model")


def recognises(head: bytes) -> bool:
    """Whether a file that begins with `head` looks like this export."""
    return any(_is_chat(each) for each in first_objects(head)[:1])


def _is_chat(value: Any) -> bool:
    """Whether a value is a chat, in its record or bare. One that is cut off counts by its keys."""
    if not isinstance(value, dict):
        return False
    if "chat" in value and ("user_id" in value or "title" in value):
        chat = value["chat"]
        return chat is None or (isinstance(chat, dict) and ("history" in chat or "messages" in chat))
    if "history" not in value:
        return False
    history = value["history"]
    return "models" in value or "title" in value if history is None else "messages" in object_of(history)


def _id_of(found: Mapping[str, Any]) -> Any:
    """The id of a chat, of its record or of its own."""
    record = found if isinstance(found.get("chat"), dict) else {}
    ids = (record.get("id"), object_of(found.get("chat") if record else found).get("id"))
    return next((each for each in ids if usable(each)), None)


def _conversation(found: Mapping[str, Any], digest: str) -> Conversation:
    record = found if isinstance(found.get("chat"), dict) else {}
    chat = object_of(found.get("chat")) if record else found
    history = object_of(chat.get("history"))
    skipped: list[Skipped] = []
    told = _told(object_of(history.get("messages")), list_of(chat.get("messages")), skipped)
    ids = (_id_of(found), *(each.id for each in told[:1]), "unknown")
    about = {**chat, **{key: value for key, value in record.items() if key != "chat"}}
    models = [model for model in list_of(chat.get("models")) if isinstance(model, str) and model]
    current = history.get("currentId")
    return assemble(
        f"{FORMAT}:{next(each for each in ids if usable(each))}",
        conversation_metadata(FORMAT, about, model=models[0] if models else None, held=("id", "messages", "history")),
        told,
        current=current or None,
        otherwise=any_time(about.get("created_at")) or any_time(chat.get("timestamp")),
        skipped=skipped,
        digest=digest,
    )


def _told(messages: Mapping[str, Any], flat: list[Any], skipped: list[Skipped]) -> list[Told]:
    told: list[Told] = []
    for key, found in messages.items():
        if isinstance(found, dict):
            told.append(_message(key, found, found.get("parentId")))
        else:
            skipped.append((f"message {key!r}", "it isn't an object"))
    previous: str | None = None
    for number, found in enumerate(flat, 1):
        if not isinstance(found, dict):
            skipped.append((f"message {number} of the list", "it isn't an object"))
            continue
        own = str(found["id"]) if usable(found.get("id")) else None
        if own is None or own not in messages:
            told.append(_message(own, found, found.get("parentId", previous if messages else PREVIOUS)))
            if messages:
                skipped.append((f"message {own or number!r}", "only the flat list holds it: added"))
        previous = own or previous
    return told


def _message(key: str | None, found: dict[str, Any], parent: Any) -> Told:
    role = found.get("role")
    said = [*_said(found), *map(_file, list_of(found.get("files")))]
    created_at = any_time(found.get("timestamp"))
    held = {*_EXPRESSED} | ({"timestamp"} if created_at else set())
    about = without(found, held)
    if list_of(found.get("output")) and _is_more(found.get("content"), said):
        about["content"] = found["content"]
    if not isinstance(found.get("model"), str):
        about |= without({"model": found.get("model")})
    model = {"model": found["model"]} if isinstance(found.get("model"), str) and found["model"] else {}
    return Told(
        key,
        role,
        said,
        [role, found.get("content"), found.get("output")],
        parent=parent,
        metadata={**model, **({FORMAT: about} if about else {})},
        created_at=created_at,
        left_out=None if said else EMPTY,
        listed=[each for each in list_of(found.get("childrenIds")) if isinstance(each, str)],
    )


def _said(found: dict[str, Any]) -> list[Said]:
    items = list_of(found.get("output"))
    if items:
        return [
            said
            for item in items
            for said in (express(item, FORMAT).said if isinstance(item, dict) else [data_part(FORMAT, "output", item)])
        ]
    content = found.get("content")
    if found.get("role") == "assistant" and isinstance(content, str):
        return [*express_details(content)]
    return [*content_parts(content, FORMAT)]


def _is_more(content: Any, said: list[Said]) -> bool:
    """Whether a content says something that the parts made of the output don't."""
    if not isinstance(content, str):
        return content is not None
    texts = [part["text"] for part in said if isinstance(part, dict) and part["type"] == "text"]
    return without_details(content).split() != "".join(texts).split()


def _file(entry: Any) -> Said:
    found = object_of(entry)
    url = found.get("url")
    if not is_address(url):
        return data_part(FORMAT, "file", entry)
    other = {"otherwise": IMAGE} if found.get("type") == "image" else {}
    return file_part(str(url), found.get("content_type"), found.get("name"), **other)


_RECORDS: Final = Records(FORMAT, "an Open WebUI chat with its `history`", _is_chat, _id_of, _conversation)
find, read = _RECORDS.find, _RECORDS.read
