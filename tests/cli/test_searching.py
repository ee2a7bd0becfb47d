"""`search`: what it prints, where it says that a message stands, and that it changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from eventstore import Sessions
from tests.cli.running import contents, json_lines, message, run


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two sessions; in the first a branch beside the active path."""
    path = tmp_path / "conversations.db"
    with Sessions(path) as sessions:
        trip = sessions.session("trip")
        trip.append_messages([message("q1", "Where to walk?"), message("a1", "Walk north", "assistant")])
        trip.append_message(message("a2", "Walks in the south are warmer", "assistant"), parent_id="q1")
        sessions.session("two words").append_message(message("z", "red \x1b[31m walking \u202e🎉"))
    return path


def headings(printed: str) -> list[str]:
    """The lines without snippets, without their times."""
    return [line[: line.rindex("  ")] for line in printed.splitlines()[::2]]


def test_results_are_shown_with_their_place(store: Path) -> None:
    before = contents(store.parent)
    printed = run("search", "walk", "--db", store).stdout
    assert sorted(headings(printed)) == [
        "○ trip a1 assistant  ‹1/2›  follows q1",
        "● 'two words' z user  a root",
        "● trip a2 assistant  ‹2/2›  follows q1",
        "● trip q1 user  a root",
    ]
    assert "  Walks in the south are warmer" in printed.splitlines()
    assert contents(store.parent) == before


def test_matches_are_marked_on_a_terminal_and_nothing_else_is_obeyed(store: Path) -> None:
    printed = run("search", "walking", "--session", "two words", "--db", store, FORCE_COLOR="1", TERM="xterm").stdout
    assert "\x1b[1;7mwalking\x1b[0m" in printed
    assert "\x1b[31m" not in printed
    assert "\u202e" not in printed


def test_one_session_and_the_best_only(store: Path) -> None:
    assert len(headings(run("search", "walk", "--session", "trip", "--db", store).stdout)) == 3
    assert len(headings(run("search", "walk", "--limit", 2, "--db", store).stdout)) == 2
    assert run("search", '"south walk"', "--db", store).stdout == "Nothing found.\n"
    assert run("search", "walk", "--limit", 0, "--db", store).stdout == "Nothing found.\n"


def test_json(store: Path) -> None:
    found = json_lines(run("search", "wal* north", "--json", "--db", store).stdout)
    with Sessions(store, read_only=True) as sessions:
        assert found == [result.to_dict() for result in sessions.search("wal* north")]
    assert [each["id"] for each in found] == ["a1"]
    assert run("search", "nowhere", "--json", "--db", store).stdout == ""


def test_misuse(store: Path) -> None:
    assert run("search", "--db", store).exit_code == 2
    assert run("search", "walk", "--limit", "-1", "--db", store).exit_code == 2
    missing = run("search", "walk", "--session", "nobody", "--db", store)
    assert (missing.exit_code, "no session 'nobody'" in missing.stderr) == (1, True)


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_a_heading_says_all_whatever_the_width(tmp_path: Path, width: int) -> None:
    path, name, ids = (
        tmp_path / "s.db",
        "openassistant:c0a71a0e-e7c0-eaf5-f2a8-e060182e1ebd",
        ["3e9fb264" * 4, "bd05f71c" * 4],
    )
    with Sessions(path) as sessions:
        sessions.session(name).append_messages([message(ids[0], "Where?"), message(ids[1], "There", "assistant")])
        sessions.session("short").append_message(message("m", "there"))
    lines = run("search", "there", "--db", path, COLUMNS=str(width)).stdout.splitlines()
    told = f"{ids[1]} assistant  follows {ids[0]}"
    at = next(number for number, line in enumerate(lines) if name in line)
    if width == 200:
        assert lines[at].startswith(f"● {name} {told}")
    else:
        assert lines[at] == f"● {name}"
        assert lines[at + 1].startswith(f"  {ids[1][: width - 2]}")
        assert max(map(len, lines[at + 1 :])) <= width
        assert "".join(told.split()) in "".join("".join(lines[at + 1 :]).split())
    assert any(line.startswith("● short m user") for line in lines) == (width >= 80)
