"""What the prompt for a summary holds, for each kind of part, and what it leaves out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from eventstore import CompactResult, Message, create_compact_function
from eventstore.prompt import SHOWN_OF_A_VALUE, build_prompt
from eventstore.summarizing import allowed_cuts
from eventstore.testing import messages

IMAGE = "data:image/png;base64," + "iVBORw0KGgo" * 100


def prompt_of(*parts: dict[str, Any], role: str = "assistant") -> str:
    return build_prompt([{"id": "m1", "role": role, "parts": list(parts)}], 100)


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        ({"type": "text", "text": "line one\nline two"}, ["line one\nline two"]),
        (
            {"type": "tool-search", "toolCallId": "k", "input": {"q": "fish"}, "output": {"found": [1, 2]}},
            ["[tool search]", 'input: {"q":"fish"}', 'result: {"found":[1,2]}'],
        ),
        (
            {"type": "dynamic-tool", "toolName": "weather", "toolCallId": "k", "input": {}, "errorText": "no network"},
            ["[tool weather]", "error: no network"],
        ),
        (
            {"type": "tool-call", "toolName": "calc", "toolCallId": "k", "args": {"a": 1}},
            ["[tool calc]", 'input: {"a":1}'],
        ),
        ({"type": "tool-result", "toolName": "calc", "toolCallId": "k", "result": 3}, ["[tool calc]", "result: 3"]),
        ({"type": "tool-search", "toolCallId": "k", "input": 0, "output": ""}, ["input: 0", "result: "]),
        ({"type": "tool-search", "toolCallId": "k", "input": {"q": 1}}, ["(no result yet)"]),
        (
            {"type": "file", "filename": "plan.pdf", "mediaType": "application/pdf", "url": IMAGE},
            ["[file: plan.pdf, application/pdf]"],
        ),
        ({"type": "file", "mediaType": "image/png", "url": IMAGE}, ["[file: unnamed, image/png]"]),
        (
            {"type": "file", "mediaType": "image/png", "url": "https://a.example/b.png"},
            ["[file: https://a.example/b.png, image/png]"],
        ),
        ({"type": "source-url", "sourceId": "s", "title": "A page", "url": "https://a.example"}, ["[source: A page]"]),
        ({"type": "data-chart", "id": "c", "data": {"bars": [1]}}, ['[data-chart: {"data":{"bars":[1]}}]']),
        ({"type": "erased"}, ["[erased]"]),
    ],
)
def test_each_kind_of_part_is_shown_for_what_it_is(part: dict[str, Any], shown: list[str]) -> None:
    prompt = prompt_of(part)
    for text in shown:
        assert text in prompt
    assert "iVBORw0KGgo" not in prompt


def test_reasoning_and_steps_are_left_out() -> None:
    prompt = prompt_of(
        {"type": "reasoning", "text": "secret"}, {"type": "step-start"}, {"type": "text", "text": "said"}
    )
    assert "secret" not in prompt
    assert "step-start" not in prompt
    assert "[assistant]\nsaid" in prompt


@pytest.mark.parametrize("key", ["input", "output", "errorText"])
def test_what_tools_got_and_gave_is_cut_short(key: str) -> None:
    prompt = prompt_of({"type": "tool-read", "toolCallId": "k", key: "é" * 3_000})
    assert "é" * SHOWN_OF_A_VALUE + "… (2500 more characters)" in prompt
    assert "é" * (SHOWN_OF_A_VALUE + 1) not in prompt


def test_files_in_a_tools_output_are_named_and_not_shown() -> None:
    output = {"content": [{"mediaType": "image/png", "data": "iVBORw0KGgo" * 100}, IMAGE, "a picture"]}
    prompt = prompt_of({"type": "tool-look", "toolCallId": "k", "output": output})
    assert "iVBORw0KGgo" not in prompt
    assert "characters of a file]" in prompt
    assert "a picture" in prompt


def test_earlier_summaries_come_once_each_in_order_and_say_where_they_belong() -> None:
    def summary(name: str) -> Message:
        return {"id": f"compaction_{name}", "role": "assistant", "parts": [{"type": "text", "text": f"<{name}>"}]}

    def text(name: str) -> Message:
        return {"id": name, "role": "user", "parts": [{"type": "text", "text": f"says {name}"}]}

    prompt = build_prompt([summary("one"), text("m1"), summary("two"), text("m2")], 100)
    places = [
        prompt.index(each) for each in ("<one>", "<two>", "says m1", "[here belongs earlier summary 2]", "says m2")
    ]
    assert places == sorted(places)
    assert [prompt.count(each) for each in ("<one>", "<two>", "says m1", "says m2")] == [1, 1, 1, 1]
    assert "carry on everything" in prompt
    assert "carry on everything" not in build_prompt([text("m1")], 100)


def test_it_asks_for_a_fifth_of_what_it_replaces_and_at_least_a_hundred_tokens() -> None:
    prompts: list[str] = []

    def summarize(prompt: str) -> str:
        prompts.append(prompt)
        return "S"

    compact = create_compact_function(summarize, keep_recent_tokens=0)
    for words in (1, 2_000):
        given: list[Message] = [
            {"id": f"m{n}", "role": "user", "parts": [{"type": "text", "text": "word " * words}]} for n in range(10)
        ]
        assert compact(given) == CompactResult("m3", "m7", "S")
    assert "about 100 tokens" in prompts[0]
    assert "about 2604 tokens" in prompts[1]


@given(messages())
def test_any_message_makes_a_prompt_that_utf8_can_hold(message: Message) -> None:
    prompt = build_prompt([message], 100)
    assert f"[{message['role']}]" in prompt
    prompt.encode()


def test_values_nested_deeper_than_a_stack_are_shown() -> None:
    value: Any = "deep"
    for _ in range(450):
        value = [value]
    assert "[[[[" in prompt_of({"type": "tool-x", "toolCallId": "k", "output": value})


# ---- where a history may be cut


def tool(call_id: str, *keys: str) -> dict[str, Any]:
    return {"type": "tool-x", "toolCallId": call_id, **dict.fromkeys(keys, "v")}


@pytest.mark.parametrize(
    ("history", "allowed"),
    [
        ("user | user | user", "1111"),
        ("call a | result a", "101"),
        ("call a, call b | result a | result b", "1001"),
        ("call a | call b | result a | result b", "10001"),
        ("call a | result a | call a | result a", "10101"),
        ("both a | both a", "111"),
        ("call a | both a", "101"),
        ("call a | user | result a", "1001"),
        ("call a | user", "111"),
        ("call a | text", "100"),
        ("result a | user", "111"),
        ("call a | result a | result a | user", "10011"),
        ("call a, result a | user", "111"),
        ("call a, call a | result a | result a", "1001"),
        ("call a, call a | result a, result a", "101"),
        ("call a, call a | result a | text", "1000"),
        ("call a | call a | result a | result a", "10001"),
        ("call a, call a | both a | both a | both a", "10011"),
        ("call a, call a | user | user", "1111"),
    ],
)
def test_no_cut_parts_a_call_from_its_result(history: str, allowed: str) -> None:
    given = []
    for said in history.split(" | "):
        kinds = {"call": ["input"], "result": ["output"], "both": ["input", "output"]}
        parts = [tool(part[-1], *kinds[part[:-2]]) for part in said.split(", ") if part[:-2] in kinds]
        given.append({"id": "m", "role": "user" if said == "user" else "assistant", "parts": parts})
    assert "".join(str(int(each)) for each in allowed_cuts(given)) == allowed


def test_a_call_that_never_gets_its_result_does_not_hold_up_for_ever() -> None:
    given = [{"id": "m", "role": "assistant", "parts": [tool("a", "input")]}]
    given += [{"id": "m", "role": "assistant", "parts": []} for _ in range(30)]
    assert all(allowed_cuts(given))
