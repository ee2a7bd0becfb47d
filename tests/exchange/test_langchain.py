"""LangChain's messages in all three spellings, their calls and their removals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.exchange.reading import messages_of, parts_of, read_rows, read_sample, read_value, texts


def human(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "human", "data": {"type": "human", "content": text, **more}}


def test_the_three_spellings_say_the_same(tmp_path: Path) -> None:
    dicts, dumped = read_sample("langchain/messages.json"), read_sample("langchain/dumped.json")
    assert [*dicts.rows] == [*dumped.rows]
    assert dicts.session_id == dumped.session_id
    [flat] = read_value(tmp_path, [{"type": "human", "content": "Hi", "id": "m"}])
    [nested] = read_value(tmp_path, [human("Hi", id="m")])
    assert [*flat.rows] == [*nested.rows]


def test_an_answer_with_its_calls() -> None:
    read = read_sample("langchain/messages.json")
    answer = messages_of(read)["a"]
    assert answer["parts"] == [
        {"type": "reasoning", "text": "Two at once.", "providerMetadata": {"langchain": {"signature": "sig"}}},
        {"type": "tool-look", "toolCallId": "c1", "state": "input-available", "input": {"q": "a"}},
        {"type": "text", "text": "Looking."},
        {"type": "tool-look", "toolCallId": "c2", "state": "input-available", "input": {"q": "b"}},
        {"type": "tool-look", "toolCallId": "c3", "state": "output-error", "input": "{q:", "errorText": "not JSON"},
    ]
    assert answer["metadata"]["model"] == read.metadata["model"] == "m-medium"


def test_results_belong_to_their_calls_whatever_their_order() -> None:
    found = messages_of(read_sample("langchain/messages.json"))
    assert found["tb"]["parts"] == [
        {"type": "tool-look", "toolCallId": "c2", "state": "output-error", "input": {"q": "b"}, "errorText": "B"}
    ]
    assert found["ta"]["parts"][0]["output"] == [{"type": "text", "text": "A1"}, {"type": "text", "text": "A2"}]
    assert found["ta"]["metadata"] == {"langchain": {"artifact": {"raw": 1}}}


def test_a_removed_message_is_left_out_and_named() -> None:
    read = read_sample("langchain/messages.json")
    assert "w" not in messages_of(read)
    assert ("message 'w'", "a later message removes it") in read.skipped
    assert ("removal of 'never'", "no message before it has this id") in read.skipped
    parents = {row.message["id"]: row.parent_id for row in read.rows}
    assert (parents["h"], parents["a"]) == ("s", "h")


def test_everything_can_be_removed(tmp_path: Path) -> None:
    rows = [
        human("A", id="a"),
        human("B"),
        {"type": "remove", "data": {"id": "__remove_all__", "content": ""}},
        human("C"),
    ]
    [read] = read_value(tmp_path, rows)
    assert (texts(read), len(read.skipped)) == (["C"], 2)


def test_threads_have_the_names_of_their_own() -> None:
    assert [read_sample("langchain/threads.jsonl", n).session_id for n in (0, 1)] == ["langchain:th1", "langchain:th2"]


def test_pictures_and_files_in_all_spellings(tmp_path: Path) -> None:
    blocks = [
        {"type": "image", "source_type": "base64", "mime_type": "image/gif", "data": "R0lG"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}},
        {"type": "image_url", "image_url": "https://e.org/a.webp"},
        {"type": "file", "url": "https://e.org/a.pdf", "filename": "a.pdf"},
        {"type": "audio", "id": "x"},
    ]
    [read] = read_value(tmp_path, [human(blocks, id="m")])  # type: ignore[arg-type]
    assert [part.get("url", part["type"]) for part in parts_of(read)[0]] == [
        "data:image/gif;base64,R0lG",
        "data:image/png;base64,iVBO",
        "https://e.org/a.webp",
        "https://e.org/a.pdf",
        "data-langchain-audio",
    ]


def test_a_torn_last_line_and_a_damaged_one_are_named(tmp_path: Path) -> None:
    [read] = read_rows(tmp_path, human("A"), "rubbish\n", human("B"), '{"type": "human", "da')
    assert texts(read) == ["A", "B"]
    assert [what for what, _ in read.skipped] == ["line 2", "line 4"]
    assert "damaged" in read.skipped[0][1]
    assert "torn" in read.skipped[1][1]
