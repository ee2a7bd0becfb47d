"""Exports of our own kind for tests: made, changed and stored again."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from eventstore import Event, ImportReport, Session, Sessions
from eventstore.exchange import jsonl
from eventstore.testing import json_text
from tests.exchange.reads import reads


def message(message_id: str, text: str = "Hello", role: str = "user") -> dict[str, Any]:
    return {"id": message_id, "role": role, "parts": [{"type": "text", "text": text}]}


def exported(source: Sessions, *names: str) -> bytes:
    """The export of these sessions; of all, when none is named."""
    file = io.BytesIO()
    jsonl.export(source, names or None, file)
    return file.getvalue()


def stored(target: Sessions, folder: Path, data: bytes) -> list[tuple[str, ImportReport]]:
    path = folder / "export.jsonl"
    path.write_bytes(data)
    return list(jsonl.import_file(target, path))


def same(one: Session, other: Session) -> bool:
    return json_text(reads(one)) == json_text(reads(other))


def heard(sessions: Sessions) -> list[Event]:
    """A list that every event from now on is put into."""
    events: list[Event] = []
    sessions.subscribe(events.append)
    return events


def ids(session: Session) -> dict[str, str | None]:
    """Every message with its parent."""
    return {info.id: info.parent_id for info in session.tree()}


def small_export(there: Sessions) -> bytes:
    """Two sessions: in the first all kinds of steps that a person's writes make."""
    session = there.session("first")
    session.append_messages([message("a"), message("b"), message("c")])
    session.update_message(message("b", "longer"))
    session.delete_messages(["c"])
    session.select_leaf("a")
    session.set_metadata({"title": "T"})
    there.session("second").append_message(message("z"))
    return exported(there, "first", "second")


def lines(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


def joined(found: list[Any]) -> bytes:
    return b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in found)


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value
