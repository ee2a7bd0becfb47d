"""What each recorded operation is called here: one function an operation, over the public API only."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import islice
from typing import Any, TypeAlias

from eventstore import Message, Session
from tests.conformance.recording import Operation

Call: TypeAlias = Callable[[Session, Operation], Any]


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
    "append": lambda s, op: s.append_message(op["message"], **options(op, "parentId", "source")),
    "update": lambda s, op: s.update_message(op["message"], **options(op, "source")),
    "upsert": lambda s, op: s.upsert_message(op["message"], **options(op, "parentId", "source")),
    "delete": lambda s, op: s.delete_messages(op["ids"]),
    "clear": lambda s, op: s.clear_messages(),
    "import": import_one,
    "appendMany": append_many,
    "deleteRange": delete_range,
    "getHistory": lambda s, op: s.get_history(**options(op, "leafId", "newestFirst")),
    "history": take_history,
    "historyBatches": read_batches,
    "historySummary": summarise_history,
    "getRecentHistory": lambda s, op: s.get_recent_history(op["maxBytes"], **options(op, "leafId")),
    "recentSummary": summarise_recent,
    "getHistoryRowStats": lambda s, op: s.get_history_row_stats(**options(op, "leafId")),
    "getMessage": lambda s, op: s.get_message(op["id"]),
    "getLatestLeaf": lambda s, op: s.get_latest_leaf(),
    "getBranches": lambda s, op: s.get_branches(op["id"]),
    "getCompactions": lambda s, op: s.get_compactions(),
    "addCompaction": lambda s, op: s.add_compaction(op["summary"], op["from"], op["to"]),
    "compact": lambda s, op: s.compact(**options(op, "leafId")),
    "search": lambda s, op: s.search(op["query"], **options(op, "limit")),
}

SILENT = {"appendMany", "deleteRange"}
"""Operations that the recordings show no events of: they stand for thousands of calls."""
UNCOMPARED_RESULTS = {"delete", "import", "setCompaction"}
"""Operations whose result the reference doesn't give, or gives in a form that means nothing here."""
SKIPPED = {"$probe"}
"""Operations that look at the reference's own tables."""
