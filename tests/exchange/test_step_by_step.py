"""Imports that went wrong elsewhere, step by step: each is done here as a person would, and ends well."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from eventstore import Sessions
from eventstore.exchange.files import import_file
from eventstore.reports import ImportReport
from tests.cli.running import run
from tests.exchange.laws import FOLDER, counts_of

TIME = "2026-01-01T09:00:00.000000Z"
MESSAGES = "ai-sdk:c"


def ui(message_id: str, *parts: dict[str, Any], role: str = "assistant") -> dict[str, Any]:
    return {"id": message_id, "role": role, "parts": [*parts]}


def tool(call_id: str, input: Any, output: Any) -> dict[str, Any]:
    return {"type": "tool-find", "toolCallId": call_id, "state": "output-available", "input": input, "output": output}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def claude(message_id: str, sender: str, said: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": said}]
    return {"uuid": message_id, "sender": sender, "text": said, "content": content, "created_at": TIME, **more}


def entry(message_id: str, parent: str | None) -> dict[str, Any]:
    return {"message": ui(message_id, text(message_id)), "parentId": parent}


def imported(sessions: Sessions, folder: Path, value: Any) -> ImportReport:
    """What became of the one conversation in a file of this JSON."""
    path = folder / "export"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    [(_, report)] = import_file(sessions, path)
    return report


def parents(sessions: Sessions, name: str = MESSAGES) -> dict[str, str | None]:
    return {info.id: info.parent_id for info in sessions.session(name).tree()}


# ---- trees


def test_a_circle_of_parents_and_a_message_that_is_its_own(sessions: Sessions, tmp_path: Path) -> None:
    report = imported(sessions, tmp_path, {"id": "c", "messages": [entry("x", "y"), entry("y", "x"), entry("z", "z")]})
    assert parents(sessions) == {"x": None, "y": "x", "z": None}
    assert [what for what, _ in report.skipped] == ["parent of 'x'", "parent of 'z'"]
    for leaf in sessions.session(MESSAGES).get_leaves():
        assert sessions.session(MESSAGES).get_history(leaf_id=leaf.id)[-1]["id"] == leaf.id


def test_parents_that_were_never_written(sessions: Sessions, tmp_path: Path) -> None:
    names = [f"m{number}" for number in range(100)]
    lost = {"m20": "gone", "m50": "gone too", "m80": "gone"}
    rows = [entry(name, lost.get(name, before)) for before, name in pairwise(["", *names])]
    rows[0]["parentId"] = None
    report = imported(sessions, tmp_path, {"id": "c", "messages": rows})
    assert report.imported == 100
    assert {what for what, _ in report.skipped} == {f"parent of {name!r}" for name in lost}
    session = sessions.session(MESSAGES)
    reached = [message["id"] for leaf in session.get_leaves() for message in session.history(leaf_id=leaf.id)]
    assert sorted(reached) == sorted(names)


def test_a_line_of_thousands_of_messages(sessions: Sessions, tmp_path: Path) -> None:
    names = [f"m{number}" for number in range(5_000)]
    imported(sessions, tmp_path, {"id": "c", "messages": [ui(name, text(name)) for name in names]})
    session = sessions.session(MESSAGES)
    assert [info.id for info in session.tree()] == names
    assert [message["id"] for message in session.history()] == names
    assert [message["id"] for message in session.get_branches("m2500")] == ["m2501"]
    [found] = session.search("m4321")
    assert [message["id"] for message in session.get_history(leaf_id=found.id)] == names[:4322]


def test_several_first_messages(sessions: Sessions, tmp_path: Path) -> None:
    root = "00000000-0000-0000-0000-000000000000"
    rows = [("a", root, True), ("a1", "a", False), ("b", root, True), ("b1", "b", False)]
    listed = [
        {"messageId": id, "parentMessageId": parent, "isCreatedByUser": by_user, "text": id}
        for id, parent, by_user in rows
    ]
    imported(sessions, tmp_path, {"conversationId": "c", "exportAt": "10:00", "recursive": False, "messages": listed})
    assert parents(sessions, "librechat:c") == {"a": None, "a1": "a", "b": None, "b1": "b"}
    session = sessions.session("librechat:c")
    assert [[m["id"] for m in session.get_history(leaf_id=leaf)] for leaf in ("a1", "b1")] == [["a", "a1"], ["b", "b1"]]


# ---- import and export


def test_branches_times_and_models_through_import_and_export(sessions: Sessions, tmp_path: Path) -> None:
    path, out = FOLDER / "three-conversations.json", tmp_path / "out.jsonl"
    list(import_file(sessions, path))
    given = sessions.session("chatgpt:garden")
    assert counts_of(given) == (6, 2, 3)
    assert len({info.created_at for info in given.tree()}) > 1
    assert given.get_metadata()["model"]
    assert run("export", "chatgpt:garden", "--db", tmp_path / "conversations.db", "-o", out).exit_code == 0
    with Sessions(tmp_path / "other.db") as other:
        list(import_file(other, out))
        again = other.session("chatgpt:garden")
        assert again.get_metadata() == given.get_metadata()
        for mine, theirs in zip(given.tree(), again.tree(), strict=True):
            assert (mine.id, mine.parent_id, mine.created_at) == (theirs.id, theirs.parent_id, theirs.created_at)
            assert given.get_message(mine.id) == again.get_message(mine.id)


def test_question_and_answer_of_one_time(sessions: Sessions, tmp_path: Path) -> None:
    listed = [claude(id, sender, id) for id, sender in (("q2", "human"), ("a9", "assistant"), ("q1", "human"))]
    imported(sessions, tmp_path, [{"uuid": "c", "chat_messages": [*listed, claude("a0", "assistant", "So.")]}])
    session = sessions.session("claude-ai:c")
    assert [message["id"] for message in session.get_history()] == ["q2", "a9", "q1", "a0"]
    assert len({info.created_at for info in session.tree()}) == 1


def test_the_same_export_again_and_a_later_one(sessions: Sessions, tmp_path: Path) -> None:
    first = [claude("q", "human", "Hello"), claude("a", "assistant", "Hi")]
    export = {"uuid": "c", "name": "Greeting", "updated_at": TIME, "chat_messages": first}
    assert imported(sessions, tmp_path, [export]).imported == 2
    seq = sessions.latest_seq
    assert imported(sessions, tmp_path, [export]) == ImportReport(0, 2)
    assert sessions.latest_seq == seq
    later = [*first, claude("q2", "human", "And you?"), claude("a2", "assistant", "Fine.")]
    report = imported(
        sessions,
        tmp_path,
        [{**export, "name": "How are you", "updated_at": "2026-01-02T09:00:00Z", "chat_messages": later}],
    )
    assert (report.imported, report.known) == (2, 2)
    assert sessions.session("claude-ai:c").get_metadata()["title"] == "How are you"


PICTURE = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"}
VOICE = [{"content_type": "audio_transcription", "text": "Hello"}, {"content_type": "audio_asset_pointer"}]


@pytest.mark.parametrize(
    ("kind", "parts", "said"),
    [
        pytest.param("multimodal_text", ["a", PICTURE, None, 5], 4, id="pictures"),
        pytest.param("multimodal_text", VOICE, 2, id="voice"),
        pytest.param("voice_of_tomorrow", ["a", 7], 1, id="unknown"),
    ],
)
def test_parts_that_are_no_text(sessions: Sessions, tmp_path: Path, kind: str, parts: list[Any], said: int) -> None:
    message = {"id": "u", "author": {"role": "user"}, "content": {"content_type": kind, "parts": parts}}
    mapping: dict[str, Any] = {"u": {"id": "u", "message": message, "parent": None, "children": []}}
    imported(sessions, tmp_path, [{"conversation_id": "c", "mapping": mapping, "current_node": "u"}])
    found = sessions.session("chatgpt:c").get_message("u")
    assert found is not None
    assert len(found["parts"]) == said
    kept = json.dumps(found["parts"])
    assert all(json.dumps(part) in kept for part in parts)
    for form in ("markdown", "messages"):
        shown = run("export", "chatgpt:c", "--db", tmp_path / "conversations.db", "--format", form)
        assert shown.exit_code == 0
        assert "data-chatgpt-" in shown.stdout


ROWS = [
    {"type": "user", "uuid": "r0", "parentUuid": None, "sessionId": "s", "message": {"role": "user", "content": "0"}}
]
ROWS += [
    {
        **ROWS[0],
        "uuid": f"r{number}",
        "parentUuid": f"r{number - 1}",
        "message": {"role": "user", "content": f"{number}"},
    }
    for number in range(1, 9)
]


def test_a_torn_last_line_and_rubbish_inside(sessions: Sessions, tmp_path: Path) -> None:
    lines = [json.dumps(row) for row in ROWS]
    report = imported(sessions, tmp_path, "\n".join(lines)[:-20])
    assert (report.imported, [what for what, _ in report.skipped]) == (8, ["line 9"])
    assert "torn" in report.skipped[0][1]
    sessions.delete_session("claude-code:s")
    report = imported(sessions, tmp_path, "\n".join([*lines[:2], "@@rubbish@@", *lines[3:], ""]))
    assert report.imported == 8
    assert [what for what, _ in report.skipped] == ["line 3", "parent of 'r3'"]
    assert "damaged" in report.skipped[0][1]
    assert run("import", tmp_path / "export", "--db", tmp_path / "new.db", "--skipped").stdout.count("line 3") == 1


# ---- values


def half_a_pair() -> Iterator[tuple[str, Any]]:
    half = "a\ud83d b"
    yield "text", [ui("m", text(half))]
    yield "key", [ui("m", {"type": "data-x", "data": {half: 1}})]
    yield "metadata", [{**ui("m", text("A")), "metadata": {"k": half}}]
    yield "id", [ui(half, text("A"))]
    yield "title", {"id": "c", "title": half, "messages": [ui("m", text("A"))]}
    yield "name", {"id": half, "messages": [ui("m", text("A"))]}


@pytest.mark.parametrize("value", [pytest.param(value, id=where) for where, value in half_a_pair()])
def test_half_a_surrogate_pair_anywhere(sessions: Sessions, tmp_path: Path, value: Any) -> None:
    assert imported(sessions, tmp_path, value).imported == 1
    [info] = sessions.list_sessions()
    [found] = sessions.session(info.session_id).get_history()
    given = (value["messages"] if isinstance(value, dict) else value)[0]
    assert found["parts"] == given["parts"]
    assert info.metadata.get("title") == (value.get("title") if isinstance(value, dict) else None)
    database = tmp_path / "conversations.db"
    for command in (["show", info.session_id], ["tree", info.session_id], ["sessions"]):
        assert run(*command, "--db", database).exit_code == 0
    for form in ("jsonl", "messages", "markdown"):
        assert run("export", info.session_id, "--db", database, "--format", form).exit_code == 0


def test_a_nul_and_one_that_is_spelt(sessions: Sessions, tmp_path: Path) -> None:
    imported(sessions, tmp_path, {"id": "c", "messages": [ui("real", text("\0")), ui("spelt", text("\\u0000"))]})
    shown = sessions.session(MESSAGES).get_history()
    assert [message["parts"][0]["text"] for message in shown] == ["\0", "\\u0000"]


# ---- parts and calls


def test_null_and_absent_are_two_things(sessions: Sessions, tmp_path: Path) -> None:
    null = {**tool("1", {}, 1), "providerExecuted": None}
    imported(sessions, tmp_path, {"id": "c", "messages": [ui("m", null, tool("2", {}, 2))]})
    [message] = sessions.session(MESSAGES).get_history()
    assert message["parts"] == [null, tool("2", {}, 2)]


def test_two_calls_of_one_id_in_one_answer(sessions: Sessions, tmp_path: Path) -> None:
    parts = [tool("same", {"n": 1}, "one"), tool("same", {"n": 2}, "two")]
    imported(sessions, tmp_path, {"id": "c", "messages": [ui("m", *parts)]})
    [message] = sessions.session(MESSAGES).get_history()
    assert message["parts"] == parts


def rollout(*items: tuple[str, str, Any]) -> str:
    """The lines of a rollout of Codex with these (type, call_id, what it says)."""
    rows: list[Any] = [{"type": "session_meta", "timestamp": TIME, "payload": {"id": "c"}}]
    for kind, call_id, said in items:
        payload: dict[str, Any] = {"type": kind, "call_id": call_id, "name": "search", "output": said}
        payload |= {"arguments": json.dumps(said)} if kind == "function_call" else {}
        rows.append({"type": "response_item", "timestamp": TIME, "payload": payload})
    return "\n".join(map(json.dumps, rows)) + "\n"


@pytest.mark.parametrize("rounds", [False, True], ids=["at once", "in rounds"])
def test_two_calls_of_one_id_in_a_transcript(sessions: Sessions, tmp_path: Path, rounds: bool) -> None:
    calls: list[tuple[str, str, Any]] = [
        ("function_call", "search:0", {"n": 1}),
        ("function_call", "search:0", {"n": 2}),
    ]
    results: list[tuple[str, str, Any]] = [("function_call_output", "search:0", f"result {n}") for n in (1, 2)]
    items = [calls[0], results[0], calls[1], results[1]] if rounds else [*calls, *results]
    report = imported(sessions, tmp_path, rollout(*items))
    assert any("its id is used before" in why for _, why in report.skipped)
    parts = [message["parts"][0] for message in sessions.session("codex:c").get_history() if message["role"] == "tool"]
    assert [(part["input"], part["output"]) for part in parts] == [({"n": 1}, "result 1"), ({"n": 2}, "result 2")]
    assert len({part["toolCallId"] for part in parts}) == 2


# ---- order


def test_pages_of_messages_of_one_time(sessions: Sessions, tmp_path: Path) -> None:
    names = [f"m{number * 37 % 100}" for number in range(100)]
    at = {"createdAt": TIME}
    imported(sessions, tmp_path, {"id": "c", "messages": [{**ui(name, text(name)), **at} for name in names]})
    sessions.close()
    with Sessions(tmp_path / "conversations.db", read_only=True) as opened:
        session = opened.session(MESSAGES)
        assert len({info.created_at for info in session.tree()}) == 1
        paged: list[str] = []
        leaf: str | None = names[-1]
        while leaf is not None:
            page = session.get_recent_history(max_messages=7, leaf_id=leaf).messages
            paged = [message["id"] for message in page] + paged
            info = session.get_message_info(page[0]["id"])
            leaf = info.parent_id if info is not None else None
        assert paged == names == [message["id"] for message in session.get_history()]


def test_times_of_the_future_and_of_1970(sessions: Sessions, tmp_path: Path) -> None:
    times = {"a": "2999-01-01T00:00:00Z", "b": "1970-01-01T00:00:00Z", "c": "2030-01-01T00:00:00Z"}
    listed = [{**ui(name, text(name)), "createdAt": when} for name, when in times.items()]
    imported(sessions, tmp_path, {"id": "c", "messages": listed})
    assert [message["id"] for message in sessions.session(MESSAGES).get_history()] == ["a", "b", "c"]
