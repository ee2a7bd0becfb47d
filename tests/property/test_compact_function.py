"""Compactions as `create_compact_function` makes them, again and again over growing conversations with tools: what the
model reads afterwards makes sense, and nothing is summarised twice or lost."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from eventstore import Message, Sessions, create_compact_function

TEXT, CALLS, APART, WHOLE = "text", "calls", "apart", "whole"
CALL_IDS = st.lists(st.sampled_from(["k1", "k2", "k3"]), min_size=1, max_size=3)  # calls of one turn may share one
TURNS = st.lists(
    st.one_of(
        st.tuples(st.just(TEXT), st.sampled_from(["user", "assistant"])),
        st.tuples(st.just(CALLS), CALL_IDS),  # parallel calls in one message, their results in the next
        st.tuples(st.just(APART), CALL_IDS),  # a message for each call, then one for each result
        st.tuples(st.just(WHOLE), CALL_IDS),  # AI SDK parts that hold call and result
        st.tuples(st.just("compact"), st.just("")),
        st.tuples(st.just("compact"), st.just("")),
        st.tuples(st.just("delete"), st.integers(0, 40)),
    ),
    max_size=30,
)


def call(call_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool-search", "toolCallId": call_id, "state": "input-available", "input": {"q": call_id}, **more}


def result(call_id: str) -> dict[str, Any]:
    return {"type": "tool-search", "toolCallId": call_id, "state": "output-available", "output": "found"}


def turn(kind: str, what: Any) -> list[tuple[str, list[dict[str, Any]]]]:
    """(role, parts) of the messages of a turn. Call ids come again in later turns."""
    match kind:
        case "text":
            return [(what, [{"type": "text", "text": "words"}])]
        case "calls":
            return [("assistant", [call(each) for each in what]), ("tool", [result(each) for each in what])]
        case "apart":
            calls = [("assistant", [call(each)]) for each in what]
            return calls + [("tool", [result(each)]) for each in what]
        case _:
            return [("assistant", [{**call(each), "state": "output-available", "output": "found"} for each in what])]


def unpaired(messages: list[Message]) -> list[str]:
    """Calls without a result and results without a call, by the simplest reading: a result answers what is open."""
    open_calls: dict[str, list[str]] = {}
    wrong = []
    for message in messages:
        for part in message["parts"]:
            if "toolCallId" not in part or ("input" in part and "output" in part):
                continue
            same_id = open_calls.setdefault(part["toolCallId"], [])
            if "input" in part:
                same_id.append(message["id"])
            elif same_id:
                same_id.pop()
            else:
                wrong.append(f"result in {message['id']}")
    return wrong + [f"call in {message_id}" for same_id in open_calls.values() for message_id in same_id]


@given(turns=TURNS, keep=st.sampled_from([0, 30, 100]))
@settings(max_examples=150, deadline=None)
def test_compactions_over_tool_traffic(turns: list[tuple[str, Any]], keep: int) -> None:
    prompts: list[str] = []

    def summarize(prompt: str) -> str:
        prompts.append(prompt)
        return f"summary-{len(prompts)}!"

    with Sessions() as store:
        session = store.session().on_compaction(create_compact_function(summarize, keep_recent_tokens=keep))
        count = 0
        deleted = False
        for kind, what in turns:
            if kind == "compact":
                before = session.get_history()
                asked = len(prompts)
                done = session.compact()
                after = session.get_history()
                if done is None:
                    assert (after, len(prompts)) == (before, asked)
                    continue
                check_compaction(before, after, prompts[-1])
                assert len(prompts) == asked + 1
            elif kind == "delete":
                raw = session.get_history(compacted=False)
                texts = [m["id"] for m in raw if m["parts"][0]["type"] == "text"]
                if texts:
                    deleted = True
                    session.delete_messages([texts[what % len(texts)]])
            else:
                for role, parts in turn(kind, what):
                    count += 1
                    session.append_message({"id": f"m{count}", "role": role, "parts": parts})
            if unpaired(session.get_history(compacted=False)) == []:
                assert unpaired(session.get_history()) == []
        raw_ids = [m["id"] for m in session.get_history(compacted=False)]
        assert len(raw_ids) == count or deleted
        assert store.verify().ok


def check_compaction(before: list[Message], after: list[Message], prompt: str) -> None:
    """One run of entries was replaced by one summary; the head and the last two stayed, and every summary in the run
    went into the prompt, in order, once."""
    start = next(i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b)
    kept = len(after) - start - 1
    assert start >= 3
    assert kept >= 2
    assert before[len(before) - kept :] == after[start + 1 :]
    replaced = before[start : len(before) - kept]
    earlier = [m["parts"][0]["text"] for m in replaced if m["id"].startswith("compaction_")]
    assert re.findall(r"summary-\d+!", prompt) == earlier
    assert len(replaced) > len(earlier)
