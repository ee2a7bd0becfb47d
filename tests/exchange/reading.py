"""Reading a sample, and files that a test writes itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from eventstore.exchange import format_of
from eventstore.exchange.conversation import Conversation

SAMPLES = Path(__file__).parent / "samples"


def read_sample(name: str, number: int = 0) -> Conversation:
    """One conversation of a sample."""
    path = SAMPLES / name
    return list(format_of(path).read(path))[number]


def messages_of(read: Conversation) -> dict[str, dict[str, Any]]:
    """The messages of a conversation by their ids."""
    return {row.message["id"]: dict(row.message) for row in read.rows}


def parts_of(read: Conversation) -> list[list[dict[str, Any]]]:
    """The parts of each message, in order."""
    return [row.message["parts"] for row in read.rows]


def texts(read: Conversation) -> list[str]:
    """The text of each message, in order; other parts by their type."""
    return [" ".join(part.get("text", part["type"]) for part in parts) for parts in parts_of(read)]


def read_rows(folder: Path, *rows: Any) -> list[Conversation]:
    """The conversations of a JSON Lines file with these rows; a text is a line as it is."""
    path = folder / "rows.jsonl"
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))
    return list(format_of(path).read(path))


def read_value(folder: Path, value: Any) -> list[Conversation]:
    """The conversations of a JSON file with this value."""
    path = folder / "value.json"
    path.write_text(json.dumps(value, indent=1))
    return list(format_of(path).read(path))
