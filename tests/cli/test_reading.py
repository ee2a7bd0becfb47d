"""`sessions`, `tree`, `show` and `verify`: what they print, and that they change nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw
import pytest

from eventstore import Sessions
from eventstore.testing import json_text
from tests.cli.running import contents, json_lines, make_store, message, run

HOSTILE = "red \x1b[31mRED [bold]not bold[/bold] :smile: \u202eback \x9b31m \x07 \ud83d\rover"
SPELT = "red \\x1b[31mRED [bold]not bold[/bold] :smile: \\u202eback \\x9b31m \\x07 \\ud83d\\x0dover"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two sessions: `trip`, with a branch beside the active path, and one with a name that a shell would part."""
    path = tmp_path / "conversations.db"
    with Sessions(path) as sessions:
        sessions.session("two words").append_message(message("z"))
        trip = sessions.session("trip")
        trip.append_messages([message("q1", "Where to?"), message("a1", "North", "assistant"), message("q2", "Why?")])
        trip.append_messages([message("a1b", "South", "assistant"), message("q2b", "When?")], parent_id="q1")
        trip.select_leaf("a1b")
        trip.set_metadata({"title": "A week off"})
    return path


def test_sessions_are_listed_newest_first(store: Path) -> None:
    lines = run("sessions", "--db", store).stdout.splitlines()
    assert lines[0].split() == ["session", "messages", "size", "updated", "title"]
    assert lines[1].startswith("trip                5  ")
    assert lines[1].endswith("  A week off")
    assert lines[2].startswith("'two words'         1  ")
    found = json_lines(run("sessions", "--db", store, "--json").stdout)
    with Sessions(store, read_only=True) as sessions:
        assert found == [info.to_dict() for info in sessions.list_sessions()]


def test_a_store_without_sessions_says_so(tmp_path: Path) -> None:
    Sessions(tmp_path / "empty.db").close()
    assert run("sessions", "--db", tmp_path / "empty.db").stdout == "No sessions.\n"
    assert run("sessions", "--db", tmp_path / "empty.db", "--json").stdout == ""


def test_the_tree_shows_branches_and_the_active_path(store: Path) -> None:
    first, *lines = run("tree", "trip", "--db", store).stdout.splitlines()
    assert first.startswith("trip: 5 messages, 2 leaves, ")
    assert first.endswith("A week off")
    assert lines == [
        "● q1 user  Where to?",
        "├─○ a1 assistant ‹1/2›  North",
        "│ ○ q2 user  Why?",
        "● a1b assistant ← active leaf ‹2/2›  South",
        "○ q2b user  When?",
    ]
    found = json.loads(run("tree", "trip", "--db", store, "--json").stdout)
    assert (found["session_id"], found["active_leaf"]) == ("trip", "a1b")
    with Sessions(store, read_only=True) as sessions:
        infos = [info.to_dict() for info in sessions.session("trip").tree()]
    on_path = [found_info.pop("on_active_path") for found_info in found["messages"]]
    assert found["messages"] == infos
    assert [info["id"] for info, active in zip(infos, on_path, strict=True) if active] == ["q1", "a1b"]


def test_ids_are_shortened_to_what_tells_them_apart(tmp_path: Path) -> None:
    ids = [f"0000-{number:04}-{'f' * 30}" for number in range(3)]
    path = make_store(tmp_path / "s.db", messages=map(message, ids))
    lines = run("tree", "chat", "--db", path).stdout.splitlines()
    assert [line.split()[1] for line in lines[1:]] == [message_id[:9] for message_id in ids]
    shown = run("show", "chat", "--leaf", ids[1][:9], "--db", path).stdout
    assert [ids[0] in shown, ids[1] in shown, ids[2] in shown] == [True, True, False]
    failed = run("show", "chat", "--leaf", "0000", "--db", path)
    assert failed.exit_code == 1
    assert "'0000' is the beginning of 3 ids" in failed.stderr


def test_show_gives_the_active_path_another_path_or_all(store: Path) -> None:
    def shown(*options: str) -> list[str]:
        return [found["id"] for found in json_lines(run("show", "trip", "--db", store, "--json", *options).stdout)]

    assert shown() == ["q1", "a1b"]
    assert shown("--leaf", "q2") == ["q1", "a1", "q2"]
    assert shown("--all") == ["q1", "a1", "q2", "a1b", "q2b"]
    lines = run("show", "trip", "--all", "--db", store).stdout.splitlines()
    assert [line for line in lines if line.startswith("  ")] == [
        "  Where to?",
        "  North",
        "  Why?",
        "  South",
        "  When?",
    ]
    [branch] = [line for line in lines if line.startswith("assistant  a1b ")]
    assert branch.endswith("follows q1")
    both = run("show", "trip", "--all", "--leaf", "q1", "--db", store)
    assert (both.exit_code, both.stdout) == (2, "")


PARTS: list[tuple[dict[str, Any], list[str]]] = [
    ({"type": "text", "text": "one\n\ntwo\tthree"}, ["  one", "", "  two three"]),
    ({"type": "text"}, ["  null"]),
    ({"type": "text", "text": ["odd"]}, ['  ["odd"]']),
    ({"type": "text", "text": ""}, []),
    ({"type": "reasoning", "text": "Hm."}, ["  (reasoning) Hm."]),
    ({"type": "reasoning", "text": ""}, []),
    (
        {"type": "tool-read", "input": {}, "output": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        ["  ⚙ tool read {}", "  → a", "  b"],
    ),
    (
        {"type": "tool-read", "input": {}, "output": [{"type": "text"}]},
        ["  ⚙ tool read {}", '  → [{"type":"text"}]'],
    ),
    ({"type": "step-start"}, []),
    ({"type": "erased"}, ["  (erased: its content was not retained)"]),
    (
        {"type": "tool-weather", "input": {"place": "Oslo"}, "output": [1.0, None]},
        ['  ⚙ tool weather {"place":"Oslo"}', "  → [1.0,null]"],
    ),
    (
        {"type": "dynamic-tool", "toolName": "search", "input": "text", "errorText": "no net"},
        ["  ⚙ tool search text", "  → no net"],
    ),
    ({"type": "file", "mediaType": "image/png", "url": "x"}, ['  (file) {"mediaType":"image/png","url":"x"}']),
    ({"type": "data-x", "data": "y" * 500}, ['  (data-x) {"data":"' + "y" * 391 + " ... (111 more characters)"]),
    ({"type": "", "n": 10**5000}, ['  () {"n":1' + "0" * 394 + " ... (4,607 more characters)"]),
]


@pytest.mark.parametrize(("part", "expected"), PARTS, ids=range(len(PARTS)))
def test_every_kind_of_part_is_shown(tmp_path: Path, part: dict[str, Any], expected: list[str]) -> None:
    path = make_store(tmp_path / "s.db", messages=[{"id": "m", "role": "assistant", "parts": [part]}])
    head, *lines = run("show", "chat", "--db", path).stdout.splitlines()
    assert head.startswith("assistant  m  20")
    assert lines == [*expected, ""]


def test_what_a_message_says_is_not_obeyed(tmp_path: Path) -> None:
    hostile = {
        "id": "i\x1b[2J\n",
        "role": "r\x1b]0;x\x07",
        "parts": [
            {"type": "text", "text": HOSTILE},
            {"type": "tool-\x1b[5m", "input": "\x1b[6m", "output": {"\x1b": "\x9b"}},
        ],
    }
    path = make_store(tmp_path / "s.db", name="n\x1b[1m", messages=[hostile])
    with Sessions(path) as sessions:
        sessions.session("n\x1b[1m").set_metadata({"title": "t\x1b[7m [red]"})
    for arguments in (["sessions"], ["tree", "n\x1b[1m"], ["show", "n\x1b[1m"], ["verify"]):
        for options in ([], ["--json"]):
            out = run(*arguments, "--db", path, *options).stdout
            assert not {character for character in out if character < " " or "\x7f" <= character < "\xa0"} - {"\n"}
    assert SPELT in run("show", "n\x1b[1m", "--db", path).stdout
    assert SPELT in run("tree", "n\x1b[1m", "--db", path).stdout
    assert "t\\x1b[7m [red]" in run("sessions", "--db", path).stdout
    assert run("tree", "n\x1b[1m", "--db", path).stdout.splitlines()[1].startswith("● i\\x1b[2J\\n r\\x1b]0;x\\x07 ← ")


def test_a_terminal_gets_colours_and_nothing_of_the_text(tmp_path: Path) -> None:
    path = make_store(tmp_path / "s.db", messages=[message("m", HOSTILE)])
    out = run("show", "chat", "--db", path, FORCE_COLOR="1", COLUMNS="200").stdout
    assert "\x1b[1" in out
    assert SPELT in out


def test_narrow_output_is_wrapped_or_cut(tmp_path: Path) -> None:
    path = make_store(tmp_path / "s.db", messages=[message(f"message-{n}", "words and words " * 10) for n in range(3)])
    shown = run("show", "chat", "--db", path, COLUMNS="40").stdout
    assert max(len(line) for line in shown.splitlines() if line.startswith("  ")) <= 40
    assert shown.split().count("words") == 60
    drawn = run("tree", "chat", "--db", path, COLUMNS="40").stdout
    assert max(map(len, drawn.splitlines())) <= 40
    assert drawn.count("…") == 4


def test_json_is_equal_to_what_is_stored(tmp_path: Path) -> None:
    odd = {**message("m", HOSTILE), "metadata": {"n": [2**70, -0.0, 1.0, True, "é你"], "\ud83d": None}}
    path = make_store(tmp_path / "s.db", messages=[odd])
    out = run("show", "chat", "--db", path, "--json").stdout
    assert out.isascii()
    assert json_text(json_lines(out)) == json_text([odd])


def test_verify_says_what_is_wrong(store: Path) -> None:
    good = run("verify", "--db", store)
    assert (good.exit_code, good.stdout) == (0, f"{store}: no problems in 8 events\n")
    assert json.loads(run("verify", "--db", store, "--json").stdout) == {"ok": True, "problems": []}
    connection = apsw.Connection(str(store))
    connection.execute("UPDATE event SET body = replace(body, 'North', 'Nurth') WHERE id = 'a1'")
    connection.close()
    bad = run("verify", "--db", store)
    assert bad.exit_code == 1
    assert bad.stdout.splitlines()[0].startswith("event ")
    assert bad.stdout.splitlines()[-1] == f"{store}: 1 problem"
    found = run("verify", "--db", store, "--json")
    assert found.exit_code == 1
    assert json.loads(found.stdout)["ok"] is False


def test_looking_changes_nothing_and_makes_no_file(store: Path) -> None:
    before = contents(store.parent)
    for arguments in (["sessions"], ["tree", "trip"], ["show", "trip"], ["verify"], ["export", "--all"]):
        assert run(*arguments, "--db", store).exit_code == 0
    assert contents(store.parent) == before


def test_the_store_is_the_one_of_the_option_the_variable_or_the_folder(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_store(tmp_path / "other.db", name="other", messages=[message("m")])
    assert "trip" in run("sessions", "--db", store, EVENTSTORE_DB=str(other)).stdout
    assert "other" in run("sessions", EVENTSTORE_DB=str(other)).stdout
    monkeypatch.chdir(store.parent)
    assert "trip" in run("sessions").stdout


@pytest.mark.parametrize(
    "arguments", [["sessions"], ["tree", "x"], ["show", "x"], ["verify"], ["export", "x"]], ids=" ".join
)
def test_without_a_store_no_command_makes_one(tmp_path: Path, arguments: list[str]) -> None:
    failed = run(*arguments, "--db", tmp_path / "no\x1b.db")
    assert (failed.exit_code, failed.stdout) == (1, "")
    assert failed.stderr.startswith(f"eventstore: {tmp_path}/no\\x1b.db: there is no such file. Name a store with --db")
    assert failed.stderr.count("\n") == 1
    assert contents(tmp_path) == {}


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (["tree", "x\x1b"], 1, "there is no session 'x\\x1b'; `eventstore sessions` lists"),
        (["show", "trip", "--leaf", "zz"], 1, "session 'trip' holds no message 'zz'"),
        (["tree"], 2, "Missing argument 'SESSION'"),
        (["show", "trip", "--wat"], 2, "No such option"),
        (["sessions", "--db", ""], 2, "name a file"),
        (["sessions", "--db", ":memory:"], 2, "name a file"),
        (["nonsense"], 2, "No such command"),
    ],
)
def test_a_failure_is_told_on_standard_error(store: Path, arguments: list[str], status: int, text: str) -> None:
    found = run(*arguments, EVENTSTORE_DB=str(store))
    assert (found.exit_code, found.stdout) == (status, "")
    assert text in found.stderr
    assert "Traceback" not in found.stderr


@pytest.mark.parametrize("content", [b"", b"not a database" * 100, b"SQLite format 3\0" + b"\0" * 200])
def test_a_file_that_is_no_store_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(content)
    for arguments in (["sessions"], ["verify"]):
        failed = run(*arguments, "--db", path)
        assert (failed.exit_code, failed.stdout) == (1, "")
        assert failed.stderr.startswith(f"eventstore: {path}: ")
        assert failed.stderr.count("\n") == 1
    assert contents(tmp_path) == {"x.db": content}


def test_deleted_sessions_are_not_there(store: Path) -> None:
    with Sessions(store) as sessions:
        sessions.delete_session("trip")
        sessions.session("two words").clear_messages()
    assert run("tree", "trip", "--db", store).exit_code == 1
    assert run("tree", "two words", "--db", store).stdout.splitlines() == [
        "'two words': 0 messages, 0 leaves, 0 B, about 0 tokens"
    ]
    assert run("show", "two words", "--db", store).stdout == "No messages.\n"
    assert run("show", "two words", "--db", store, "--json").stdout == ""
    assert json.loads(run("tree", "two words", "--db", store, "--json").stdout)["messages"] == []
