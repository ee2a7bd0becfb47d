"""Rollbacks in rollouts of Codex: turns that were taken back are a branch beside what came instead."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eventstore import Message, Sessions
from eventstore.exchange import codex_turns
from eventstore.exchange.files import import_file
from tests.exchange.laws import FOLDER

KITE = FOLDER / "codex" / "rolled-back.jsonl"
ROWS = KITE.read_text().splitlines(keepends=True)
FIRST = next(number for number, row in enumerate(ROWS) if "rolled_back" in row)


@pytest.fixture
def sessions() -> Iterator[Sessions]:
    with Sessions() as opened:
        yield opened


def run(sessions: Sessions, path: Path) -> None:
    assert len(list(import_file(sessions, path))) == 1


def write(folder: Path, rows: Iterable[str]) -> Path:
    path = folder / "rollout.jsonl"
    path.write_text("".join(rows))
    return path


def texts_of(messages: Iterable[Message]) -> list[str]:
    """What messages say, those of the tools by their names."""
    return [part.get("text", part["type"]) for each in messages for part in each["parts"]]


def test_turns_that_were_rolled_back_stay_beside_what_came_instead(sessions: Sessions) -> None:
    run(sessions, KITE)
    kite = sessions.session("codex:kite")
    shown = texts_of(kite.get_history(compacted=False))
    assert shown[2:] == ["Build a kite", "A kite.", "Paint it blue", "It is blue.", "Fly it", "It flies."]
    assert texts_of(kite.get_history()) == ["So far: a blue kite.", "Fly it", "It flies."]
    flown, *beside = [texts_of(kite.get_history(leaf_id=leaf.id, compacted=False))[4:] for leaf in kite.get_leaves()]
    assert flown == shown[4:]
    notice = "<user_shell_command>\nls\n</user_shell_command>"
    red = ["Paint it red", "tool-shell", "tool-shell", "It is red.", notice, "Add a tail", "It has a tail."]
    assert sorted(beside) == [["Paint it blue", "It is blue.", "Fly it"], red]


def test_a_rollback_at_the_end_is_shown(sessions: Sessions, tmp_path: Path) -> None:
    run(sessions, write(tmp_path, ROWS[: FIRST + 1]))
    kite = sessions.session("codex:kite")
    assert texts_of(kite.get_history())[2:] == ["Build a kite", "A kite."]
    run(sessions, KITE)  # the file went on
    assert texts_of(kite.get_history(compacted=False))[-1] == "It flies."
    assert len(kite.get_leaves()) == 3


@pytest.mark.parametrize(
    ("turns", "left"), [(0, 11), (1, 9), (2, 4), (3, 2), (99, 2), (-1, 11), ("2", 11), (True, 11), (None, 11)]
)
def test_how_far_a_rollback_goes(sessions: Sessions, tmp_path: Path, turns: object, left: int) -> None:
    """Beyond the first turn there is nothing to take back; what no Codex writes takes nothing back."""
    event = {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": turns}}
    run(sessions, write(tmp_path, [*ROWS[:FIRST], json.dumps(event) + "\n"]))
    assert len(sessions.session("codex:kite").get_history()) == left


def test_a_conversation_that_is_rolled_back_to_nothing_begins_again(sessions: Sessions, tmp_path: Path) -> None:
    rows = [json.loads(row) for row in ROWS if not re.search("Be brief|environment", row)]
    for row in rows:
        if row["payload"].get("type") == "thread_rolled_back":
            row["payload"]["num_turns"] = 99
    run(sessions, write(tmp_path, [json.dumps(row) + "\n" for row in rows]))
    kite = sessions.session("codex:kite")
    assert [texts_of([root]) for root in kite.get_branches(None)] == [["Build a kite"], ["Paint it blue"], ["Fly it"]]
    assert texts_of(kite.get_history()) == ["Fly it", "It flies."]
    [summary] = kite.get_compactions()
    assert texts_of(kite.get_history(leaf_id=summary.to_message_id)) == ["So far: a blue kite."]


@pytest.mark.parametrize(
    ("item", "begins"),
    [
        ({"role": "user", "content": "Fly"}, True),
        ({"role": "user", "content": [{"type": "input_image", "image_url": "data:,"}]}, True),
        ({"role": "user", "content": "<p>Fly</p>"}, True),
        ({"role": "user", "content": "<skill>is a tag?"}, True),
        ({"role": "user", "content": [7, None, {"text": 7}]}, True),
        ({"role": "assistant", "content": "Fly"}, False),
        ({"role": "developer", "content": "Fly"}, False),
        ({"type": "function_call", "name": "fly"}, False),
        ({"role": "user", "content": "# AGENTS.md instructions for /\n\n<INSTRUCTIONS>x</INSTRUCTIONS>"}, False),
        ({"role": "user", "content": [{"text": " <Turn_Aborted>\nhe did\n</turn_aborted>\n"}]}, False),
        ({"role": "user", "content": [{"text": '<hook_prompt hook_run_id="1">go on</hook_prompt>'}]}, False),
        ({"role": "user", "content": [{"text": "Fly"}, {"text": "<external_page>x</external_page>"}]}, False),
        ({"role": "user", "content": "Warning: apply_patch was requested via exec_command."}, False),
    ],
)
def test_where_a_turn_begins(item: dict[str, Any], begins: bool) -> None:
    assert codex_turns.begins_turn(item) is begins
