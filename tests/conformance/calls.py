"""What each recorded operation is called here: one function an operation, over the public API only.

An operation that needs a method which sessions don't have belongs to a part that isn't built yet.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import islice
from typing import Any, TypeAlias

import attrs

import eventstore
from eventstore import Message, Session
from tests.conformance.recording import Operation, Recording

Run: TypeAlias = Callable[[Any, Operation], Any]
"""Takes a `Session`. Untyped, since a session lacks the methods of the parts that aren't built yet."""


@attrs.frozen
class Call:
    """The method of `Session` that an operation needs, and how to call it."""

    method: str
    run: Run


def snake_case(name: str) -> str:
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


def options(operation: Operation, *names: str) -> dict[str, Any]:
    """Those of the named options that the operation gives, under our names."""
    return {snake_case(name): operation[name] for name in names if name in operation}


def take_history(session: Session, operation: Operation) -> list[Message]:
    return list(islice(session.history(**options(operation, "newestFirst", "leafId")), operation.get("take")))


def read_batches(session: Session, operation: Operation) -> list[Any]:
    chosen = options(operation, "batchSize", "maxBatchBytes", "newestFirst", "leafId")
    batches: list[Any] = list(session.history_batches(**chosen))
    return [[message["id"] for message in batch] for batch in batches] if operation.get("idsOnly") else batches


def import_one(session: Session, operation: Operation) -> None:
    created_at = datetime.fromtimestamp(operation["createdAt"] / 1000, UTC)
    session.import_message(operation["message"], parent_id=operation["parentId"], created_at=created_at)


def append_many(session: Session, operation: Operation) -> int:
    first, prefix = operation.get("from", 1), operation["prefix"]
    numbers = range(first, first + operation["count"])
    session.append_messages(
        {
            "id": f"{prefix}{number}",
            "role": "user" if number % 2 else "assistant",
            "parts": [{"type": "text", "text": f"t {number}"}],
        }
        for number in numbers
    )
    return len(numbers)


def delete_range(session: Session, operation: Operation) -> int:
    message_ids = [f"{operation['prefix']}{number}" for number in range(operation["from"], operation["to"] + 1)]
    session.delete_messages(message_ids)
    return len(message_ids)


def summarise_history(session: Session, operation: Operation) -> dict[str, Any]:
    history = session.get_history()
    return {"count": len(history), "first": history[0]["id"], "last": history[-1]["id"]}


def summarise_recent(session: Session, operation: Operation) -> dict[str, Any]:
    recent = session.get_recent_history(operation["maxBytes"])
    return {
        "count": len(recent.messages),
        "first": recent.messages[0]["id"],
        "truncated": recent.truncated,
        "totalContentBytes": recent.total_content_bytes,
    }


CALLS: dict[str, Call] = {
    "append": Call(
        "append_message", lambda s, op: s.append_message(op["message"], **options(op, "parentId", "source"))
    ),
    "update": Call("update_message", lambda s, op: s.update_message(op["message"], **options(op, "source"))),
    "upsert": Call(
        "upsert_message", lambda s, op: s.upsert_message(op["message"], **options(op, "parentId", "source"))
    ),
    "delete": Call("delete_messages", lambda s, op: s.delete_messages(op["ids"])),
    "clear": Call("clear_messages", lambda s, op: s.clear_messages()),
    "import": Call("import_message", import_one),
    "appendMany": Call("append_messages", append_many),
    "deleteRange": Call("delete_messages", delete_range),
    "getHistory": Call("get_history", lambda s, op: s.get_history(**options(op, "leafId", "newestFirst"))),
    "history": Call("history", take_history),
    "historyBatches": Call("history_batches", read_batches),
    "historySummary": Call("get_history", summarise_history),
    "getRecentHistory": Call(
        "get_recent_history", lambda s, op: s.get_recent_history(op["maxBytes"], **options(op, "leafId"))
    ),
    "recentSummary": Call("get_recent_history", summarise_recent),
    "getHistoryRowStats": Call("get_history_row_stats", lambda s, op: s.get_history_row_stats(**options(op, "leafId"))),
    "getMessage": Call("get_message", lambda s, op: s.get_message(op["id"])),
    "getLatestLeaf": Call("get_latest_leaf", lambda s, op: s.get_latest_leaf()),
    "getBranches": Call("get_branches", lambda s, op: s.get_branches(op["id"])),
    "getCompactions": Call("get_compactions", lambda s, op: s.get_compactions()),
    "addCompaction": Call("add_compaction", lambda s, op: s.add_compaction(op["summary"], op["from"], op["to"])),
    "compact": Call("compact", lambda s, op: s.compact(**options(op, "leafId"))),
    "search": Call("search", lambda s, op: s.search(op["query"], **options(op, "limit"))),
}
NEEDED_METHODS = {name: call.method for name, call in CALLS.items()} | {"setCompaction": "on_compaction"}
PARTS = {
    "search": "search",
    "on_compaction": "compaction",
    "compact": "compaction",
    "add_compaction": "compaction",
    "get_compactions": "compaction",
}
"""The parts that methods belong to, where that isn't the core."""

SILENT = {"appendMany", "deleteRange"}
"""Operations that the recordings show no events of: they stand for thousands of calls."""
UNCOMPARED_RESULTS = {"delete", "import", "setCompaction"}
"""Operations whose result the reference doesn't give, or gives in a form that means nothing here."""
SKIPPED = {"$probe"}
"""Operations that look at the reference's own tables."""


def missing_parts(recording: Recording) -> list[str]:
    """The parts that the recording needs and that aren't built yet."""
    missing = set()
    for operation in recording.operations():
        method = NEEDED_METHODS.get(operation["op"])
        if method is not None and not hasattr(Session, method):
            missing.add(PARTS.get(method, method))
        if has_provider_fields(operation.get("message")) and not hasattr(eventstore, "strip_openai_ephemera"):
            missing.add("strip_openai_ephemera")
    return sorted(missing)


def has_provider_fields(message: Any) -> bool:
    """Whether the reference cleans the message up when it is written: OpenAI's item ids, or blank reasoning."""
    match message:
        case {"parts": list() as parts}:
            return any(is_cleaned(part) for part in parts if isinstance(part, dict))
        case _:
            return False


def is_cleaned(part: dict[str, Any]) -> bool:
    fields = [part.get("providerMetadata"), part.get("callProviderMetadata")]
    blank_reasoning = part.get("type") == "reasoning" and not part.get("text", "").strip()
    return blank_reasoning or any("openai" in field for field in fields if field)
