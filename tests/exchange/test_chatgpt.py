"""ChatGPT's export: samples of every awkward shape, and laws over generated mappings."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from eventstore.exchange import FORMATS, chatgpt, format_of
from eventstore.exchange import read as read_any
from eventstore.exchange.conversation import Conversation, InvalidExport
from tests.exchange.mappings import (
    check_laws,
    conversation,
    conversations,
    counts,
    ids,
    left_out,
    node,
    shape,
    write_json,
)

SAMPLES = Path(__file__).parent / "samples"
START = datetime.fromtimestamp(1700000000, UTC)


def sample(name: str, *, keep_hidden: bool = False) -> list[Conversation]:
    return list(chatgpt.read(SAMPLES / name, keep_hidden=keep_hidden))


def read_one(folder: Path, value: Any, *, keep_hidden: bool = False) -> Conversation:
    [read] = chatgpt.read(write_json(folder, value), keep_hidden=keep_hidden)
    check_laws(read)
    return read


# ---- laws


def with_message(found: dict[str, Any]) -> set[str]:
    nodes = found["mapping"].items()
    return {key for key, node in nodes if isinstance(node, dict) and node.get("message") is not None}


@given(conversations)
def test_no_mapping_is_too_odd_and_no_message_is_lost_in_silence(folder: Path, found: dict[str, Any]) -> None:
    for keep_hidden in (False, True):
        read = read_one(folder, found, keep_hidden=keep_hidden)
        named = left_out(read)
        assert {*map(repr, ids(read.rows))} | {what.removeprefix("message ") for what in named} == {
            *map(repr, with_message(found))
        }
        assert len(read.rows) + len(named) == len(with_message(found))
        for row in read.rows:
            assert row.created_at.tzinfo is UTC
            assert isinstance(row.message["role"], str)
            assert all(isinstance(part["type"], str) for part in row.message["parts"])
            json.dumps(row.message, allow_nan=False)
            assert row.message["parts"] or keep_hidden


@given(conversations)
def test_kept_messages_keep_every_sound_ancestor(folder: Path, found: dict[str, Any]) -> None:
    everything = shape(read_one(folder, found, keep_hidden=True).rows)
    shown = shape(read_one(folder, found).rows)
    for key in shown:
        above = everything[key]
        while above is not None and above not in shown:
            above = everything[above]
        assert shown[key] == above
    assert list(shown) == [key for key in everything if key in shown]


@given(conversations)
def test_reading_is_repeatable(folder: Path, found: dict[str, Any]) -> None:
    path = write_json(folder, found)
    assert list(chatgpt.read(path)) == list(chatgpt.read(path))


def test_a_deep_conversation_is_read_without_recursion(tmp_path: Path) -> None:
    keys = [f"n{number}" for number in range(8_000)]
    nodes = [
        node(
            key,
            keys[number - 1] if number else None,
            "" if number % 3 else "text",
            children=keys[number + 1 : number + 2],
        )
        for number, key in enumerate(keys)
    ]
    read = read_one(tmp_path, conversation(*nodes, current_node=keys[-1]))
    assert ids(read.rows) == keys[::3]
    assert [row.parent_id for row in read.rows] == [None, *keys[:-3:3]]
    assert read.current == keys[-2]


# ---- trees


def test_three_conversations_one_without_a_mapping() -> None:
    garden, lost, soup = sample("three-conversations.json")
    assert [read.session_id for read in (garden, lost, soup)] == ["chatgpt:garden", "chatgpt:lost", "chatgpt:soup"]
    assert lost.rows == ()
    assert lost.skipped == (("conversation 2 (line 285)", "it has no mapping of messages"),)
    assert lost.metadata["title"] == "Lost entry"
    assert counts(garden) == (6, 2, 3)
    assert counts(soup) == (2, 0, 1)


def test_children_of_skipped_nodes_hang_on_the_nearest_kept_ancestor_in_their_parents_order() -> None:
    garden, _, _ = sample("three-conversations.json")
    assert shape(garden.rows) == {
        "ask": None,
        "yew": "ask",
        "beech": "ask",
        "when": "beech",
        "autumn": "when",
        "spring": "when",
    }
    assert garden.skipped == (
        ("message 'sys'", "it is hidden from the conversation"),
        ("message 'ctx'", "it is hidden from the conversation"),
        ("message 'gap'", "it is empty"),
    )
    assert garden.current == "when"  # the export shows a node that isn't kept: its nearest kept ancestor
    texts = {row.message["id"]: row.message["parts"] for row in garden.rows}
    assert texts["yew"] == texts["beech"]  # equal words are no reason to be one message


def test_keep_hidden_makes_a_message_of_every_node_that_has_one() -> None:
    garden, _, _ = sample("three-conversations.json", keep_hidden=True)
    assert counts(garden) == (9, 2, 3)
    assert ids(garden.rows)[:3] == ["sys", "ctx", "ask"]
    assert garden.rows[0].message["parts"] == []
    assert garden.rows[1].message["parts"][0]["type"] == "data-chatgpt-user_editable_context"
    assert garden.current == "gap"
    assert garden.skipped == ()


def test_system_messages_are_left_out_whatever_they_say(tmp_path: Path) -> None:
    read = read_one(tmp_path, conversation(node("s", None, "Be kind.", role="system"), node("u", "s", "Hello")))
    assert shape(read.rows) == {"u": None}
    assert read.skipped == (("message 's'", "it is a system message"),)


def test_times_are_kept_inherited_and_never_decide_the_order() -> None:
    garden, _, soup = sample("three-conversations.json")
    times = {row.message["id"]: (row.created_at - START).total_seconds() for row in garden.rows}
    assert times == {"ask": 10.125, "yew": 50, "beech": 12, "when": 12, "autumn": 1, "spring": 99}
    assert {(row.created_at - START).total_seconds() for row in soup.rows} == {0.25}  # the conversation's own


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ({"create_time": 5.5, "update_time": 9}, 5.5),
        ({"create_time": None, "update_time": 9}, 9),
        ({}, 0),
        ({"create_time": "yesterday", "update_time": True}, 0),
        ({"create_time": 1e300, "update_time": 10**400}, 0),
    ],
)
def test_without_any_time_the_conversations_is_taken_or_1970(tmp_path: Path, times: Any, expected: float) -> None:
    [row] = read_one(tmp_path, conversation(node("a", None, "text", create_time=None), **times)).rows
    assert row.created_at == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=expected)


def test_a_time_that_no_calendar_holds_stays_in_the_metadata(tmp_path: Path) -> None:
    [row] = read_one(tmp_path, conversation(node("a", None, "text", create_time=1e17))).rows
    assert row.message["metadata"]["chatgpt"]["create_time"] == 1e17


def test_damaged_trees_are_mended_by_rule_and_named() -> None:
    [read] = sample("damaged-tree.json")
    check_laws(read)
    assert shape(read.rows) == {
        "one": None,
        "two": "one",
        "lister": "two",
        "listed": "lister",
        "orphan": None,
        "orphan-child": "orphan",
        "x": None,
        "y": "x",
        "off": "y",
        "own": None,
        "below-own": "own",
    }
    assert set(read.skipped) == {
        ("node 'plain'", "it isn't an object"),
        ("message 'odd'", "it isn't an object"),
        ("parent of 'orphan'", "'never-written' is not in the file: a root, unless the session holds it"),
        ("parent of 'listed'", "'never-written-either' is not in the file: hung under 'lister', which lists it"),
        ("parent of 'x'", "it is its own ancestor: made a root"),
        ("parent of 'own'", "it is its own ancestor: made a root"),
    }
    assert len(read.skipped) == 6
    assert read.current is None  # the export shows a node that it doesn't hold


def test_the_nodes_key_is_the_id_and_a_message_id_that_differs_is_kept(tmp_path: Path) -> None:
    garden, _, _ = sample("three-conversations.json")
    when = next(row.message for row in garden.rows if row.message["id"] == "when")
    assert when["metadata"]["chatgpt"]["id"] == "when-message"
    twice = conversation(node("a", None, "first", id="same"), node("b", "a", "second", id="same"))
    assert shape(read_one(tmp_path, twice).rows) == {"a": None, "b": "a"}


@pytest.mark.parametrize("key", ["", "half \ud83d"])
def test_a_key_that_no_store_takes_is_named(tmp_path: Path, key: str) -> None:
    read = read_one(tmp_path, conversation(node("a", None, "first"), node(key, "a", "odd"), node("c", key, "third")))
    assert shape(read.rows) == {"a": None, "c": "a"}
    assert read.skipped == ((f"message {key!r}", "no store takes its key as an id"),)


# ---- parts


def test_tools_and_pictures() -> None:
    [read] = sample("tools-and-pictures.json")
    assert counts(read) == (13, 1, 2)
    assert read.skipped == ()
    said = {row.message["id"]: row.message for row in read.rows}
    assert said["look"]["parts"] == [
        {"type": "text", "text": "a"},
        {
            "type": "data-chatgpt-image_asset_pointer",
            "data": {
                "content_type": "image_asset_pointer",
                "asset_pointer": "file-service://file-a-kettle",
                "size_bytes": 2048,
                "width": 64,
                "height": 48,
            },
        },
        {"type": "data-chatgpt-part", "data": None},
        {"type": "data-chatgpt-part", "data": 5},
        {
            "type": "data-chatgpt-attachment",
            "data": {"id": "file-a-kettle", "name": "kettle.png", "mime_type": "image/png", "size": 2048},
        },
    ]
    about = {"summary": "Measuring", "chunks": [], "finished": True}
    assert said["think"]["parts"] == [
        {"type": "reasoning", "text": "I should count pixels.", "providerMetadata": {"chatgpt": about}},
        {"type": "reasoning", "text": "And add them."},
    ]
    assert said["recap"]["parts"] == [{"type": "reasoning", "text": "Thought for 4 seconds"}]
    assert [part["type"] for part in said["voice"]["parts"]] == [
        "data-chatgpt-audio_transcription",
        "data-chatgpt-audio_asset_pointer",
    ]
    assert said["new-kind"]["parts"] == [
        {"type": "data-chatgpt-hologram", "data": {"content_type": "hologram", "depth": 3, "parts": ["?"]}}
    ]
    assert said["answer"]["parts"][0]["text"] == "3,072 pixels \ue203cite\ue204turn0\ue206."


def test_calls_and_their_results_share_an_id() -> None:
    [read] = sample("tools-and-pictures.json")
    said = {row.message["id"]: row.message for row in read.rows}
    python = {"type": "tool-python", "toolCallId": "call", "input": "print(64 * 48)"}
    browser = {
        "type": "tool-browser",
        "toolCallId": "search",
        "input": {"q": "kettle", "n": 12345678901234567890123},
    }
    assert said["call"]["parts"] == [{**python, "state": "input-available"}]
    assert said["call"]["metadata"]["chatgpt"]["content"] == {"content_type": "code", "language": "python"}
    assert said["out"]["parts"] == [{**python, "state": "output-available", "output": "3072\n"}]
    assert said["out"]["role"] == "tool"
    assert said["out"]["metadata"]["author"] == "python"
    assert said["search"]["parts"] == [{**browser, "state": "input-available"}]
    assert said["page"]["parts"] == [{**browser, "state": "output-available", "output": "# Kettles"}]
    assert said["quote"]["parts"] == [{**browser, "state": "output-available", "output": "A kettle boils."}]
    assert said["quote"]["metadata"]["chatgpt"]["content"]["url"] == "https://example.org/kettles"
    # somebody has spoken since the call, and nobody ever called the computer
    assert said["late"]["parts"] == [{"type": "text", "text": "nobody asked"}]
    assert [part["type"] for part in said["state"]["parts"]] == ["data-chatgpt-computer_output"]


def call(key: str, parent: str | None, tool: str, text: str = "{}") -> dict[str, Any]:
    return node(key, parent, text, role="assistant", recipient=tool)


def result(key: str, parent: str, tool: str, **message: Any) -> dict[str, Any]:
    return node(key, parent, f"from {tool}", author={"role": "tool", "name": tool}, **message)


def calls_of(read: Conversation) -> dict[str, str | None]:
    """The call that each message of a tool belongs to."""
    results = [row.message for row in read.rows if row.message["role"] == "tool"]
    return {message["id"]: message["parts"][0].get("toolCallId") for message in results}


def test_parallel_calls_of_different_tools_each_have_their_result(tmp_path: Path) -> None:
    nodes = [node("u", None, "?"), call("a", "u", "t1"), call("b", "a", "t2"), result("ra", "b", "t1")]
    assert calls_of(read_one(tmp_path, conversation(*nodes, result("rb", "ra", "t2")))) == {"ra": "a", "rb": "b"}


def test_a_call_is_answered_on_each_branch_and_on_no_other(tmp_path: Path) -> None:
    nodes = [
        node("u", None, "?"),
        call("a", "u", "t"),
        result("one", "a", "t"),
        result("two", "a", "t"),
        call("b", "u", "t"),
        result("three", "b", "t"),
        result("none", "u", "t"),
    ]
    read = read_one(tmp_path, conversation(*nodes))
    assert calls_of(read) == {"one": "a", "two": "a", "three": "b", "none": None}


def test_every_round_pairs_with_its_own_call(tmp_path: Path) -> None:
    nodes = [call("a", None, "t"), result("ra", "a", "t"), call("b", "ra", "t"), result("rb", "b", "t")]
    unanswered = [call("c", "rb", "t"), call("d", "c", "t"), result("rd", "d", "t")]
    assert calls_of(read_one(tmp_path, conversation(*nodes, *unanswered))) == {"ra": "a", "rb": "b", "rd": "d"}


def test_thinking_between_call_and_result_is_not_speaking(tmp_path: Path) -> None:
    thought = node("think", "a", role="assistant", content={"content_type": "thoughts", "parts": ["Hm."]})
    assert calls_of(read_one(tmp_path, conversation(call("a", None, "t"), thought, result("r", "think", "t")))) == {
        "r": "a"
    }


def test_a_result_that_is_more_than_text_is_the_output_as_it_stands(tmp_path: Path) -> None:
    picture = {"content_type": "multimodal_text", "parts": [{"content_type": "image_asset_pointer"}]}
    read = read_one(tmp_path, conversation(call("a", None, "t"), result("r", "a", "t", content=picture)))
    assert read.rows[1].message["parts"][0]["output"] == picture


def test_an_empty_result_is_left_out_like_any_empty_message(tmp_path: Path) -> None:
    empty = {"content_type": "text", "parts": [""]}
    nodes = [call("a", None, "t"), result("r", "a", "t", content=empty), result("s", "r", "t")]
    read = read_one(tmp_path, conversation(*nodes))
    assert read.skipped == (("message 'r'", "it is empty"),)
    assert calls_of(read) == {"s": "a"}


@pytest.mark.parametrize("text", ["{not json", '{"loss": NaN}', "[1]", "plain", '{"a":' * 600 + "1" + "}" * 600])
def test_a_call_whose_text_is_no_object_has_the_text_as_its_input(tmp_path: Path, text: str) -> None:
    [row] = read_one(tmp_path, conversation(call("a", None, "t", text))).rows
    assert row.message["parts"][0]["input"] == text


@pytest.mark.parametrize(
    "content",
    [
        None,
        {},
        {"content_type": "text"},
        {"content_type": "text", "parts": None},
        {"content_type": "thoughts", "thoughts": []},
        {"content_type": "text", "parts": []},
        {"content_type": "text", "parts": ["", ""]},
        "",
        [],
    ],
)
def test_an_empty_content_is_left_out(tmp_path: Path, content: Any) -> None:
    read = read_one(tmp_path, conversation(node("a", None, content=content)))
    assert read.rows == ()
    assert read.skipped == (("message 'a'", "it is empty"),)


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("bare", [{"type": "text", "text": "bare"}]),
        (7, [{"type": "data-chatgpt-part", "data": 7}]),
        ({"content_type": ["odd"]}, [{"type": "data-chatgpt-part", "data": {"content_type": ["odd"]}}]),
        ({"parts": ["x"]}, [{"type": "text", "text": "x"}]),
        (
            {"content_type": "text", "text": "elsewhere"},
            [{"type": "data-chatgpt-text", "data": {"content_type": "text", "text": "elsewhere"}}],
        ),
        (
            {"content_type": "thoughts", "thoughts": [{"content": 3}]},
            [{"type": "data-chatgpt-thought", "data": {"content": 3}}],
        ),
    ],
)
def test_contents_of_another_shape_are_kept_as_data(tmp_path: Path, content: Any, parts: list[Any]) -> None:
    [row] = read_one(tmp_path, conversation(node("a", None, content=content))).rows
    assert row.message["parts"] == parts


def test_lone_surrogates_and_nul_characters_come_through(tmp_path: Path) -> None:
    text = "half \ud83d, nul \0, spelt \\u0000"
    read = read_one(tmp_path, conversation(node("a", None, text), title=text))
    assert read.rows[0].message["parts"] == [{"type": "text", "text": text}]
    assert read.metadata["title"] == text


# ---- metadata


def test_metadata_of_messages_and_conversation() -> None:
    garden, _, soup = sample("three-conversations.json")
    beech = next(row.message for row in garden.rows if row.message["id"] == "beech")
    assert beech["metadata"] == {
        "model": "gpt-garden-mini",
        "chatgpt": {"status": "finished_successfully", "weight": 1.0, "recipient": "all"},
    }
    assert garden.metadata == {
        "title": "Planting a hedge",
        "model": "gpt-garden",
        "created_at": "2023-11-14T22:13:20.250000+00:00",
        "updated_at": "2023-11-14T22:28:20.500000+00:00",
        "chatgpt": {"conversation_id": "garden", "id": "garden", "is_archived": False},
    }
    assert "updated_at" not in soup.metadata


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ({"conversation_id": "c", "id": "i"}, "chatgpt:c"),
        ({"conversation_id": None, "id": "i"}, "chatgpt:i"),
        ({"conversation_id": "", "id": "half \ud83d"}, "chatgpt:first"),
        ({"conversation_id": 5}, "chatgpt:first"),
    ],
)
def test_the_session_is_named_by_the_conversation_or_by_its_first_message(
    tmp_path: Path, names: Any, expected: str
) -> None:
    found = {"mapping": {key: node(key, None, text) for key, text in {"empty": "", "first": "x"}.items()}, **names}
    assert read_one(tmp_path, found).session_id == expected


# ---- files


def test_a_conversation_alone_is_read_as_a_list_of_one(tmp_path: Path) -> None:
    found = conversation(node("a", None, "text"))
    assert list(chatgpt.read(write_json(tmp_path, found))) == list(chatgpt.read(write_json(tmp_path, [found])))
    assert list(chatgpt.read(write_json(tmp_path, []))) == []


def test_what_is_no_conversation_among_conversations_is_named(tmp_path: Path) -> None:
    found = conversation(node("a", None, "text"))
    read = list(chatgpt.read(write_json(tmp_path, [found, None, {"uuid": 1}, {**found, "mapping": []}, found])))
    assert [len(each.rows) for each in read] == [1, 0, 0, 0, 1]
    assert [each.skipped for each in read[1:4]] == [
        (("conversation 2 (line 1)", "it isn't a conversation"),),
        (("conversation 3 (line 1)", "it isn't a conversation"),),
        (("conversation 4 (line 1)", "it has no mapping of messages"),),
    ]


def test_a_torn_file_gives_what_is_whole_and_then_an_error() -> None:
    read = chatgpt.read(SAMPLES / "torn.json")
    assert next(read).session_id == "chatgpt:garden"
    with pytest.raises(InvalidExport) as caught:
        next(read)
    assert (caught.value.path, caught.value.line) == (str(SAMPLES / "torn.json"), 340)


def test_rubbish_inside_is_reported_where_it_is() -> None:
    read = chatgpt.read(SAMPLES / "rubbish-inside.json")
    assert next(read).session_id == "chatgpt:soup"
    with pytest.raises(InvalidExport, match=r"rubbish-inside\.json, line 143: "):
        next(read)


@pytest.mark.parametrize(
    ("name", "line"), [("another-kind.json", 2), ("notes.txt", 1), ("empty.json", 1), ("number.json", 1)]
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, name: str, line: int) -> None:
    (tmp_path / "notes.txt").write_text("dear diary")
    (tmp_path / "empty.json").write_text("")
    (tmp_path / "number.json").write_text("[5]")
    path = SAMPLES / name if (SAMPLES / name).exists() else tmp_path / name
    for reader, where in ((chatgpt.read, line), (read_any, None)):
        with pytest.raises(InvalidExport) as caught:
            list(reader(path))
        assert (caught.value.path, caught.value.line) == (str(path), where)


@pytest.mark.parametrize(
    "name", ["three-conversations.json", "damaged-tree.json", "tools-and-pictures.json", "torn.json"]
)
def test_the_format_is_told_by_content_and_not_by_name(tmp_path: Path, name: str) -> None:
    copy = tmp_path / "letters.txt"
    copy.write_bytes((SAMPLES / name).read_bytes())
    assert format_of(copy) is chatgpt
    assert next(read_any(copy)) == sample_head(name)


def sample_head(name: str) -> Conversation:
    return next(chatgpt.read(SAMPLES / name))


def test_a_conversation_without_a_mapping_is_recognised_too() -> None:
    assert chatgpt.recognises(b'[{"title": "Lost", "create_time": 1.0, "conversation_id": "lost"}]')
    assert not chatgpt.recognises(b'{"conversation_id": "lost"}')
    assert not chatgpt.recognises((SAMPLES / "another-kind.json").read_bytes())
    assert not chatgpt.recognises(b"")
    assert [format.FORMAT for format in FORMATS if format is chatgpt] == ["chatgpt"]
