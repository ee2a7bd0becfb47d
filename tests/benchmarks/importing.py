"""What an import of other systems' files costs, beside appending the same messages and beside reading the JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from eventstore import Message
from eventstore.exchange import read
from eventstore.exchange.elements import read_elements
from eventstore.exchange.files import import_file
from eventstore.exchange.lines import Lines
from tests.benchmarks.bench import Bench
from tests.benchmarks.material import messages, opened
from tests.benchmarks.measure import Line, interleave, seconds

TALK = 100  # messages of a conversation
TIME = "2026-01-01T09:00:00.000Z"


def import_export(bench: Bench) -> list[Line]:
    """A ChatGPT export of many conversations, and one long transcript of Claude Code."""
    number = bench.sizes.history
    given = messages(number)
    talks = [given[start : start + TALK] for start in range(0, number, TALK)]
    export, transcript = bench.folder.path / "export.json", bench.folder.path / "transcript.jsonl"
    export.write_text(json.dumps([_conversation(talk, str(at)) for at, talk in enumerate(talks)]))
    transcript.write_text("".join(json.dumps(row) + "\n" for row in _rows(given)))
    try:
        return [
            *_lines(bench, "ChatGPT export", export, lambda: sum(1 for _ in read_elements(export))),
            *_lines(bench, "transcript", transcript, lambda: _rows_of(transcript)),
        ]
    finally:
        export.unlink()
        transcript.unlink()


def _lines(bench: Bench, what: str, path: Path, parse: Callable[[], object]) -> list[Line]:
    talks = [[row.message for row in each.rows] for each in read(path)]  # as they are stored, metadata and all
    what = f"{what} of {sum(map(len, talks)):,} messages"
    runs = bench.sizes.few_runs
    store = bench.folder.new_file()

    def imported() -> float:
        with opened(bench.folder.new_file()) as sessions:
            return seconds(lambda: [report for _, report in import_file(sessions, path)])

    def appended() -> float:
        with opened(bench.folder.new_file()) as sessions:
            names = count()
            return seconds(lambda: [sessions.session(f"{next(names)}").append_messages(talk) for talk in talks])

    with opened(store) as sessions:
        list(import_file(sessions, path))

        def again() -> float:
            return seconds(lambda: [report for _, report in import_file(sessions, path)])

        return [
            interleave(f"import of a {what}", "append_messages", imported, appended, runs=runs, target=3),
            interleave("the same once more", "parsing its JSON", again, lambda: seconds(parse), runs=runs, target=1.5),
        ]


def _rows_of(path: Path) -> int:
    with Lines(path).open() as lines:
        return sum(1 for _ in lines)


def _conversation(talk: list[Message], name: str) -> dict[str, Any]:
    """A conversation of ChatGPT's."""
    ids = [message["id"] for message in talk]
    mapping = {
        message["id"]: {
            "id": message["id"],
            "parent": ids[at - 1] if at else None,
            "children": ids[at + 1 : at + 2],
            "message": {
                "id": message["id"],
                "author": {"role": message["role"], "name": None, "metadata": {}},
                "create_time": 1_767_258_000.0 + at,
                "content": {"content_type": "text", "parts": [message["parts"][0]["text"]]},
                "status": "finished_successfully",
                "weight": 1.0,
                "metadata": {"model_slug": "example"},
                "recipient": "all",
            },
        }
        for at, message in enumerate(talk)
    }
    return {"conversation_id": name, "title": name, "current_node": ids[-1], "mapping": mapping}


def _rows(given: list[Message]) -> list[dict[str, Any]]:
    """The rows of a transcript."""
    rows: list[dict[str, Any]] = []
    for message in given:
        content = [{"type": "text", "text": message["parts"][0]["text"]}]
        said: dict[str, Any] = {"role": message["role"], "content": content}
        if message["role"] == "assistant":
            said |= {"id": f"msg_{message['id']}", "model": "example", "usage": {"output_tokens": 60}}
        rows.append(
            {
                "parentUuid": rows[-1]["uuid"] if rows else None,
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
