"""The Agents SDK: runs of Python and of JavaScript, items of sessions, and the items of the Responses API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eventstore.exchange.response_items import express
from eventstore.exchange.tools import Call, Result
from tests.exchange.reading import messages_of, parts_of, read_rows, read_sample, read_value, texts


def test_a_run() -> None:
    read = read_sample("openai-agents/run.json")
    found = messages_of(read)
    assert read.session_id == "openai-agents:trace_keys"
    assert read.metadata == {
        "openai-agents": {
            "context": {"usage": {"requests": 1}},
            "trace": {"id": "trace_keys"},
            "current_turn": 2,
            "model_responses": [{"response_id": "resp1", "usage": {"total_tokens": 5}}],
            "schema_version": "1.4",
        }
    }
    assert [row.message["role"] for row in read.rows] == ["user", "assistant", "assistant", "tool", *["assistant"] * 4]
    assert found["rs1"]["parts"] == [
        {
            "type": "reasoning",
            "text": "Where was it?",
            "providerMetadata": {"openai": {"itemId": "rs1", "reasoningEncryptedContent": "xyz"}},
        }
    ]
    assert found["fc1"] == {
        "id": "fc1",
        "role": "assistant",
        "parts": [
            {
                "type": "tool-look",
                "toolCallId": "look:0",
                "state": "input-available",
                "input": {"q": "key"},
                "callProviderMetadata": {"openai": {"itemId": "fc1"}},
            }
        ],
        "metadata": {"author": "clerk"},
    }
    [result] = parts_of(read)[3]
    assert (result["toolCallId"], result["output"], result["input"]) == ("look:0", "on the shelf", {"q": "key"})
    assert found["cmp1"]["parts"][0]["type"] == "data-openai-agents-compaction"
    assert found["ws1"]["parts"][0]["providerExecuted"] is True


def test_what_waits_for_approval_is_the_state_of_its_call() -> None:
    [part] = messages_of(read_sample("openai-agents/run.json"))["fc2"]["parts"]
    assert (part["state"], part["approval"], part["input"]) == ("approval-requested", {"id": "look:0"}, "{not json")
    assert part["toolCallId"] == "look:0#2"


def test_an_approval_without_its_call_is_the_call(tmp_path: Path) -> None:
    raw = {"type": "function_call", "id": "f", "call_id": "c", "name": "pay", "arguments": "{}"}
    waiting = {"type": "tool_approval_item", "agent": {"name": "A"}, "raw_item": raw}
    step = {"type": "next_step_interruption", "data": {"interruptions": [waiting]}}
    [read] = read_value(tmp_path, {"$schemaVersion": "1.0", "original_input": "Pay", "current_step": step})
    assert [part["state"] for part in parts_of(read)[1]] == ["approval-requested"]


def test_a_run_of_javascript() -> None:
    read = read_sample("openai-agents/run-of-javascript.json")
    assert texts(read) == ["Ring the bell.", "tool-bell", "tool-bell", "It rang."]
    assert [part.get("output") for part in (*parts_of(read)[1], *parts_of(read)[2])] == [None, "ding"]
    assert read.metadata["openai-agents"] == {"context": {"usage": {"requests": 2}}, "schema_version": "1.0"}


def test_equal_call_ids_in_two_rounds_are_two_pairs() -> None:
    read = read_sample("openai-agents/session.jsonl")
    tools = [part for parts in parts_of(read) for part in parts if part["type"] == "tool-search"]
    assert [(part["toolCallId"], part["input"], part.get("output")) for part in tools] == [
        ("search:0", {"n": 1}, None),
        ("search:0", {"n": 1}, "one"),
        ("search:0#2", {"n": 2}, None),
        ("search:0#2", {"n": 2}, "two"),
    ]
    assert texts(read)[7:] == ["data-openai-agents-function_call_output", "tool-old", "tool-old", "I would rather not."]


def test_items_that_only_the_generated_list_holds_are_named(tmp_path: Path) -> None:
    def item(id: str) -> dict[str, Any]:
        raw = {"type": "message", "id": id, "role": "assistant", "content": [{"type": "output_text", "text": id}]}
        return {"type": "message_output_item", "raw_item": raw}

    run = {
        "$schemaVersion": "1.4",
        "original_input": "Q",
        "session_items": [item("a"), item("b")],
        "generated_items": [item("b"), item("c")],
    }
    [read] = read_value(tmp_path, run)
    assert texts(read) == ["Q", "a", "b", "c"]
    assert [what for what, _ in read.skipped] == ["item 'c'"]


def test_runs_as_lines_are_a_conversation_each(tmp_path: Path) -> None:
    runs = [{"$schemaVersion": "1.0", "original_input": text, "generated_items": []} for text in "AB"]
    assert [texts(read) for read in read_rows(tmp_path, *runs)] == [["A"], ["B"]]


ITEMS: list[tuple[dict[str, Any], str, list[Any]]] = [
    ({"role": "user", "content": "t"}, "user", [{"type": "text", "text": "t"}]),
    ({"role": "user", "content": None}, "user", []),
    (
        {"role": "developer", "content": [{"type": "input_file", "file_data": "AA==", "filename": "a.pdf"}]},
        "system",
        [
            {
                "type": "file",
                "mediaType": "application/octet-stream",
                "url": "data:application/octet-stream;base64,AA==",
                "filename": "a.pdf",
            }
        ],
    ),
    (
        {"role": "user", "content": [{"type": "input_image", "file_id": "f"}, 5]},
        "user",
        [
            {"type": "data-x-input_image", "data": {"type": "input_image", "file_id": "f"}},
            {"type": "data-x-content", "data": 5},
        ],
    ),
    ({"type": "reasoning", "id": "__fake_id__", "summary": []}, "assistant", []),
    (
        {"type": "reasoning", "summary": [], "encrypted_content": "e"},
        "assistant",
        [{"type": "reasoning", "text": "", "providerMetadata": {"openai": {"reasoningEncryptedContent": "e"}}}],
    ),
    (
        {"type": "custom_tool_call", "call_id": "c", "name": "sh", "input": "ls"},
        "assistant",
        [Call("c", "sh", "ls", {}, "openai")],
    ),
    (
        {"type": "computer_call", "call_id": "c", "action": {"x": 1}},
        "assistant",
        [Call("c", "computer", {"x": 1}, {}, "openai")],
    ),
    (
        {"type": "mcp_call", "id": "m", "name": "n", "arguments": "{}", "error": "down"},
        "assistant",
        [
            {
                "type": "tool-n",
                "toolCallId": "m",
                "state": "output-error",
                "input": {},
                "providerExecuted": True,
                "callProviderMetadata": {"openai": {"itemId": "m"}},
                "errorText": "down",
            }
        ],
    ),
    (
        {"type": "web_search_call", "status": "completed", "action": {"query": "tea"}},
        "assistant",
        [
            Call(
                None,
                "web_search",
                {"query": "tea"},
                {"callProviderMetadata": {"openai": {"status": "completed"}}},
                "openai",
            )
        ],
    ),
    (
        {"type": "custom_tool_call", "call_id": "c", "name": "js", "input": "{}"},
        "assistant",
        [Call("c", "js", "{}", {}, "openai")],
    ),
    ({"type": "weather"}, "assistant", [{"type": "data-x-weather", "data": {"type": "weather"}}]),
]


@pytest.mark.parametrize(("item", "role", "said"), ITEMS, ids=range(len(ITEMS)))
def test_items(item: dict[str, Any], role: str, said: list[Any]) -> None:
    found = express(item, "x")
    assert (found.role, found.said) == (role, said)


def test_a_result_keeps_what_it_says_if_it_has_no_call() -> None:
    item = {"type": "computer_call_output", "call_id": "c", "output": {"type": "picture"}}
    [result] = express(item, "x").said
    assert isinstance(result, Result)
    assert (result.output, result.alone) == (item["output"], {"type": "data-x-computer_call_output", "data": item})


ONE, TWO = ({"type": "input_text", "text": text} for text in ("A", "B"))


@pytest.mark.parametrize(
    ("output", "told", "failed"),
    [
        ("A", "A", False),
        ([ONE], "A", False),
        ([ONE, TWO], [ONE, TWO], False),
        ([{**ONE, "note": "n"}], [{**ONE, "note": "n"}], False),
        ({"content": "no net", "success": False}, "no net", True),
        ({"content": "ok", "success": True}, {"content": "ok", "success": True}, False),
        (None, None, False),
    ],
    ids=range(7),
)
def test_what_came_of_a_call(output: Any, told: Any, failed: bool) -> None:
    [result] = express({"type": "function_call_output", "call_id": "c", "output": output}, "x").said
    assert isinstance(result, Result)
    assert (result.output, result.failed) == (told, failed)
