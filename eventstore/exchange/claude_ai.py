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
from datetime import datetime
from functools import partial
from typing import Any, Final

import attrs

from eventstore.exchange.anthropic_parts import Tools, blocks_of, express, is_call, is_result
from eventstore.exchange.conversation import Conversation, Found, InvalidExport, Skipped
from eventstore.exchange.elements import first_objects, read_elements
from eventstore.exchange.identities import Identities
from eventstore.exchange.planting import Forest
from eventstore.exchange.tools import Pairs, Part, data_part, pair
from eventstore.exchange.values import EPOCH, list_of, object_of, time_of_text, usable, without

FORMAT: Final = "claude-ai"
NO_PARENT: Final = "00000000-0000-4000-8000-000000000000"
_ROLES: Final = {"human": "user"}
_HELD: Final = ("uuid", "text", "content", "sender", "created_at", "attachments", "files", "parent_message_uuid")


def recognises(head: bytes) -> bool:
    """Whether a file that begins with `head` looks like this export."""
    return any("chat_messages" in found for found in first_objects(head))


def read(path: str | os.PathLike[str]) -> Iterator[Conversation]:
    """The conversations of the export at `path`, one after the other; only one is in memory at a time.

    Raises `InvalidExport`, when it gets there, where the file is torn or not JSON, and at the first step if it is some
    other kind of JSON; `OSError` if it can't be read.
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


# ---- one message


@attrs.define
class _Node:
    """A message: its blocks, in which every call and result has an id, and its own parent, `None` for none named."""

    id: str
    message: Mapping[str, Any]
    blocks: list[Any]
    parent: str | None = None

    @classmethod
    def of(cls, id: str, message: Mapping[str, Any]) -> _Node:
        """The message under the id `id`."""
        return cls(id, message, _numbered(blocks_of(message.get("content")), id))

    def files(self) -> list[Part]:
        """What it names beside its content."""
        return [
            data_part(FORMAT, kind, entry)
            for field, kind in (("attachments", "attachment"), ("files", "file"))
            for entry in list_of(self.message.get(field))
        ]

    def parts(self, tools: Tools) -> list[Part]:
        """Its parts, files last."""
        said = express(self.blocks, FORMAT, tools)
        text = self.message.get("text")
        if text and not isinstance(text, str):
            said.append(data_part(FORMAT, "text", text))
        elif text and not any(part["type"] == "text" for part in said):
            said.append({"type": "text", "text": text})
        return [*said, *self.files()]

    def is_empty(self) -> bool:
        """Whether it says nothing at all."""
        return (
            not self.message.get("text")
            and not self.files()
            and not any(block not in ("", None) and not _is_empty_text(block) for block in self.blocks)
        )

    def to_message(self, parts: list[Part]) -> dict[str, Any]:
        """The message as a store takes it."""
        sender, text = self.message.get("sender"), self.message.get("text")
        role = _ROLES.get(sender, sender) if isinstance(sender, str) and usable(sender) else "unknown"
        about = without(self.message, _HELD)
        if self.message.get("uuid") not in (self.id, None):
            about["uuid"] = self.message["uuid"]
        texts = [part["text"] for part in parts if part["type"] == "text"]
        if (
            isinstance(text, str)
            and text
            and text not in ("".join(texts), "\n".join(texts), "\n\n".join(texts), " ".join(texts))
        ):
            about["text"] = text
        return {"id": self.id, "role": role, "parts": parts, "metadata": {FORMAT: about}}


def _is_empty_text(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "text" and block.get("text") == ""


def _numbered(blocks: list[Any], id: str) -> list[Any]:
    """Blocks in which calls and results without an id have one: by their place, a result that of the call before it."""
    result: list[Any] = []
    waiting: list[str] = []
    for place, block in enumerate(blocks):
        kind = object_of(block).get("type")
        if kind == "tool_use" and block.get("id") in (None, ""):
            waiting.append(f"{id}:{place}")
            block = {**block, "id": waiting[-1]}
        elif kind == "tool_result" and block.get("tool_use_id") in (None, "") and waiting:
            block = {**block, "tool_use_id": waiting.pop(0)}
        result.append(block)
    return result


# ---- one conversation


def _conversations(found: Mapping[str, Any], place: str, digest: str) -> Iterator[Conversation]:
    nodes, skipped = _nodes(found["chat_messages"])
    forest = Forest.of({id: node.parent for id, node in nodes.items()})
    kept = [id for id, node in nodes.items() if not node.is_empty()]
    skipped += forest.skipped
    skipped += [(f"message {id!r}", "it is empty") for id, node in nodes.items() if node.is_empty()]
    pairs = pair(
        forest.order,
        forest.parents,
        {id: [block["id"] for block in node.blocks if is_call(block)] for id, node in nodes.items()},
        {id: [block["tool_use_id"] for block in node.blocks if is_result(block)] for id, node in nodes.items()},
        [id for id, node in nodes.items() if node.message.get("sender") == "human"],
    )
    times = {id: when for id, node in nodes.items() if (when := time_of_text(node.message.get("created_at")))}
    rows, hung = forest.plant(kept, times, _time(found), lambda node: _message(nodes, node, pairs))
    current = found.get("current_leaf_message_uuid")
    shown = forest.standing(kept).get(current if current in nodes else next(reversed(nodes), ""))
    if not rows:
        skipped.append((f"conversation {place[1:]}", "it has no messages"))
    yield Conversation(
        _session_id(found, next(iter(rows.ids), place)),
        _about(found),
        rows,
        shown,
        (*skipped, *pairs.skipped),
        elsewhere=forest.missing(hung),
        digest=digest,
    )


def _time(found: Mapping[str, Any]) -> datetime:
    return time_of_text(found.get("created_at")) or time_of_text(found.get("updated_at")) or EPOCH


def _nodes(messages: list[Any]) -> tuple[dict[str, _Node], list[Skipped]]:
    """The messages by their ids, with their parents as they name them."""
    skipped: list[Skipped] = []
    nodes: dict[str, _Node] = {}
    identities = Identities()
    is_tree = any("parent_message_uuid" in object_of(message) for message in messages)
    before: str | None = None
    for number, message in enumerate(messages, 1):
        if not isinstance(message, dict):
            skipped.append((f"message {number}", "it isn't an object"))
            continue
        uuid = message.get("uuid")
        id = str(uuid)
        if not usable(uuid):
            id = identities.derive(before, _content(message))
        elif id in nodes:
            if _content(nodes[id].message) == _content(message):
                continue
            what = f"message {id!r}"
            id = identities.derive(id, _content(message))
            if id in nodes:
                continue
            skipped.append((what, f"it is there twice with different contents: the second is {id!r}"))
        node = nodes[id] = _Node.of(id, message)
        node.parent = _parent(message, before, skipped) if is_tree else before
        before = id
    return nodes, skipped


def _content(message: Mapping[str, Any]) -> list[Any]:
    """What makes a message another one."""
    return [message.get(field) for field in ("sender", "text", "content", "attachments", "files")]


def _parent(message: Mapping[str, Any], before: str | None, skipped: list[Skipped]) -> str | None:
    parent = message.get("parent_message_uuid")
    if isinstance(parent, str):
        return None if parent == NO_PARENT else parent
    if before is not None:
        skipped.append((f"parent of {message.get('uuid')!r}", f"it names none: hung under {before!r}, the one before"))
    return before


def _message(nodes: Mapping[str, _Node], id: str, pairs: Pairs) -> dict[str, Any]:
    node = nodes[id]
    answered: list[int | Part | None] = []
    for number in range(sum(map(is_result, node.blocks))):
        call = pairs.calls.get((id, number))
        if call is None or call[0] == id:
            answered.append(None if call is None else call[1])
        else:
            answered.append(_call(nodes[call[0]], call[1], pairs))
    names = [pairs.names[id, number] for number in range(sum(map(is_call, node.blocks)))]
    return node.to_message(node.parts(Tools(names, answered)))


def _call(node: _Node, number: int, pairs: Pairs) -> Part:
    """A call of an earlier message, for a result that came in another."""
    calls = [block for block in node.blocks if is_call(block)]
    [part] = express([calls[number]], FORMAT, Tools([pairs.names[node.id, number]]))
    return part
