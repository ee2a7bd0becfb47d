"""The Vercel AI SDK's messages (`UIMessage`), as apps save them: lists of them, and the tree that assistant-ui exports.

The lists lie in a file in the ways that `lists` tells. The tree form is an object whose `messages` are
`{"message": …, "parentId": …}`, with `headId`, the message that is shown last (absent: the last of the list).

A message is kept as it is: its id, its role, its `metadata`, its parts word for word; parts of older shapes become
those of today (see `ai_sdk_parts`). Keys that a message has beside these come under `ai-sdk` in its metadata. In a list
each message hangs on the one before it; in a tree on the one that `parentId` names. A message has the time that its
`createdAt` says (older versions have that, newer ones have no time).

A list is named by the id beside it (`id`, `chatId`, …), or else by its first message: see `naming`.

Left out and named: messages without parts, and what is no message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from eventstore.exchange.ai_sdk_parts import FORMAT, express, unexpressed
from eventstore.exchange.assembling import EMPTY, PREVIOUS, Told
from eventstore.exchange.conversation import Conversation
from eventstore.exchange.finding import Lists
from eventstore.exchange.lists import Listed, first_messages
from eventstore.exchange.naming import Names
from eventstore.exchange.telling import Telling
from eventstore.exchange.times import any_time
from eventstore.exchange.values import object_of

__all__ = ["FORMAT", "find", "read", "recognises"]

ROLES: Final = ("system", "user", "assistant", "data", "tool")
_EXPRESSED: Final = {
    "id",
    "role",
    "metadata",
    "parts",
    "content",
    "toolInvocations",
    "reasoning",
    "experimental_attachments",
    "attachments",
    "createdAt",
}


def recognises(head: bytes) -> bool:
    """Whether a file that begins with `head` looks like these messages."""
    found = first_messages(head)[:10]
    return any(map(_is_entry, found)) or any(map(_is_message, found))


def _is_message(value: Any) -> bool:
    """Whether a value is a message of any version. One whose parts are cut off counts."""
    if not isinstance(value, dict) or "role" not in value or "message" in value:
        return False
    if "parts" in value:
        parts = value["parts"]
        return parts is None or (
            isinstance(parts, list) and all(isinstance(object_of(part).get("type"), str) for part in parts)
        )
    return "toolInvocations" in value or "experimental_attachments" in value


def _is_entry(value: Any) -> bool:
    """Whether a value is a message of the tree form."""
    return isinstance(value, dict) and "parentId" in value and "message" in value and "type" not in value


def _is_told(value: Any) -> bool:
    """Whether a value among messages is one, sound or not."""
    return (isinstance(value, dict) and "role" in value) or _is_entry(value)


def _conversation(listed: Listed, names: Names) -> Iterator[Conversation]:
    telling = Telling(names, listed.id(), held=listed.is_held)
    head: Any = PREVIOUS
    for number, found in enumerate(listed.messages, 1):
        is_entry = _is_entry(found)
        message = found["message"] if is_entry else found
        if is_entry:
            head = listed.about.get("headId", PREVIOUS)
        if isinstance(message, dict):
            telling.tell([_told(message, found if is_entry else {})])
        else:
            telling.skipped.append((f"message {number} of {listed.where}", "it isn't an object"))
    yield telling.conversation(
        listed.metadata(FORMAT, telling.model, ["headId"] if head is not PREVIOUS else []),
        current=head,
        otherwise=any_time(listed.about.get("createdAt")),
        skipped=listed.skipped,
        digest=listed.digest,
    )


def _told(message: dict[str, Any], entry: Mapping[str, Any]) -> Told:
    parts = express(message)
    return Told(
        message.get("id"),
        message.get("role"),
        parts,
        [message.get("role"), message.get("parts", message.get("content"))],
        parent=entry.get("parentId", PREVIOUS),
        metadata=_metadata(message, entry),
        created_at=any_time(message.get("createdAt")),
        left_out=None if parts else EMPTY,
    )


def _metadata(message: dict[str, Any], entry: Mapping[str, Any]) -> Any:
    """The message's metadata unchanged, unless it has keys that this must keep beside it."""
    about = {key: value for key, value in message.items() if key not in _EXPRESSED} | unexpressed(message)
    if message.get("createdAt") is not None and any_time(message["createdAt"]) is None:
        about["createdAt"] = message["createdAt"]
    if not isinstance(message.get("metadata"), dict) and message.get("metadata") is not None:
        about["metadata"] = message["metadata"]
    about |= {key: value for key, value in entry.items() if key not in ("message", "parentId")}
    metadata = object_of(message.get("metadata"))
    return {**metadata, FORMAT: about} if about else metadata


_LISTS: Final = Lists(FORMAT, "message of the AI SDK", _is_told, _conversation)
find, read = _LISTS.find, _LISTS.read
