"""ChatGPT's data export, `conversations.json`: a list of conversations, or one of them alone.

That is also what its web pages are sent (one object), and what captures of these hold somewhere inside an envelope of
their own, of which nothing is kept.

A conversation is a mapping of nodes. **A node that holds a message becomes one message**, its id the node's key in the
mapping: that is what parents, children and the shown branch refer to, it is unique in a conversation, and it is the
same in every export. (A message's own id is nearly always the same; where it differs it is kept in the metadata.)

What a node becomes:

- Its parts: see `chatgpt_parts`. What a message's `attachments` name follows as `data-chatgpt-attachment` parts.
- An assistant's text or code for a recipient other than "all" is a call of that tool: one `tool-<recipient>` part,
  `toolCallId` being the node's key, `state` "input-available", `input` the JSON object that the text spells, or the
  text. A message of that tool is the result of the nearest call of it above, nobody having spoken in between: one part
  with the same `toolCallId` and `input`, `state` "output-available" and `output`. Call and result stay two messages, as
  they are in the export: a result that only a later export holds is then something new, and branches may part at it.
  A tool's message without such a call keeps its plain parts.
- Its time: `create_time`; where that is null, the time of the nearest ancestor that has one, else the conversation's
  `create_time`, else its `update_time`, else 1970. Times never decide the order.
- Its metadata: `model` (the model's slug), `author` (the tool's or author's name), and under `chatgpt` all else that
  the export says of the message (status, weight, recipient, …) but nulls and empty values, with what its content says
  beside its text under `content`.

What is left out, and named in `skipped`; the children hang on the nearest kept ancestor:

- nodes marked `is_visually_hidden_from_conversation`, system messages, and messages without content (`[""]`, `[]`).
  `read(path, keep_hidden=True)` keeps all these, so that every node with a message is a message.
- a message that isn't an object, and a node whose key no store takes as an id (empty, or half a surrogate pair).

Nodes without a message (the root) become nothing and aren't named. A conversation without a mapping has no rows and is
named. The current branch is that of `current_node`, or of its nearest kept ancestor.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from eventstore.exchange.chatgpt_nodes import Node
from eventstore.exchange.conversation import (
    Conversation,
    Found,
    InvalidExport,
    Skipped,
    mend_parents,
    nearest,
    order_parents_first,
    rehang,
    standing_for,
)
from eventstore.exchange.elements import BOM, first_keys, read_elements
from eventstore.exchange.tools import subtree_ends
from eventstore.exchange.values import EPOCH, time_of, usable
from eventstore.reports import ImportRow

FORMAT: Final = "chatgpt"
ENVELOPES: Final = 3  # levels that a capture may put around a conversation
_CAPTURED: Final = (re.compile(rb'(?<!\\)"mapping"\s*:\s*\{'), re.compile(rb'(?<!\\)"(current_node|create_time)"\s*:'))


def recognises(head: bytes) -> bool:
    """Whether a file that begins with `head` looks like this export."""
    return _is_conversation(first_keys(head)) or _looks_captured(head)


def _looks_captured(head: bytes) -> bool:
    """Whether a conversation lies inside what a browser's capture put around it."""
    begin = head.removeprefix(BOM).lstrip()[:1]
    return begin in (b"{", b"[") and all(pattern.search(head) for pattern in _CAPTURED)


def _captured(value: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    """The conversations inside an envelope: objects with a mapping, a few levels down."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in inner:
        if isinstance(item, dict) and isinstance(item.get("mapping"), dict):
            yield item
        elif depth < ENVELOPES:
            yield from _captured(item, depth + 1)


def _is_conversation(keys: Collection[str]) -> bool:
    return "mapping" in keys or ("conversation_id" in keys and ("create_time" in keys or "update_time" in keys))


def read(path: str | os.PathLike[str], *, keep_hidden: bool = False) -> Iterator[Conversation]:
    """The conversations of the export at `path`, one after the other; only one is in memory at a time.

    `keep_hidden` keeps the nodes that ChatGPT doesn't show, too. Raises `InvalidExport`, when it gets there, where the
    file is torn or not JSON, and at the first step if it is some other kind of JSON; `CannotOpen` if it can't be read.
    """
    for found in _find(path, keep_hidden):
        yield from found.read()


def find(paths: Sequence[str | os.PathLike[str]]) -> Iterator[Found]:
    """The conversations of exports, unread. Raises as `read`."""
    for path in paths:
        yield from _find(path, False)


def _find(path: str | os.PathLike[str], keep_hidden: bool) -> Iterator[Found]:
    for number, element in enumerate(read_elements(path), 1):
        found = element.value
        known = isinstance(found, dict) and _is_conversation(found)
        if not known and (inside := list(_captured(found))):
            for place, each in enumerate(inside, 1):
                yield _found(each, f"#{number}.{place}", keep_hidden, f"{element.digest}/{place}")
            continue
        if number == 1 and not known:
            raise InvalidExport(
                path, element.line, "wanted a ChatGPT conversation with its `mapping`, found other JSON"
            )
        if known and isinstance(found.get("mapping"), dict):
            yield _found(found, f"#{number}", keep_hidden, element.digest)
        else:
            why = "it has no mapping of messages" if known else "it isn't a conversation"
            skipped = (f"conversation {number} (line {element.line})", why)
            session_id = _session_id(found if known else {}, f"#{number}")
            empty = Conversation(session_id, _about(found) if known else {}, (), skipped=(skipped,))
            yield Found(session_id, (), partial(iter, [empty]))


def _found(found: Mapping[str, Any], place: str, keep_hidden: bool, digest: str) -> Found:
    named = any(usable(found.get(key)) for key in ("conversation_id", "id"))
    read_it = partial(_conversations, found, place, keep_hidden, digest)
    return Found(_session_id(found, place) if named else None, (digest,), read_it)


def _session_id(found: Mapping[str, Any], otherwise: str) -> str:
    """By the conversation's id, or else by what stands for it: the id of its first message."""
    ids = (found.get("conversation_id"), found.get("id"), otherwise)
    return f"{FORMAT}:{next(id for id in ids if usable(id))}"


def _about(found: Mapping[str, Any]) -> dict[str, Any]:
    """What the export says of a conversation beside its messages."""
    about: dict[str, Any] = {}
    held = {"mapping", "current_node"}
    for name, key in (("title", "title"), ("model", "default_model_slug")):
        if isinstance(found.get(key), str):
            about[name] = found[key]
            held.add(key)
    for name, key in (("created_at", "create_time"), ("updated_at", "update_time")):
        if when := time_of(found.get(key)):
            about[name] = when.isoformat()
            held.add(key)
    return {**about, FORMAT: {key: value for key, value in found.items() if key not in held}}


def _conversations(found: Mapping[str, Any], place: str, keep_hidden: bool, digest: str) -> Iterator[Conversation]:
    order, parents, skipped = _tree(found["mapping"])
    nodes = _messages(order, found["mapping"], skipped)
    _pair(order, parents, nodes)
    kept: list[str] = []
    for key, node in nodes.items():
        if node.left_out is None or keep_hidden:
            kept.append(key)
        else:
            skipped.append((f"message {key!r}", node.left_out))
    standing = standing_for(order, parents, kept)
    hung = rehang(parents, standing)
    times = nearest(order, parents, {key: node.time for key, node in nodes.items() if node.time})
    otherwise = time_of(found.get("create_time")) or time_of(found.get("update_time")) or EPOCH
    current = found.get("current_node")
    yield Conversation(
        _session_id(found, next(iter(kept), place)),
        _about(found),
        tuple(
            ImportRow(nodes[key].to_message(), parent_id=hung[key], created_at=times.get(key, otherwise))
            for key in kept
        ),
        standing.get(current) if isinstance(current, str) else None,
        tuple(skipped),
        digest=digest,
    )


def _tree(mapping: Mapping[str, Any]) -> tuple[list[str], dict[str, str | None], list[Skipped]]:
    """The keys of a mapping, parents first; their parents, mended; and what was mended."""
    skipped: list[Skipped] = []
    parents: dict[str, str | None] = {}
    children: dict[str, list[str]] = {}
    for key, node in mapping.items():
        if not isinstance(node, dict):
            skipped.append((f"node {key!r}", "it isn't an object"))
            node = {}
        parent, listed = node.get("parent"), node.get("children")
        parents[key] = parent if parent is None or isinstance(parent, str) else repr(parent)
        children[key] = [child for child in listed if isinstance(child, str)] if isinstance(listed, list) else []
    mended, notes = mend_parents(parents, children)
    return order_parents_first(mended, children), mended, skipped + notes


def _messages(order: Sequence[str], mapping: Mapping[str, Any], skipped: list[Skipped]) -> dict[str, Node]:
    """The nodes that can become messages, in order; the others that have a message are named in `skipped`."""
    nodes: dict[str, Node] = {}
    for key in order:
        message = mapping[key].get("message") if isinstance(mapping[key], dict) else None
        if message is None:
            continue
        if not isinstance(message, dict):
            skipped.append((f"message {key!r}", "it isn't an object"))
        elif not usable(key):
            skipped.append((f"message {key!r}", "no store takes its key as an id"))
        else:
            nodes[key] = Node.of(key, message)
    return nodes


def _pair(order: Sequence[str], parents: Mapping[str, str | None], nodes: Mapping[str, Node]) -> None:
    """Gives each result its call: the nearest above it of the same tool, nobody having spoken in between.

    For each tool a stack of its calls; those whose subtree is left behind are popped before the top is looked at.
    """
    index = {key: place for place, key in enumerate(order)}
    behind = subtree_ends(order, parents)
    spoken = nearest(order, parents, {key: index[key] for key, node in nodes.items() if node.speaks})
    calls: defaultdict[str, list[str]] = defaultdict(list)
    for key, node in nodes.items():
        if node.calls is not None:
            calls[node.calls].append(key)
        elif node.answers is not None:
            open_calls = calls[node.answers]
            while open_calls and behind[open_calls[-1]] <= index[key]:
                open_calls.pop()
            if open_calls and index[open_calls[-1]] > spoken.get(key, -1):
                node.answer(nodes[open_calls[-1]])
