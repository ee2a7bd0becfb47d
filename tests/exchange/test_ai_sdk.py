"""The AI SDK's messages: kept word for word, older shapes as those of today, lists and trees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eventstore.exchange.ai_sdk_parts import express
from tests.exchange.mappings import shape
from tests.exchange.reading import messages_of, parts_of, read_rows, read_sample, read_value, texts


def said(text: str, role: str = "user", **more: Any) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "text": text}], **more}


def test_a_message_is_kept_word_for_word() -> None:
    found = messages_of(read_sample("ai-sdk/list.json"))
    assert found["a1"] == {
        "id": "a1",
        "role": "assistant",
        "parts": [
            {"type": "step-start"},
            {"type": "reasoning", "text": "I ask the station.", "state": "done"},
            {
                "type": "tool-weather",
                "toolCallId": "w1",
                "state": "output-available",
                "input": {"place": "Bergen"},
                "output": {"celsius": 7},
            },
            {"type": "text", "text": "Seven degrees."},
            {"type": "source-url", "sourceId": "s1", "url": "https://example.org/bergen"},
            {"type": "data-chart", "id": "c1", "data": [7, 8]},
            {"type": "hologram", "colour": "blue"},
        ],
        "metadata": {"model": "m-small"},
    }
    assert found["q1"]["metadata"] == {"mood": "curious"}


def test_equal_messages_without_ids_are_told_apart_by_their_place() -> None:
    read = read_sample("ai-sdk/list.json")
    equal = [row.message["id"] for row in read.rows if row.message["parts"] == [{"type": "text", "text": "Yes"}]]
    assert len(set(equal)) == 2
    assert [row.parent_id for row in read.rows] == [None, *(row.message["id"] for row in read.rows[:-1])]


def test_a_message_of_version_4() -> None:
    read = read_sample("ai-sdk/list.json")
    row = next(row for row in read.rows if row.message["id"] == "v4")
    assert row.message["parts"] == [
        {"type": "text", "text": "It is sent."},
        {
            "type": "tool-mail",
            "toolCallId": "t9",
            "state": "output-available",
            "input": {"to": "Ida"},
            "output": "sent",
        },
    ]
    assert row.message["metadata"] == {"ai-sdk": {"annotations": ["n"]}}
    assert row.created_at.isoformat() == "2025-02-03T04:05:06+00:00"


OLDER = [
    (
        {"type": "tool-invocation", "toolInvocation": {"state": "partial-call", "toolCallId": "1", "toolName": "t"}},
        {"type": "tool-t", "toolCallId": "1", "state": "input-streaming", "input": None},
    ),
    (
        {"type": "tool-call", "toolCallId": "1", "toolName": "t", "args": {}, "result": "no", "isError": True},
        {"type": "tool-t", "toolCallId": "1", "state": "output-error", "input": {}, "errorText": "no"},
    ),
    ({"type": "reasoning", "reasoning": "Hm.", "details": []}, {"type": "reasoning", "text": "Hm.", "details": []}),
    (
        {"type": "source", "source": {"sourceType": "url", "id": "s", "url": "https://e.org", "title": "E"}},
        {"type": "source-url", "sourceId": "s", "url": "https://e.org", "title": "E"},
    ),
    (
        {"type": "file", "mimeType": "image/png", "data": "iVBORw0KGgo="},
        {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,iVBORw0KGgo="},
    ),
    (
        {"type": "image", "image": "https://e.org/a.gif"},
        {"type": "file", "mediaType": "image/gif", "url": "https://e.org/a.gif"},
    ),
    # names that only look like older shapes
    ({"type": "tool-call", "toolCallId": "1", "state": "input-available", "input": 1}, None),
    ({"type": "source", "source": "a book"}, None),
    ({"type": "tool-invocation", "toolInvocation": 3}, None),
    ({"type": "reasoning", "text": "now", "reasoning": "then"}, None),
    ({"type": "file", "url": "https://e.org", "data": "x"}, None),
    # no parts at all
    ("bare", {"type": "data-ai-sdk-part", "data": "bare"}),
    (None, {"type": "data-ai-sdk-part", "data": None}),
]


@pytest.mark.parametrize(("given", "part"), OLDER, ids=range(len(OLDER)))
def test_older_parts_become_those_of_today_and_others_stay(given: Any, part: Any) -> None:
    assert express({"parts": [given]}) == [given if part is None else part]


def test_text_that_the_parts_say_differently_is_kept(tmp_path: Path) -> None:
    [read] = read_value(tmp_path, [said("A", content="A"), said("B", content="b")])
    assert [row.message.get("metadata") for row in read.rows] == [None, {"ai-sdk": {"content": "b"}}]


def test_a_tree_hangs_on_its_parents_and_shows_its_head() -> None:
    read = read_sample("ai-sdk/tree.json")
    derived = next(row.message["id"] for row in read.rows if row.parent_id == "a1b")
    assert shape(read.rows) == {
        "u1": None,
        "a1a": "u1",
        "u2": "a1a",
        "a1b": "u1",
        derived: "a1b",
        "u5": "u1",
        "u3": None,
        "u4": None,
    }
    assert read.current == "a1b"
    assert messages_of(read)["a1a"]["parts"][0]["output"] == ["wren"]
    assert messages_of(read)["a1b"]["metadata"] == {"ai-sdk": {"runConfig": {"custom": {"n": 2}}}}


@pytest.mark.parametrize(("head", "current"), [({}, "b"), ({"headId": "a"}, "a"), ({"headId": None}, None)])
def test_without_a_head_the_last_message_of_a_tree_is_shown(tmp_path: Path, head: Any, current: str | None) -> None:
    entries = [{"message": said("A", id="a"), "parentId": None}, {"message": said("B", id="b"), "parentId": "a"}]
    [read] = read_value(tmp_path, {**head, "messages": entries})
    assert read.current == current
    assert read.metadata == {}


def test_lists_that_go_on_are_one_conversation_and_others_are_not(tmp_path: Path) -> None:
    hello, day = said("Hello"), said("Good day", "assistant")
    reads = read_rows(tmp_path, [hello], [hello, day], [hello, said("Who?", "assistant")], [said("Bye")], [hello, day])
    names = [read.session_id for read in reads]
    assert names[0] == names[1] == names[4]
    assert names[2] == f"{names[0]}#2"
    assert len({*names}) == 3
    assert texts(reads[1])[:1] == texts(reads[0])


def test_what_a_system_message_says_names_no_conversation(tmp_path: Path) -> None:
    system = said("Be brief", "system")
    reads = read_rows(tmp_path, [system, said("A")], [system, said("B")])
    assert all("#" not in read.session_id for read in reads)
    assert reads[0].session_id != reads[1].session_id


def test_equal_call_ids_stay_as_they_are(tmp_path: Path) -> None:
    call = {"type": "tool-t", "toolCallId": "1", "state": "output-available", "input": 1, "output": 2}
    [read] = read_value(tmp_path, [{"id": "m", "role": "assistant", "parts": [call, {**call, "output": 3}]}])
    assert parts_of(read) == [[call, {**call, "output": 3}]]
