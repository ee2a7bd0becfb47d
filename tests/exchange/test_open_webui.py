"""Open WebUI's export: records and bare chats, damaged links, outputs, and the details in an answer's text."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from eventstore.exchange.open_webui_details import express_details, without_details
from tests.exchange.mappings import shape
from tests.exchange.reading import messages_of, read_sample, read_value


def test_a_chat_with_damaged_links() -> None:
    read = read_sample("open-webui/chats.json")
    assert shape(read.rows) == {"t1": None, "t3": "t1", "t4": "t3", "t9": "t3", "t2": "t1", "t5": None}
    assert read.current == "t3"
    assert (read.metadata["title"], read.metadata["model"]) == ("Tea", "leaf-7b")
    assert read.metadata["open-webui"] == {
        "models": ["leaf-7b"],
        "user_id": "u",
        "archived": False,
        "pinned": True,
        "meta": {"tags": ["drinks"]},
        "folder_id": None,
    }
    assert [row.created_at.timestamp() for row in read.rows if row.message["id"] in ("t9", "t4")] == [
        1700000103.0,
        1700000102.0,
    ]


def test_the_details_of_an_answer() -> None:
    found = messages_of(read_sample("open-webui/chats.json"))
    assert found["t3"]["parts"] == [
        {
            "type": "reasoning",
            "text": "Green or black?\nGreen.",
            "providerMetadata": {"open-webui": {"duration": "2"}},
        },
        {"type": "tool-timer", "toolCallId": "c1", "state": "output-available", "input": {"s": 120}, "output": "set"},
        {"type": "text", "text": "Two, if it is green."},
    ]
    assert found["t1"]["parts"][1:] == [
        {"type": "file", "mediaType": "image/jpeg", "url": "data:image/jpeg;base64,/9j/"},
        {"type": "data-open-webui-file", "data": {"type": "file", "id": "f1", "name": "tea.pdf"}},
    ]


def test_an_output_with_two_calls_of_one_id() -> None:
    read = read_sample("open-webui/chats.json", 1)
    parts = messages_of(read)["r2"]["parts"]
    assert [part["type"] for part in parts] == ["reasoning", "tool-look", "tool-look", "text"]
    assert [(part["toolCallId"], part["state"], part["input"]) for part in parts[1:3]] == [
        ("c", "output-available", {"q": "rice"}),
        ("c#2", "input-available", {}),
    ]
    assert parts[1]["output"] == "twice"
    assert messages_of(read)["r2"]["metadata"]["open-webui"]["content"].endswith("Yes.")
    assert read.current is None


def test_a_bare_chat_is_named_by_its_first_message() -> None:
    read = read_sample("open-webui/bare.json")
    assert (read.session_id, read.current) == ("open-webui:b1", "b2")
    assert messages_of(read)["b2"]["metadata"] == {"model": "leaf-7b", "open-webui": {"usage": {"total_tokens": 9}}}


def test_a_chat_with_a_flat_list_alone_is_a_line(tmp_path: Path) -> None:
    flat: list[Any] = [{"role": "user", "content": "A"}, {"role": "assistant", "content": "B"}, 3]
    [read] = read_value(tmp_path, [{"id": "c", "title": "T", "chat": {"messages": flat}}])
    assert [row.message["parts"][0]["text"] for row in read.rows] == ["A", "B"]
    assert [row.parent_id for row in read.rows] == [None, read.rows[0].message["id"]]


UNCHANGED = [
    "plain",
    "<details type='reasoning'>other quotes</details>",
    "<details><summary>A list</summary>of things</details>",
    '<details type="reasoning">without an end',
    "a < b and <details",
    '<details type="code_interpreter">x</details>',
]


@pytest.mark.parametrize("text", UNCHANGED, ids=range(len(UNCHANGED)))
def test_other_text_stays(text: str) -> None:
    assert express_details(text) == [{"type": "text", "text": text}]
    assert without_details(text) == text


def test_a_tool_without_a_name_is_kept_whole() -> None:
    text = '<details type="tool_calls"><summary>Tool Executed</summary>"18"</details>Warm.'
    assert express_details(text) == [
        {"type": "data-open-webui-details", "data": text.removesuffix("Warm.")},
        {"type": "text", "text": "Warm."},
    ]


def test_many_openings_take_linear_time() -> None:
    text = '<details type="reasoning">' * 40_000
    start = time.process_time()
    assert express_details(text) == [{"type": "text", "text": text}]
    many = express_details('<details type="reasoning">x</details>y' * 20_000)
    assert len(many) == 40_000
    assert time.process_time() - start < 5
