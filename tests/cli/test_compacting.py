"""`compact`, and summaries in `tree` and `show`."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from eventstore import Session, Sessions
from eventstore.cli.compacting import covered
from tests.cli.running import json_lines, make_store, message, run

COUNT = f'{shlex.quote(sys.executable)} -c \'import sys; print("S:", sys.stdin.read().count("apple"))\''


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return make_store(
        tmp_path / "store.db", messages=[message(f"m{number}", f"apple {number}") for number in range(1, 11)]
    )


def test_it_stores_what_the_command_says(path: Path) -> None:
    ended = run("compact", "chat", "--with", COUNT, "--keep", 0, "--db", path)
    assert ended.exit_code == 0
    assert ended.output.startswith("Compacted m4 to m8: about 70 tokens became ")
    with Sessions(path) as store:
        assert [c.summary for c in store.session("chat").get_compactions()] == ["S: 5"]
        assert store.session("chat").info().messages == 10
    again = run("compact", "chat", "--with", COUNT, "--keep", 0, "--db", path)
    assert (again.exit_code, again.output) == (0, "Nothing to compact.\n")


def test_json_is_the_compaction(path: Path) -> None:
    ended = run("compact", "chat", "--with", COUNT, "--keep", 0, "--db", path, "--json")
    found = json.loads(ended.output)
    assert (found["session_id"], found["compaction"]["summary"]) == ("chat", "S: 5")
    assert found["tokens_before"] > found["tokens_after"]
    again = json.loads(run("compact", "chat", "--with", COUNT, "--db", path, "--json").output)
    assert (again["compaction"], again["tokens_before"]) == (None, again["tokens_after"])


@pytest.mark.parametrize("command", ["exit 3", "cat >/dev/null; echo S; exit 1", "true", "cat >/dev/null; echo; echo"])
def test_a_command_that_fails_or_says_nothing_changes_nothing(path: Path, command: str) -> None:
    before = path.read_bytes()
    ended = run("compact", "chat", "--with", command, "--keep", 0, "--db", path)
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert ended.stderr.endswith(f"nothing was changed: {command}\n")
    assert path.read_bytes() == before


def test_there_must_be_a_file_and_a_session(path: Path, tmp_path: Path) -> None:
    assert run("compact", "chat", "--with", "cat", "--db", tmp_path / "none.db").exit_code == 1
    assert not (tmp_path / "none.db").exists()
    assert run("compact", "nobody", "--with", "cat", "--db", path).exit_code == 1


def test_tree_and_show_show_summaries(path: Path) -> None:
    with Sessions(path) as store:
        store.session("chat").add_compaction("they counted", "m2", "m3")
        store.session("chat").add_compaction("and went on", "m4", "m6")
    lines = run("tree", "chat", "--db", path).output.splitlines()
    above = [index for index, line in enumerate(lines) if "summary of" in line]
    assert ["2 messages: they counted" in lines[above[0]], "3 messages: and went on" in lines[above[1]]] == [True, True]
    assert ["m2" in lines[above[0] + 1], "m4" in lines[above[1] + 1]] == [True, True]
    tree = json.loads(run("tree", "chat", "--db", path, "--json").output)
    assert [each["summary"] for each in tree["compactions"]] == ["they counted", "and went on"]
    shown = json_lines(run("show", "chat", "--db", path, "--compacted", "--json").output)
    assert [each["parts"][0]["text"] for each in shown][:4] == ["apple 1", "they counted", "and went on", "apple 7"]
    assert len(json_lines(run("show", "chat", "--db", path, "--json").output)) == 10
    assert "a summary" in run("show", "chat", "--db", path, "--compacted").output
    assert run("show", "chat", "--db", path, "--compacted", "--all").exit_code == 2


@pytest.mark.parametrize("read", ["get_history_row_stats", "get_history", "get_compactions"])
@pytest.mark.parametrize(
    "write",
    [
        lambda chat: chat.append_message(message("new", "pear")),
        lambda chat: chat.append_message(message("new", "pear"), parent_id="m1"),
        lambda chat: chat.delete_messages(["m4", "m5", "m6"]),
        lambda chat: chat.delete_messages(["m1", "m3", "m10"]),
        lambda chat: chat.add_compaction("all", "m1", "m9"),
        lambda chat: chat.clear_messages(),
    ],
)
def test_others_may_write_while_summaries_are_looked_at(
    path: Path, monkeypatch: pytest.MonkeyPatch, read: str, write: Callable[[Session], object]
) -> None:
    """Each of the reads is of a later state than the one before."""
    with Sessions(path) as store:
        chat = store.session("chat")
        chat.add_compaction("they counted", "m2", "m3")
        chat.add_compaction("and went on", "m4", "m6")
        original = getattr(Session, read)

        def read_and_write(session: Session, **options: Any) -> Any:
            found = original(session, **options)
            monkeypatch.undo()
            write(chat)
            return found

        monkeypatch.setattr(Session, read, read_and_write)
        found = covered(chat)
    there = [f"m{number}" for number in range(1, 11)]
    assert all(each.message_ids for each in found)
    assert all(there.index(each.message_ids[0]) < there.index(later.message_ids[0]) for each, later in pairwise(found))
