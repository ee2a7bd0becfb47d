"""What the laws don't say of agents' transcripts: several files, forks, answers in pieces, compactions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from eventstore import Message, Session, Sessions
from eventstore.exchange import claude_ai, claude_code, codex, pi
from eventstore.exchange.conversation import Conversation
from eventstore.exchange.files import import_file
from tests.exchange.laws import FOLDER


@pytest.fixture
def sessions() -> Iterator[Sessions]:
    with Sessions() as opened:
        yield opened


def row(uuid: str, parent: str | None, content: Any, session: str = "s", **more: Any) -> dict[str, Any]:
    """A row of Claude Code; a list of blocks is an answer's unless it holds a result."""
    said = isinstance(content, list) and not any("tool_use_id" in block for block in content)
    kind = "assistant" if said else "user"
    message = {"role": kind, "content": content, **({"id": more.pop("answer", uuid)} if said else {})}
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": session, "message": message, **more}


def write(path: Path, *rows: dict[str, Any] | str) -> Path:
    path.write_text("".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in rows))
    return path


def run(sessions: Sessions, path: Path) -> dict[str | None, tuple[int, int]]:
    return {name: (report.imported, report.known) for name, report in import_file(sessions, path)}


def ids(session: Session) -> list[str]:
    return [message["id"] for message in session.get_history(compacted=False)]


def tree(session: Session) -> dict[str, str | None]:
    return {info.id: info.parent_id for info in session.tree()}


def only(reads: Iterator[Conversation]) -> Conversation:
    [read] = reads
    return read


def message(read: Conversation, id: str) -> Message:
    [row] = read.rows_where(lambda each: each == id)
    return cast("Message", row.message)


BOUNDARY = {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None, "sessionId": "s"}
TEXT = [{"type": "text", "text": "Yes."}]


# ---- Claude Code


def test_an_answer_in_pieces_is_one_message_and_results_of_parallel_calls_follow_each_other() -> None:
    read = only(claude_code.read(FOLDER / "claude-code" / "rewind-and-compact.jsonl"))
    answer = message(read, "p2")
    assert [part["type"] for part in answer["parts"]] == ["reasoning", "text", "tool-Read", "tool-Bash"]
    assert answer["metadata"]["claude-code"]["rows"] == ["p2", "p3", "p4", "p5"]
    parents = {row.message["id"]: row.parent_id for row in read.rows}
    assert (parents["p6"], parents["p7"], parents["p8"]) == ("p2", "p6", "p7")
    [result] = message(read, "p7")["parts"]
    assert (result["toolCallId"], result["state"], result["errorText"]) == ("toolu_2", "output-error", "no such folder")
    assert result["input"] == {"command": "ls"}
    assert read.metadata["title"] == "Painting"
    assert read.current == "q12"


def test_an_answer_that_grew_is_brought_up_to_date(sessions: Sessions, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    first = [row("u", None, "Really?"), row("a1", "u", [{"type": "thinking", "thinking": "Hm."}], answer="m")]
    write(path, *first)
    assert run(sessions, path) == {"claude-code:s": (2, 0)}
    write(path, *first, row("a2", "a1", TEXT, answer="m"), row("u2", "a2", "Good."))
    assert run(sessions, path) == {"claude-code:s": (1, 2)}
    session = sessions.session("claude-code:s")
    assert ids(session) == ["u", "a1", "u2"]
    answer = session.get_message("a1")
    assert answer is not None
    assert [part["type"] for part in answer["parts"]] == ["reasoning", "text"]


def test_an_answer_that_was_edited_here_stays_as_it_is(sessions: Sessions, tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", row("a1", None, TEXT, answer="m"))
    run(sessions, path)
    session = sessions.session("claude-code:s")
    session.update_message({"id": "a1", "role": "assistant", "parts": [{"type": "text", "text": "No."}]})
    write(path, row("a1", None, TEXT, answer="m"), row("a2", "a1", TEXT, answer="m"))
    run(sessions, path)
    stored = session.get_message("a1")
    assert stored is not None
    assert [part["text"] for part in stored["parts"]] == ["No."]


def test_files_of_one_session_are_one_and_a_fork_is_another(sessions: Sessions, tmp_path: Path) -> None:
    start = [row("u", None, "Dig"), row("a", "u", TEXT)]
    write(tmp_path / "agent-1.jsonl", row("x", None, "Look", isSidechain=True, agentId="1"))
    write(tmp_path / "later.jsonl", row("u2", "a", "Deeper"), row("a2", "u2", TEXT))
    write(tmp_path / "main.jsonl", *start)
    write(tmp_path / "fork.jsonl", *({**each, "sessionId": "f"} for each in start), row("v", "a", "Wider", "f"))
    stored = run(sessions, tmp_path)
    assert stored == {"claude-code:s": (5, 0), "claude-code:f": (3, 0)}
    assert tree(sessions.session("claude-code:s")) == {"x": None, "u": None, "a": "u", "u2": "a", "a2": "u2"}
    assert ids(sessions.session("claude-code:f")) == ["u", "a", "v"]
    assert run(sessions, tmp_path) == {"claude-code:s": (0, 5), "claude-code:f": (0, 3)}


def test_an_agents_file_alone_is_never_what_is_shown(sessions: Sessions, tmp_path: Path) -> None:
    run(sessions, write(tmp_path / "main.jsonl", row("u", None, "Dig"), row("a", "u", TEXT)))
    run(sessions, write(tmp_path / "agent.jsonl", row("x", None, "Look", isSidechain=True, agentId="1")))
    session = sessions.session("claude-code:s")
    assert ids(session) == ["u", "a"]
    assert tree(session) == {"u": None, "a": "u", "x": None}


def test_a_file_that_goes_on_where_another_ended_hangs_there(sessions: Sessions, tmp_path: Path) -> None:
    run(sessions, write(tmp_path / "one.jsonl", row("u", None, "Dig"), row("a", "u", TEXT)))
    run(sessions, write(tmp_path / "two.jsonl", row("u2", "a", "Deeper")))
    assert ids(sessions.session("claude-code:s")) == ["u", "a", "u2"]


def test_a_compaction_shows_its_summary_and_what_it_preserved(sessions: Sessions, tmp_path: Path) -> None:
    kept = {"preservedSegment": {"headUuid": "u2", "tailUuid": "a2"}}
    boundary = {**BOUNDARY, "logicalParentUuid": "a2", "compactMetadata": kept}
    rows = [row("u", None, "Dig"), row("a", "u", TEXT), row("u2", "a", "Deeper"), row("a2", "u2", TEXT)]
    end = [boundary, row("c", "b", "A hole was dug.", isCompactSummary=True), row("u3", "c", "Water?")]
    run(sessions, write(tmp_path / "s.jsonl", *rows, *end))
    session = sessions.session("claude-code:s")
    assert ids(session) == ["u", "a", "u2", "a2", "u3"]
    shown = session.get_history()
    assert shown[0]["parts"] == [{"type": "text", "text": "A hole was dug."}]
    assert [each["id"] for each in shown[1:]] == ["u2", "a2", "u3"]


def test_a_compaction_without_a_summary_hides_nothing(sessions: Sessions, tmp_path: Path) -> None:
    run(sessions, write(tmp_path / "s.jsonl", row("u", None, "Dig"), row("a", "u", TEXT), BOUNDARY))
    assert [each["id"] for each in sessions.session("claude-code:s").get_history()] == ["u", "a"]


def test_a_summary_with_nothing_before_it_stays_a_message(sessions: Sessions, tmp_path: Path) -> None:
    rows = [row("c", None, "A hole was dug.", isCompactSummary=True), row("u", "c", "Water?")]
    run(sessions, write(tmp_path / "s.jsonl", *rows))
    assert ids(sessions.session("claude-code:s")) == ["c", "u"]
    assert sessions.session("claude-code:s").get_compactions() == []


def test_an_unchanged_file_is_read_again_when_the_session_was_changed(sessions: Sessions, tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", row("u", None, "Dig"), row("a", "u", TEXT))
    run(sessions, path)
    session = sessions.session("claude-code:s")
    session.delete_messages(["a"])
    assert run(sessions, path) == {"claude-code:s": (1, 1)}
    session.clear_messages()
    assert run(sessions, path) == {"claude-code:s": (2, 0)}
    sessions.delete_session("claude-code:s")
    assert run(sessions, path) == {"claude-code:s": (2, 0)}


# ---- Claude.ai


def test_a_call_and_its_result_in_one_answer_are_one_part() -> None:
    read, _ = claude_ai.read(FOLDER / "claude-ai" / "linear.json")
    parts = message(read, "b4")["parts"]
    calculated, searched = (part for part in parts if part["type"].startswith("tool-"))
    assert (calculated["state"], calculated["input"]) == ("output-available", {"expression": "350/500"})
    assert calculated["output"] == [{"type": "text", "text": "0.7"}]
    assert (searched["state"], searched["toolCallId"], searched["errorText"]) == ("output-error", "b4:3", "no network")
    assert [part["type"] for part in parts][-2:] == ["data-claude-ai-voice_note", "text"]


# ---- Codex


def test_items_come_once_and_calls_of_one_id_are_told_apart() -> None:
    read = only(codex.read(FOLDER / "codex" / "turns.jsonl"))
    texts = [part["text"] for row in read.rows for part in row.message["parts"] if part["type"] == "text"]
    assert texts == ["Be brief.", "Build a boat", "A boat.", "Paint it", "Paint it"]
    shells = [part for row in read.rows for part in row.message["parts"] if part["type"] == "tool-shell"]
    assert [(part["toolCallId"], part["state"]) for part in shells] == [
        ("call_1", "input-available"),
        ("call_1#2", "input-available"),
        ("call_1", "output-available"),
        ("call_1#2", "output-error"),
    ]
    assert read.metadata["title"] == "Boat building"
    assert read.metadata["codex"]["forked_from_id"] == "raft"


def test_a_replacement_history_is_shown_and_one_in_cipher_is_kept(sessions: Sessions) -> None:
    run(sessions, FOLDER / "codex" / "turns.jsonl")
    shown = sessions.session("codex:boat").get_history()
    assert shown[0]["parts"] == [{"type": "text", "text": "Build a boat\n\nSo far: a boat was built."}]
    assert [part["type"] for each in shown[1:] for part in each["parts"]] == [
        *("text", "text", "data-codex-hologram", "data-codex-compacted", "file")
    ]


# ---- pi


def test_compactions_and_branch_summaries_of_pi(sessions: Sessions) -> None:
    run(sessions, FOLDER / "pi" / "tree.jsonl")
    session = sessions.session("pi:tent")
    shown = session.get_history(leaf_id="0012")
    assert shown[0]["parts"] == [{"type": "text", "text": "The tent is wet."}]
    assert [each["id"] for each in shown[1:]] == ["000e", "0010", "0011", "0012"]
    summary = session.get_message("000a")
    assert summary is not None
    assert summary["parts"] == [{"type": "text", "text": "Tried a rope."}]
    assert session.get_metadata()["pi"]["labels"] == {"0012": "dry"}


def test_version_1_counts_rows_to_the_first_that_was_kept(sessions: Sessions) -> None:
    run(sessions, FOLDER / "pi" / "version-1.jsonl")
    texts = [part["text"] for each in sessions.session("pi:hut").get_history() for part in each["parts"]]
    assert texts == ["A wooden hut.", "Yes", "Built.", "Built."]


def test_rounds_that_count_their_calls_from_zero_keep_their_results() -> None:
    read = only(pi.read(FOLDER / "pi" / "tree.jsonl"))
    parts = [part for row in read.rows for part in row.message["parts"] if part["type"] == "tool-read"]
    assert [(part["toolCallId"], part["state"], part["input"]["path"]) for part in parts] == [
        ("s:0", "input-available", "manual"),
        ("s:0", "output-available", "manual"),
        ("s:0#2", "input-available", "poles"),
        ("s:0#2", "output-error", "poles"),
    ]
