"""LibreChat's export: nested and flat, several roots, damage; contents, files and times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eventstore.exchange import librechat
from eventstore.exchange.conversation import InvalidExport
from tests.exchange.mappings import shape
from tests.exchange.reading import messages_of, read_rows, read_sample, read_value

ROOT = "00000000-0000-0000-0000-000000000000"


def test_a_nested_export() -> None:
    read = read_sample("librechat/nested.json")
    assert shape(read.rows) == {"k1": None, "k2": "k1", "k3": "k2", "k4": "k3", "k5": "k2", "k7": "k1"}
    assert read.session_id == "librechat:lc1"
    assert read.metadata == {
        "title": "Knots",
        "model": "m-large",
        "librechat": {"endpoint": "openAI", "options": {"model": "m-large", "temperature": 0.5}},
    }
    found = messages_of(read)
    assert found["k2"] == {
        "id": "k2",
        "role": "assistant",
        "parts": [{"type": "text", "text": "Make a loop."}],
        "metadata": {
            "model": "m-large",
            "author": "Helper",
            "librechat": {"conversationId": "lc1", "finish_reason": "stop"},
        },
    }
    assert found["k4"]["parts"] == [
        {"type": "reasoning", "text": "The rabbit."},
        {
            "type": "tool-draw",
            "toolCallId": "d1",
            "state": "output-available",
            "input": {"what": "knot"},
            "callProviderMetadata": {"librechat": {"progress": 1}},
            "output": "drawn",
        },
        {"type": "text", "text": "Up through it."},
        {"type": "data-librechat-image_file", "data": {"type": "image_file", "image_file": {"file_id": "f1"}}},
    ]
    assert found["k7"]["parts"][1]["type"] == "data-librechat-file"
    assert {row.created_at.isoformat() for row in read.rows} == {"2024-07-01T09:00:00+00:00"}


def test_both_roots_stay_in_the_files_order_although_the_second_is_older() -> None:
    read = read_sample("librechat/flat-damaged.json")
    roots = [row.message["id"] for row in read.rows if row.parent_id is None]
    assert roots == ["r1", "r2", "l1", "x"]
    derived = next(row.message["id"] for row in read.rows if row.message["parts"][0]["text"].startswith("The same id"))
    assert shape(read.rows)[derived] == "r2"
    assert shape(read.rows)["y"] == "x"
    assert [what for what, _ in read.skipped] == [
        "message 10",
        "id 's1'",
        "message 'r1'",
        "parent of 'l1'",
        "parent of 'x'",
    ]


def test_nesting_gives_a_parent_that_is_not_named(tmp_path: Path) -> None:
    child = {"messageId": "b", "text": "B", "sender": "Helper", "isCreatedByUser": False}
    [read] = read_value(
        tmp_path,
        {
            "conversationId": "c",
            "recursive": True,
            "messages": [
                {"messageId": "a", "parentMessageId": ROOT, "text": "A", "sender": "User", "children": [child]}
            ],
        },
    )
    assert shape(read.rows) == {"a": None, "b": "a"}
    assert [row.message["role"] for row in read.rows] == ["user", "assistant"]
    assert read.skipped == ()


def test_deep_nesting_is_no_recursion() -> None:
    levels = 10_000
    inner: dict[str, Any] = {}
    for number in range(levels):
        inner = {"messageId": f"m{number}", "text": "x", "children": [inner] if inner else []}
    read = librechat._conversation({"conversationId": "c", "messages": [inner]}, "")
    assert len(read.rows) == levels
    assert read.rows[0].message["id"] == f"m{levels - 1}"


def test_several_conversations_and_what_is_none(tmp_path: Path) -> None:
    one = {"conversationId": "c", "exportAt": "now", "messages": [{"messageId": "a", "text": "A"}]}
    first, second, lost = read_rows(tmp_path, one, {**one, "conversationId": 5}, {"other": 1}, "{torn")
    assert [first.session_id, second.session_id] == ["librechat:c", "librechat:a"]
    assert not lost.rows
    assert [what for what, _ in lost.skipped] == ["line 3", "line 4"]


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text('{"notes": []}')
    with pytest.raises(InvalidExport, match="LibreChat"):
        list(librechat.read(path))
