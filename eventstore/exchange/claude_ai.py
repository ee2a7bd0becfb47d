"""Claude.ai's data export, `conversations.json`: a list of conversations, or one of them alone.

**A message becomes one message**, its id its `uuid`. What it becomes:

- Its parts: the blocks of `content`, see `anthropic_parts`. A tool call and its result are blocks of one answer, and
  become one part; calls of older exports have no ids, and are numbered then: `<uuid>:<place>`. `text` repeats what the
  blocks say: it is a part where they say nothing, and kept in the metadata where it says something else.
  `attachments` and `files` follow as `data-claude-ai-attachment` and `data-claude-ai-file`: the text that was taken out
  of a file is in the export, its bytes aren't.
- Its parent: `parent_message_uuid`, where 00000000-0000-4000-8000-000000000000 means none. A conversation in which no
  message has that field is one line, in the order of the list; in one where some have it, a message without hangs on
  the one before it in the list. Times never decide: question and answer often have the same.
- Its time: `created_at`, else that of its nearest ancestor, else the conversation's, else 1970.
- Its metadata: under `claude-ai` all else that the export says of it.

A message without an id gets one (`identities`), and so does one whose id another message before it has, with another
content; an equal one is the same message. Messages without content are left out, their children hang on the nearest
ancestor that is kept. All this is named in `skipped`. The current branch is that of `current_leaf_message_uuid`, or of
the last message in the list.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import attrs

from eventstore.exchange.anthropic_parts import blocks_of, said_by
from eventstore.exchange.assembling import EMPTY, PREVIOUS, Told, assemble
from eventstore.exchange.conversation import Conversation, Found, InvalidExport, Skipped
from eventstore.exchange.elements import first_objects, read_elements
from eventstore.exchange.tools import data_part
from eventstore.exchange.values import list_of, object_of, time_of_text, usable, without

FORMAT: Final = "claude-ai"
NO_PARENT: Final = "00000000-0000-4000-8000-000000000000"
_ROLES: Final = {"human": "user"}
_FILES: Final = (("attachments", "attachment"), ("files", "file"))
_CONTENT: Final = ("sender", "text", "content", "attachments", "files")
"""What makes a message another one."""
_HELD_WITHOUT_TIME: Final = frozenset((*_CONTENT, "uuid", "parent_message_uuid"))
_HELD: Final = _HELD_WITHOUT_TIME | {"created_at"}
_BETWEEN: Final = ("", "\n", "\n\n", " ")
"""What may stand between the texts of the blocks where `text` repeats them."""


def recognises(head: bytes) -> bool:
    """Whether a file that begins with `head` looks like this export."""
    return any("chat_messages" in found for found in first_objects(head))


def read(path: str | os.PathLike[str]) -> Iterator[Conversation]:
    """The conversations of the export at `path`, one after the other; only one is in memory at a time.

    Raises `InvalidExport`, when it gets there, where the file is torn or not JSON, and at the first step if it is some
    other kind of JSON; `CannotOpen` if it can't be read.
    """
    for found in find([path]):
        yield from found.read()


def find(paths: Sequence[str | os.PathLike[str]]) -> Iterator[Found]:
    """The conversations of exports, unread. Raises as `read`."""
    for path in paths:
        yield from _find(path)


def _find(path: str | os.PathLike[str]) -> Iterator[Found]:
    for number, element in enumerate(read_elements(path), 1):
        found = element.value
        known = isinstance(found, dict) and ("chat_messages" in found or usable(found.get("uuid")))
        if number == 1 and not known:
            wanted = "wanted a Claude.ai conversation with its `chat_messages`, found other JSON"
            raise InvalidExport(path, element.line, wanted)
        if known and isinstance(found.get("chat_messages"), list):
            session_id = _session_id(found, "") if usable(found.get("uuid")) else None
            read_it = partial(_conversations, found, f"#{number}", element.digest)
            yield Found(session_id, (element.digest,), read_it)
        else:
            why = "it has no list of messages" if known else "it isn't a conversation"
            skipped = (f"conversation {number} (line {element.line})", why)
            empty = Conversation(_session_id(object_of(found), f"#{number}"), {}, (), skipped=(skipped,))
            yield Found(empty.session_id, (), partial(iter, [empty]))


def _session_id(found: Mapping[str, Any], otherwise: str) -> str:
    return f"{FORMAT}:{found['uuid'] if usable(found.get('uuid')) else otherwise}"


def _about(found: Mapping[str, Any]) -> dict[str, Any]:
    """What the export says of a conversation beside its messages."""
    about: dict[str, Any] = {}
    held = {"uuid", "chat_messages", "current_leaf_message_uuid"}
    for name, key in (("title", "name"), ("model", "model")):
        if isinstance(found.get(key), str) and found[key]:
            about[name] = found[key]
            held.add(key)
    for name in ("created_at", "updated_at"):
        if when := time_of_text(found.get(name)):
            about[name] = when.isoformat()
            held.add(name)
    return {**about, FORMAT: {key: value for key, value in found.items() if key not in held}}


# ---- one conversation


def _conversations(found: Mapping[str, Any], place: str, digest: str) -> Iterator[Conversation]:
    skipped: list[Skipped] = []
    told = list(_told(found["chat_messages"], skipped))
    if all(each.left_out for each in told):
        skipped.append((f"conversation {place[1:]}", "it has no messages"))
    shown = found.get("current_leaf_message_uuid")
    read = assemble(
        _session_id(found, place),
        _about(found),
        told,
        current=shown if shown is not None and any(each.id == shown for each in told) else PREVIOUS,
        otherwise=time_of_text(found.get("created_at")) or time_of_text(found.get("updated_at")),
        skipped=skipped,
        digest=digest,
    )
    yield attrs.evolve(read, session_id=_session_id(found, read.rows[0].message["id"] if read.rows else place))


def _told(messages: list[Any], skipped: list[Skipped]) -> Iterator[Told]:
    """The messages, with their parents as they name them."""
    is_tree = any("parent_message_uuid" in object_of(message) for message in messages)
    known: set[Any] = set()
    for number, message in enumerate(messages, 1):
        if not isinstance(message, dict):
            skipped.append((f"message {number}", "it isn't an object"))
            continue
        parent: Any = PREVIOUS
        if is_tree:
            parent = message.get("parent_message_uuid")
            if not isinstance(parent, str):
                what = f"parent of {message.get('uuid')!r}"
                skipped += [(what, "it names none: hung under the message before it")] if known else []
                parent = PREVIOUS
            elif parent == NO_PARENT:
                parent = None
        uuid = message.get("uuid")
        name = uuid if usable(uuid) else None
        yield _message(message, parent, name, name is None or name in known)
        known.add(name)


# ---- one message


def _message(message: dict[str, Any], parent: Any, name: str | None, renamed: bool) -> Told:
    """What a message says. `name` is its own id, if it has one; `renamed`, that it gets another one."""
    said = said_by(_numbered(blocks_of(message.get("content")), name), FORMAT)
    texts = [part["text"] for part in said if isinstance(part, dict) and part["type"] == "text"]
    text, sender, when = message.get("text"), message.get("sender"), time_of_text(message.get("created_at"))
    about = without(message, _HELD if when else _HELD_WITHOUT_TIME)
    if renamed and message.get("uuid") is not None:
        about["uuid"] = message["uuid"]
    if text and not isinstance(text, str):
        said.append(data_part(FORMAT, "text", text))
    elif text and not texts:
        said.append({"type": "text", "text": text})
    elif text and not any(text == between.join(texts) for between in _BETWEEN):
        about["text"] = text
    for field, kind in _FILES:
        said += [data_part(FORMAT, kind, entry) for entry in list_of(message.get(field))]
    return Told(
        message.get("uuid"),
        _ROLES.get(sender, sender) if isinstance(sender, str) else None,
        said,
        [message.get(field) for field in _CONTENT],
        parent,
        {FORMAT: about},
        when,
        None if said else EMPTY,
    )


def _numbered(blocks: list[Any], name: str | None) -> list[Any]:
    """Blocks in which calls and results without an id have one: by their place, a result that of the call before it."""
    if all(object_of(block).get("type") == "text" for block in blocks):
        return blocks
    result: list[Any] = []
    waiting: list[str] = []
    for place, block in enumerate(blocks):
        kind = object_of(block).get("type")
        if kind == "tool_use" and block.get("id") in (None, ""):
            waiting.append(f"{name or 'call'}:{place}")
            block = {**block, "id": waiting[-1]}
        elif kind == "tool_result" and block.get("tool_use_id") in (None, "") and waiting:
            block = {**block, "tool_use_id": waiting.pop(0)}
        result.append(block)
    return result
