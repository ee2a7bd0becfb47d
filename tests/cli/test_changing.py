"""`select` and `delete`: what they say before and after, and that nothing goes without a word."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest

from eventstore import Sessions
from tests.cli.running import COMMAND, contents, environment, message, run


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """`trip`: q1, then a1 with q2 under it, or a2; and a second session."""
    path = tmp_path / "conversations.db"
    with Sessions(path) as sessions:
        trip = sessions.session("trip")
        trip.append_messages([message("q1"), message("a1", role="assistant"), message("q2")])
        trip.append_message(message("a2", role="assistant"), parent_id="q1")
        sessions.session("other").append_message(message("x"))
    return path


def ids(store: Path, name: str = "trip") -> list[str]:
    with Sessions(store, read_only=True) as sessions:
        return [info.id for info in sessions.session(name).tree()]


def leaf(store: Path) -> str:
    with Sessions(store, read_only=True) as sessions:
        found = sessions.session("trip").get_latest_leaf()
        assert found is not None
        return found["id"]


def test_select_makes_a_path_the_active_one(store: Path) -> None:
    done = run("select", "trip", "q2", "--db", store)
    assert (done.exit_code, done.stdout) == (0, "The active leaf is q2 now, a path of 3 messages; it was a2.\n")
    assert leaf(store) == "q2"
    before = contents(store.parent)
    assert run("select", "trip", "q2", "--db", store).stdout == "q2 is the active leaf already.\n"
    assert contents(store.parent) == before
    found = json.loads(run("select", "trip", "a1", "--json", "--db", store).stdout)
    assert found == {"session_id": "trip", "active_leaf": "a1", "active_leaf_before": "q2"}
    assert leaf(store) == "a1"


@pytest.mark.parametrize(
    ("arguments", "gone"),
    [
        (["q1"], ["q1"]),
        (["a1", "a2", "a1"], ["a1", "a2"]),
        (["--branch", "a1"], ["a1", "q2"]),
        (["--branch", "q1"], ["q1", "a1", "q2", "a2"]),
        ([], ["q1", "a1", "q2", "a2"]),
    ],
    ids=lambda value: " ".join(value) or "whole",
)
def test_what_a_dry_run_names_is_what_goes(store: Path, arguments: list[str], gone: list[str]) -> None:
    before = contents(store.parent)
    with Sessions(store, read_only=True) as sessions:
        infos = [info.to_dict() for info in sessions.session("trip").tree() if info.id in gone]
    planned = json.loads(run("delete", "trip", *arguments, "--dry-run", "--json", "--db", store).stdout)
    told = run("delete", "trip", *arguments, "--dry-run", "--db", store).stdout
    assert contents(store.parent) == before
    expected = {"session_id": "trip", "whole_session": not arguments, "deleted": False}
    assert sorted(planned.pop("messages"), key=lambda info: info["seq"]) == infos
    assert planned == expected
    assert told.endswith("Nothing was deleted.\n")
    done = json.loads(run("delete", "trip", *arguments, "--yes", "--json", "--db", store).stdout)
    assert [done["deleted"], sorted(info["id"] for info in done["messages"])] == [True, sorted(gone)]
    assert ids(store) == [each for each in ("q1", "a1", "q2", "a2") if each not in gone]
    assert ids(store, "other") == ["x"]
    assert run("verify", "--db", store).exit_code == 0
    assert run("tree", "trip", "--db", store).exit_code == (0 if arguments else 1)


def test_it_says_what_goes(store: Path) -> None:
    lines = run("delete", "trip", "--branch", "a1", "--yes", "--db", store).stdout.splitlines()
    assert lines[0].startswith("To be deleted: 2 messages, ")
    assert lines[0].endswith(" B, of session trip.")
    assert lines[1].split() == ["message", "role", "size", "time"]
    assert [line.split()[0] for line in lines[2:4]] == ["a1", "q2"]
    assert lines[4:] == ["Deleted."]
    with Sessions(store) as sessions:
        sessions.session("long").append_messages([message(f"m{number}") for number in range(25)])
    lines = run("delete", "long", "--branch", "m0", "--dry-run", "--db", store).stdout.splitlines()
    assert (len(lines), lines[-2]) == (14, "and 15 more")
    whole = run("delete", "long", "--yes", "--db", store).stdout.splitlines()
    assert whole[0].startswith("To be deleted: session long with all that it holds (25 messages, ")
    assert whole[1:] == ["Deleted."]


@pytest.mark.parametrize("options", [[], ["--json"], ["--json", "q1"]], ids=" ".join)
def test_where_nobody_can_be_asked_it_needs_a_word(store: Path, options: list[str]) -> None:
    before = contents(store.parent)
    failed = run("delete", "trip", *options, "--db", store)
    assert (failed.exit_code, failed.stdout) == (2, "")
    assert "give --yes to delete, or --dry-run" in failed.stderr
    assert contents(store.parent) == before


def answered(answer: bytes, *arguments: object) -> tuple[int, str]:
    """(exit status, what a person sees) of the command on a terminal, when they answer so."""
    ours, theirs = pty.openpty()
    words = [*COMMAND, *map(str, arguments)]
    running = subprocess.Popen(
        words, env=environment(), stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    seen = bytearray()
    try:
        while b"[y/N]" not in seen:
            seen += os.read(ours, 1024)
        os.write(ours, answer)
        while chunk := os.read(ours, 1024):
            seen += chunk
    except OSError:  # how a terminal ends
        pass
    os.close(ours)
    return running.wait(timeout=60), seen.decode()


@pytest.mark.parametrize(
    ("answer", "status", "left"),
    [(b"y\n", 0, ["q1", "a2"]), (b"n\n", 1, ["q1", "a1", "q2", "a2"]), (b"\x04", 130, ["q1", "a1", "q2", "a2"])],
    ids=["yes", "no", "end"],
)
def test_on_a_terminal_it_asks(store: Path, answer: bytes, status: int, left: list[str]) -> None:
    ended, seen = answered(answer, "delete", "trip", "--branch", "a1", "--db", store)
    assert (ended, ids(store)) == (status, left)
    assert "To be deleted: 2 messages" in seen
    assert ("Nothing was deleted." in seen) == (status == 1)
    assert "Traceback" not in seen
