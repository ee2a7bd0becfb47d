"""Files of other systems for the benchmarks: the same conversations, as each format writes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

from eventstore import Message

Talk: TypeAlias = list[Message]
TIME: Final = "2026-01-01T09:00:00.000Z"
SECONDS: Final = 1_767_258_000.0


def _text(message: Message) -> str:
    text: str = message["parts"][0]["text"]
    return text


def _pairs(talk: Talk) -> Iterable[tuple[Message, str | None]]:
    """Each message with the id of the one before it."""
    return zip(talk, [None, *(message["id"] for message in talk)], strict=False)


def chatgpt(talk: Talk, name: str) -> dict[str, Any]:
    """A conversation of ChatGPT's."""
    ids = [message["id"] for message in talk]
    mapping = {
        message["id"]: {
            "id": message["id"],
            "parent": parent,
            "children": ids[at + 1 : at + 2],
            "message": {
                "id": message["id"],
                "author": {"role": message["role"], "name": None, "metadata": {}},
                "create_time": SECONDS + at,
                "content": {"content_type": "text", "parts": [_text(message)]},
                "status": "finished_successfully",
                "weight": 1.0,
                "metadata": {"model_slug": "example"},
                "recipient": "all",
            },
        }
        for at, (message, parent) in enumerate(_pairs(talk))
    }
    return {"conversation_id": name, "title": name, "current_node": ids[-1], "mapping": mapping}


def claude_ai(talk: Talk, name: str) -> dict[str, Any]:
    """A conversation of Claude.ai's."""
    listed = [
        {
            "uuid": message["id"],
            "parent_message_uuid": parent or "00000000-0000-4000-8000-000000000000",
            "sender": "human" if message["role"] == "user" else "assistant",
            "text": "",
            "content": [{"type": "text", "text": _text(message), "citations": []}],
            "created_at": TIME,
            "updated_at": TIME,
            "attachments": [],
            "files": [],
        }
        for message, parent in _pairs(talk)
    ]
    return {"uuid": name, "name": name, "created_at": TIME, "updated_at": TIME, "chat_messages": listed}


def claude_code(talk: Talk) -> list[dict[str, Any]]:
    """The rows of a transcript of Claude Code."""
    rows: list[dict[str, Any]] = []
    for message, parent in _pairs(talk):
        said: dict[str, Any] = {"role": message["role"], "content": [{"type": "text", "text": _text(message)}]}
        if message["role"] == "assistant":
            said |= {"id": f"msg_{message['id']}", "model": "example", "usage": {"output_tokens": 60}}
        rows.append(
            {
                "parentUuid": parent,
                "isSidechain": False,
                "cwd": "/home/me",
                "sessionId": "long",
                "version": "2.0.0",
                "type": message["role"],
                "message": said,
                "uuid": message["id"],
                "timestamp": TIME,
            }
        )
    return rows


def codex(talk: Talk) -> list[dict[str, Any]]:
    """The rows of a rollout of Codex."""
    rows: list[dict[str, Any]] = [{"timestamp": TIME, "type": "session_meta", "payload": {"id": "long"}}]
    for message in talk:
        kind = "input_text" if message["role"] == "user" else "output_text"
        said = {"type": "message", "role": message["role"], "content": [{"type": kind, "text": _text(message)}]}
        rows.append({"timestamp": TIME, "type": "response_item", "payload": said})
    return rows


def ui_messages(talk: Talk, name: str) -> dict[str, Any]:
    """A chat of an app that uses the AI SDK."""
    return {"id": name, "title": name, "messages": talk}


def librechat(talk: Talk, name: str) -> dict[str, Any]:
    """A conversation of LibreChat's, flat."""
    listed = [
        {
            "messageId": message["id"],
            "parentMessageId": parent or "00000000-0000-0000-0000-000000000000",
            "sender": "User" if message["role"] == "user" else "Example",
            "isCreatedByUser": message["role"] == "user",
            "text": _text(message),
            "createdAt": TIME,
        }
        for message, parent in _pairs(talk)
    ]
    return {"conversationId": name, "title": name, "exportAt": "10:00:00", "recursive": False, "messages": listed}


def lobechat(talk: Talk) -> list[dict[str, Any]]:
    """The rows of a conversation of LobeChat's."""
    return [
        {
            "id": message["id"],
            "role": message["role"],
            "content": _text(message),
            "parentId": parent,
            "createdAt": int(SECONDS) * 1000,
            "meta": {},
        }
        for message, parent in _pairs(talk)
    ]


def open_webui(talk: Talk, name: str) -> dict[str, Any]:
    """A chat of Open WebUI's."""
    ids = [message["id"] for message in talk]
    found = {
        message["id"]: {
            "id": message["id"],
            "parentId": parent,
            "childrenIds": ids[at + 1 : at + 2],
            "role": message["role"],
            "content": _text(message),
            "timestamp": int(SECONDS) + at,
        }
        for at, (message, parent) in enumerate(_pairs(talk))
    }
    chat = {"title": name, "models": ["example"], "history": {"messages": found, "currentId": ids[-1]}}
    return {"id": name, "user_id": "me", "title": name, "chat": chat, "created_at": int(SECONDS)}


def openassistant(talk: Talk, name: str) -> dict[str, Any]:
    """A tree of OpenAssistant's, each reply inside the one before it."""
    inner: list[dict[str, Any]] = []
    for message, parent in reversed([*_pairs(talk)]):
        role = "prompter" if message["role"] == "user" else "assistant"
        found = {"message_id": message["id"], "parent_id": parent, "role": role, "text": _text(message)}
        inner = [{**found, "replies": inner}]
    return {"message_tree_id": name, "tree_state": "ready_for_export", "prompt": inner[0]}


def openai_agents(talk: Talk) -> list[dict[str, Any]]:
    """The items of a session of the Agents SDK."""
    return [{"role": message["role"], "content": _text(message)} for message in talk]


def langchain(talk: Talk) -> list[dict[str, Any]]:
    """Messages as LangChain dumps them."""
    kinds = {"user": "human", "assistant": "ai"}
    return [
        {"type": kinds[message["role"]], "data": {"content": _text(message), "id": message["id"]}} for message in talk
    ]


def pydantic_ai(talk: Talk) -> list[dict[str, Any]]:
    """Messages as pydantic-ai dumps them."""
    rows: list[dict[str, Any]] = []
    for message in talk:
        asked = message["role"] == "user"
        part = {"part_kind": "user-prompt" if asked else "text", "content": _text(message)}
        rows.append({"kind": "request" if asked else "response", "parts": [part], "timestamp": TIME})
    return rows


def pi(talk: Talk) -> list[dict[str, Any]]:
    """The rows of a session of pi."""
    rows: list[dict[str, Any]] = [{"type": "session", "version": 3, "id": "long", "timestamp": TIME, "cwd": "/home/me"}]
    for message, parent in _pairs(talk):
        said = {"role": message["role"], "content": [{"type": "text", "text": _text(message)}]}
        rows.append({"type": "message", "id": message["id"], "parentId": parent, "timestamp": TIME, "message": said})
    return rows


def whole(values: Iterable[Any]) -> str:
    """A JSON array of values."""
    return json.dumps(list(values))


def by_lines(values: Iterable[Any]) -> str:
    """A line for each value."""
    return "".join(json.dumps(value) + "\n" for value in values)


def _named(make: Callable[[Talk, str], Any], write: Callable[[Iterable[Any]], str]) -> Callable[[list[Talk]], str]:
    return lambda talks: write(make(talk, f"talk {at}") for at, talk in enumerate(talks))


def _together(make: Callable[[Talk], list[Any]], write: Callable[[Iterable[Any]], str]) -> Callable[[list[Talk]], str]:
    return lambda talks: write(make([message for talk in talks for message in talk]))


FILES: Final[dict[str, Callable[[list[Talk]], str]]] = {
    "ChatGPT export": _named(chatgpt, whole),
    "Claude.ai export": _named(claude_ai, whole),
    "Claude Code transcript": _together(claude_code, by_lines),
    "Codex rollout": _together(codex, by_lines),
    "pi session": _together(pi, by_lines),
    "AI SDK chats": _named(ui_messages, whole),
    "LibreChat export": _named(librechat, whole),
    "LobeChat rows": _together(lobechat, whole),
    "Open WebUI export": _named(open_webui, whole),
    "OpenAssistant trees": _named(openassistant, by_lines),
    "Agents SDK session": _together(openai_agents, by_lines),
    "LangChain threads": lambda talks: by_lines(map(langchain, talks)),
    "pydantic-ai messages": _together(pydantic_ai, whole),
}
"""The text of a file that holds all of these conversations."""
ONE_CONVERSATION: Final = (
    "Claude Code transcript",
    "Codex rollout",
    "pi session",
    "LobeChat rows",
    "Agents SDK session",
    "pydantic-ai messages",
)
"""Those of which a file is one conversation, with the id "long" where it has any."""
