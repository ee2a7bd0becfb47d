"""`tail`: the last events, those behind a cursor, and those that come."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest
from rich.cells import cell_len

from eventstore import Sessions
from tests.cli.running import COMMAND, contents, environment, message, run


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """One event of each kind that is written by hand."""
    path = tmp_path / "conversations.db"
    with Sessions(path) as sessions:
        trip = sessions.session("a trip")
        trip.append_messages([message("q1", "Where to?"), message("a1", "North\n\x1b[31m", "assistant")])
        trip.append_message(message("a2", "South", "assistant"), parent_id="q1")
        trip.update_message(message("a2", "South!", "assistant"))
        trip.select_leaf("a1")
        trip.set_metadata({"title": "A week off"})
        trip.delete_messages(["a2", "q1"])
        trip.clear_messages()
        sessions.delete_session("a trip")
        sessions.session().append_messages([message("x"), message("y")])
    return path


def test_it_shows_the_last_ten(store: Path) -> None:
    before = contents(store.parent)
    lines = run("tail", "--db", store).stdout.splitlines()
    assert contents(store.parent) == before
    assert [int(line.split()[0]) for line in lines] == list(range(2, 12))
    told = [line.split("UTC")[-1][29:] for line in lines]
    assert told == [
        "'a trip'  append  a1 assistant  (erased)",
        "'a trip'  append  a2 assistant  (erased)",
        "'a trip'  update  a2 assistant  (erased)",
        "'a trip'  select  a1",
        "'a trip'  metadata  {}",
        "'a trip'  delete  a2 q1",
        "'a trip'  clear",
        "'a trip'  delete_session",
        "''  append  x user  Hello",
        "''  append  y user  Hello",
    ]


def test_as_json_each_line_is_an_event(store: Path) -> None:
    lines = run("tail", "--after", "0", "--json", "--db", store).stdout.splitlines()
    with Sessions(store, read_only=True) as sessions:
        assert [json.loads(line) for line in lines] == [event.to_dict() for event in sessions.events()]
    assert run("tail", "--after", "11", "--db", store).stdout == "No events behind number 11.\n"
    assert run("tail", "--after", "11", "--json", "--db", store).stdout == ""
    assert run("tail", "--after", "-1", "--db", store).exit_code == 2


def test_it_follows_until_it_is_interrupted(store: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "tail", "--follow", "--after", "10", "--json", "--db", str(store)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process:
        assert json.loads(process.stdout.readline())["seq"] == 11
        with Sessions(store) as sessions:
            sessions.session("new").append_message(message("z"))
            assert json.loads(process.stdout.readline())["message"]["id"] == "z"
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 130
        assert process.stdout.read() == b""
        assert process.stderr.read() == b""


@pytest.mark.parametrize("width", [60, 80, 120])
def test_long_names_leave_room_for_what_is_said(tmp_path: Path, width: int) -> None:
    path, name = tmp_path / "s.db", "openassistant:c0a71a0e-e7c0-eaf5-f2a8-e060182e1ebd"
    with Sessions(path) as sessions:
        sessions.session(name).append_messages([message("3e9fb264-5c93-7bf5-f007-17a0", "Hello there")])
        sessions.session("国" * 40).append_messages([message("国" * 20, "你好")])
    lines = run("tail", "--db", path, COLUMNS=str(width)).stdout.splitlines()
    assert "  openassistant:c0a71…  append" in lines[0]
    assert max(map(cell_len, lines)) <= width
    if width >= 80:
        assert lines[0].rpartition("  ")[0].endswith("3e9fb264… user")
        assert lines[0].rpartition("  ")[2][:4] in ("Hello ", "Hell")
        assert lines[1].endswith("你好")
    in_full = run("tail", "--db", path).stdout
    assert name in in_full
    assert "国" * 40 in in_full
    assert name in run("tail", "--db", path, COLUMNS="40").stdout
