"""`prune`, `backup`, `scavenge`, `rebuild` and `recover`: what they do, what they say, how they fail."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from eventstore import Sessions
from tests.cli.running import contents, make_store, message, run
from tests.cli.test_process import on_a_terminal


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "s.db"
    with Sessions(path, retain="all", durability="normal") as sessions:
        for name in ("chat", "other\x1b"):
            session = sessions.session(name)
            session.append_messages([message(f"m{n}", f"text {n} " * 100) for n in range(50)])
            session.delete_messages([f"m{n}" for n in range(0, 50, 2)])
    return path


def names(path: Path) -> list[str]:
    with Sessions(path, read_only=True) as sessions:
        return sorted(info.session_id for info in sessions.list_sessions())


def test_prune_asks_or_is_told(store: Path) -> None:
    before = contents(store.parent)
    dry = run("prune", "--idle", "0s", "--dry-run", "--db", store)
    assert dry.exit_code == 0
    assert "chat: 25 messages, last written" in dry.stdout
    assert "other\\x1b: 25 messages" in dry.stdout
    assert dry.stdout.endswith("2 sessions would go. Nothing was deleted.\n")
    assert run("prune", "--idle", "0s", "--db", store).exit_code == 2
    assert run("prune", "--idle", "90d", "--yes", "--db", store).stdout == "No session has been idle for so long.\n"
    assert run("prune", "--idle", "999999999w", "--yes", "--db", store).exit_code == 0
    assert contents(store.parent)["s.db"] == before["s.db"]
    done = run("prune", "--idle", "0s", "--yes", "--json", "--db", store)
    assert [json.loads(line)["session_id"] for line in done.stdout.splitlines()] == ["chat", "other\x1b"]
    assert names(store) == []


@pytest.mark.parametrize("wrong", ["", "90", "d", "-1d", "1.5d", "90 d", "1y"])
def test_what_is_no_length_of_time_is_misuse(store: Path, wrong: str) -> None:
    done = run("prune", "--idle", wrong, "--yes", "--db", store)
    assert (done.exit_code, names(store)) == (2, ["chat", "other\x1b"])
    assert "length of time" in done.stderr


def test_backup_copies_and_replaces_nothing(store: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    done = run("backup", target, "--db", store, "--json")
    assert json.loads(done.stdout) == {"path": str(target), "bytes": target.stat().st_size}
    assert names(target) == names(store)
    assert run("verify", "--db", target).exit_code == 0
    before = contents(tmp_path)
    for wrong in (target, store, tmp_path / "no" / "copy.db"):
        failed = run("backup", wrong, "--db", store)
        assert failed.exit_code == 1
        assert failed.stderr.startswith("eventstore: ")
        assert failed.stderr.count("\n") == 1
    assert contents(tmp_path) == before


def test_scavenge_takes_away_and_gives_back(store: Path) -> None:
    before = store.stat().st_size
    done = run("scavenge", "--vacuum", "--db", store)
    assert done.exit_code == 0
    assert "50 old versions taken away" in done.stdout
    assert store.stat().st_size < before
    again: dict[str, Any] = json.loads(run("scavenge", "--db", store, "--json").stdout)
    assert again == {"dropped": 0, "bytes_before": again["bytes"], "bytes": store.stat().st_size}


def test_rebuild_mends_the_tables(store: Path) -> None:
    with sqlite3.connect(store) as raw:
        raw.execute("DELETE FROM message WHERE seq = 2")
    raw.close()
    assert run("verify", "--db", store).exit_code == 1
    assert run("rebuild", "--db", store).stdout == f"{store}: made anew from 102 events\n"
    assert run("verify", "--db", store).exit_code == 0


def test_recover_saves_what_is_left_and_names_the_rest(store: Path, tmp_path: Path) -> None:
    whole = run("recover", tmp_path / "whole.db", "--db", store)
    assert whole.exit_code == 0
    assert whole.stdout == f"{tmp_path / 'whole.db'}: 102 events, 50 messages; nothing is lost\n"
    raw = bytearray(store.read_bytes())
    at = raw.index(b"text 7 text 7")
    raw[at : at + 4] = b"tent"
    store.write_bytes(raw)
    done = run("recover", tmp_path / "saved.db", "--db", store)
    assert done.exit_code == 1
    assert "event 8 (append): 'm7' of session 'chat': what it says is lost" in done.stdout
    assert done.stdout.endswith("102 events, 50 messages; 1 fault\n")
    assert run("verify", "--db", tmp_path / "saved.db").exit_code == 0
    as_json = json.loads(run("recover", tmp_path / "again.db", "--db", store, "--json").stdout)
    assert (as_json["events"], as_json["messages"], len(as_json["lost"])) == (102, 50, 1)
    failed = run("recover", tmp_path / "again.db", "--db", store)
    assert (failed.exit_code, failed.stdout) == (1, "")
    assert "there already" in failed.stderr


@pytest.mark.parametrize(
    "command", [["prune", "--idle", "1d", "--yes"], ["backup", "x.db"], ["scavenge"], ["rebuild"], ["recover", "x.db"]]
)
def test_without_a_store_nothing_is_made(tmp_path: Path, command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    missing = run(*command, "--db", "no.db")
    assert missing.exit_code == 1
    assert "no.db" in missing.stderr
    (tmp_path / "letter.txt").write_text("Dear Sir or Madam, " * 500)
    foreign = run(*command, "--db", "letter.txt")
    assert foreign.exit_code == 1
    assert "Traceback" not in foreign.stderr
    assert sorted(os.listdir(tmp_path)) == ["letter.txt"]


def test_a_terminal_shows_progress(tmp_path: Path) -> None:
    store = make_store(tmp_path / "s.db", messages=[message(f"m{n}") for n in range(300)])
    status, text = on_a_terminal("scavenge", "--vacuum", "--db", store, cwd=tmp_path)
    assert status == 0
    assert "scavenging" in text
