"""pydantic-ai's messages: speakers apart, calls with their results, files."""

from __future__ import annotations

from pathlib import Path

from tests.exchange.reading import parts_of, read_rows, read_sample, read_value, texts

SPEAKERS = [
    "system",
    "user",
    "assistant",
    "tool",
    "user",
    "assistant",
    "user",
    "assistant",
    "tool",
    "user",
    "assistant",
]


def test_each_run_of_one_speaker_is_a_message() -> None:
    read = read_sample("pydantic-ai/messages.json")
    assert [row.message["role"] for row in read.rows] == SPEAKERS
    assert [row.parent_id for row in read.rows[1:]] == [row.message["id"] for row in read.rows[:-1]]
    assert len({row.message["id"] for row in read.rows}) == len(SPEAKERS)
    assert [row.created_at.isoformat()[11:19] for row in read.rows[:3]] == ["11:59:00", "11:59:01", "12:00:00"]
    assert read.metadata == {"model": "m-tiny"}
    assert read.rows[2].message["metadata"] == {"model": "m-tiny", "pydantic-ai": {"usage": {"input_tokens": 1}}}


def test_a_prompt_with_a_picture() -> None:
    assert parts_of(read_sample("pydantic-ai/messages.json"))[1] == [
        {"type": "text", "text": "Roll dice"},
        {
            "type": "file",
            "mediaType": "image/png",
            "url": "data:image/png;base64,/+8=",
            "providerMetadata": {"pydantic-ai": {"identifier": "i1"}},
        },
        {"type": "file", "mediaType": "image/png", "url": "https://example.org/d.png"},
        {"type": "data-pydantic-ai-cache-point", "data": {"kind": "cache-point", "ttl": "5m"}},
    ]


def test_calls_of_one_id_in_one_answer_and_in_the_next_round_have_their_own_results() -> None:
    parts = parts_of(read_sample("pydantic-ai/messages.json"))
    assert [(part["toolCallId"], part["input"]) for part in parts[2][1:]] == [
        ("r:0", {"n": 2}),
        ("r:0#2", {"n": 1}),
        ("r:1", None),
    ]
    assert [(part["toolCallId"], part.get("output"), part.get("errorText")) for part in parts[3]] == [
        ("r:0", [3, 4], None),
        ("r:0#2", 5, None),
        ("r:1", None, '[{"type":"missing","loc":["n"]}]'),
    ]
    assert [(part["toolCallId"], part["output"]) for part in parts[8]] == [("r:0#3", 6)]


def test_what_the_provider_ran_is_one_part() -> None:
    [search, text] = parts_of(read_sample("pydantic-ai/messages.json"))[5]
    assert (search["type"], search["state"], search["input"], search["output"], search["providerExecuted"]) == (
        "tool-web_search",
        "output-available",
        {"q": "dice"},
        ["cube"],
        True,
    )
    assert text == {"type": "text", "text": "Seven and five."}


def test_a_conversation_is_named_by_its_id(tmp_path: Path) -> None:
    request = {"kind": "request", "conversation_id": "c7", "parts": [{"part_kind": "user-prompt", "content": "Hi"}]}
    assert [read.session_id for read in read_value(tmp_path, [request])] == ["pydantic-ai:c7"]
    assert [texts(read) for read in read_rows(tmp_path, [request], [request, {"kind": "odd"}, 3])] == [["Hi"], ["Hi"]]


def test_fields_that_a_newer_library_adds_change_no_id(tmp_path: Path) -> None:
    part = {"part_kind": "user-prompt", "content": "Hi"}
    [old] = read_value(tmp_path, [{"kind": "request", "parts": [part]}])
    newer = {"kind": "request", "parts": [{**part, "timestamp": "2026-01-01T00:00:00Z", "new": None}], "state": "new"}
    [new] = read_value(tmp_path, [newer])
    assert [row.message["id"] for row in old.rows] == [row.message["id"] for row in new.rows]
    assert old.session_id == new.session_id
