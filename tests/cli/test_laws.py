"""What holds for every command: each law runs over the table of all of them."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import click
import pytest
from click.testing import Result
from hypothesis import given, settings
from hypothesis import strategies as st

from eventstore import Sessions
from eventstore.cli.app import TABLE, app
from tests.cli.commands import CALLS, COMMANDS, JSON_CALLS, SESSION, fill, needs_a_file, prints, talk
from tests.cli.forking import run_all
from tests.cli.running import contents, process, run

by_command = pytest.mark.parametrize("name", COMMANDS)
CONTEXT = click.Context(app, info_name="eventstore")
READERS = [name for name, command in COMMANDS.items() if command.file == "reads"]
WRITERS = [name for name, command in COMMANDS.items() if command.file == "writes"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store and an export of it: to be copied, not to be used."""
    folder = tmp_path_factory.mktemp("made")
    talk(folder / "s.db")
    assert run("export", "--all", "--db", folder / "s.db", "-o", folder / "file.jsonl").exit_code == 0
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    for file in made.iterdir():
        shutil.copy(file, tmp_path)
    return tmp_path


def refused(result: Result, status: int) -> str:
    """The one line on standard error of a call that failed."""
    assert (result.exit_code, result.stdout) == (status, "")
    assert result.stderr.startswith("eventstore: ")
    assert result.stderr.count("\n") == 1
    assert not obeyed(result.stderr)
    return result.stderr


def obeyed(text: str) -> set[str]:
    """The characters of an output that a terminal would obey, apart from our own colours."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return set(re.findall("[\0-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", text))


# ---- the table, and what the commands say of themselves


def test_every_command_is_in_the_tables() -> None:
    assert set(COMMANDS) == set(app.list_commands(CONTEXT))
    entries = [entry for entries in TABLE.values() for entry in entries]
    assert len(entries) == len(COMMANDS)
    for entry in entries:
        command = app.get_command(CONTEXT, entry.name)
        assert command is not None
        assert command.name == entry.name
        assert command.get_short_help_str(200) == entry.does
        knows_json = any("--json" in parameter.opts for parameter in command.params)
        assert knows_json == (COMMANDS[entry.name].json is not None)
        if knows_json:
            assert "With --json" in " ".join((command.help or "").split())


def test_help_lists_every_command_by_its_purpose() -> None:
    lines = run("--help").stdout.splitlines()
    for purpose, entries in TABLE.items():
        start = lines.index(f"{purpose}:")
        assert [line.split()[0] for line in lines[start + 1 : start + 1 + len(entries)]] == [e.name for e in entries]


@by_command
def test_help_works(name: str) -> None:
    for option in ("--help", "-h"):
        told = run(name, option)
        assert (told.exit_code, told.stderr) == (0, "")
        assert told.stdout.startswith(f"Usage: eventstore {name} ")
        assert max(map(len, told.stdout.splitlines())) <= 80
    assert run(name, "--help", COLUMNS="30").exit_code == 0


def test_help_loads_no_command_and_no_rich() -> None:
    """Neither libraries that only commands need, nor the commands: that is half of the time that it takes."""
    import subprocess
    import sys

    code = (
        "import sys; sys.argv[1:] = ['--help']\n"
        "from eventstore.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=True)
    loaded = set(done.stderr.decode().split())
    assert not {"rich", "eventstore.exchange", "eventstore.cli.render"} & loaded
    places = {entry.place.partition(":")[0] for entries in TABLE.values() for entry in entries}
    assert not places & loaded


# ---- misuse and failures


@by_command
def test_misuse_is_told_on_one_line(name: str, tmp_path: Path) -> None:
    for wrong in (*COMMANDS[name].wrong, ("--no-such\x1b[31m",), ("--db", ""), ("--db", ":memory:")):
        told = refused(run(name, *wrong, "--db", tmp_path / "s.db") if "--db" not in wrong else run(name, *wrong), 2)
        assert told.endswith(f" See `eventstore {name} --help`\n")
    assert contents(tmp_path) == {}


def test_misuse_of_the_command_itself() -> None:
    for wrong in (["nonsense\x1b"], ["--wat"]):
        assert refused(run(*wrong), 2).endswith(" See `eventstore --help`\n")
    assert run().exit_code == 2
    assert "Usage: eventstore" in run().stderr


@pytest.mark.parametrize("name", [*READERS, *WRITERS])
def test_without_a_store_it_fails_and_makes_none(name: str, tmp_path: Path) -> None:
    for right in COMMANDS[name].right:
        told = refused(run(name, *fill(tmp_path, right), "--db", tmp_path / "no\x1b.db"), 1)
        assert "no\\x1b.db: there is no such file. Name a store with --db PATH or EVENTSTORE_DB" in told
    assert contents(tmp_path) == {}


@pytest.mark.parametrize("name", [name for name, command in COMMANDS.items() if command.file == "makes"])
def test_only_these_make_a_store(name: str, folder: Path) -> None:
    for right in COMMANDS[name].right:
        assert run(name, *fill(folder, right), "--db", folder / "new.db").exit_code == 0
    with Sessions(folder / "new.db", read_only=True) as sessions:
        assert list(sessions.list_sessions())


def newer(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", 99)
    connection.close()


def another(path: Path) -> None:
    path.unlink()
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE a (b)")
    connection.close()


WRONG_FILES: dict[str, Callable[[Path], object]] = {
    "another file": lambda path: path.write_bytes(b"Dear Ms Leavitt, " * 300),
    "half a header": lambda path: path.write_bytes(b"SQLite format 3\0" + b"\0" * 200),
    "a later version": newer,
    "another database": another,
}


@pytest.mark.parametrize("name", [name for name, command in COMMANDS.items() if not command.mends])
def test_a_file_that_is_no_store_of_ours_is_refused_and_left_as_it_is(name: str, folder: Path) -> None:
    good = (folder / "s.db").read_bytes()
    for spoil in WRONG_FILES.values():
        spoil(folder / "s.db")
        before = contents(folder)
        for right in COMMANDS[name].right:
            told = refused(run(name, *fill(folder, right), "--db", folder / "s.db"), 1)
            assert "s.db: " in told
        assert contents(folder) == before
        for file in folder.glob("s.db*"):
            file.unlink()
        (folder / "s.db").write_bytes(good)


@pytest.mark.parametrize("name", [*READERS, *WRITERS])
def test_an_empty_file_is_not_made_a_store(name: str, tmp_path: Path) -> None:
    (tmp_path / "s.db").touch()
    for right in COMMANDS[name].right:
        refused(run(name, *fill(tmp_path, right), "--db", tmp_path / "s.db"), 1)
    assert contents(tmp_path) == {"s.db": b""}


@by_command
def test_a_damaged_store_ends_in_one_line_at_most(name: str, made: Path, folder: Path) -> None:
    """Pages are overwritten, or missing at the end. What can't be read is told; there is never a traceback."""
    good = (made / "s.db").read_bytes()
    page = 2_048
    pages = len(good) // page
    damages = [good[: page * (pages // 2)]]
    for at in range(1, pages, 2):
        damages.append(good[: page * at] + b"\xa5" * page + good[page * (at + 1) :])
    for number, damaged in enumerate(damages):
        (folder / "s.db").write_bytes(damaged)
        right = COMMANDS[name].right
        result = run(name, *fill(folder, right[number % len(right)]), "--db", folder / "s.db")
        assert result.exit_code in (0, 1)
        assert result.stderr.count("\n") <= 1
        if result.exit_code and not (COMMANDS[name].tells_damage and result.stdout):
            assert result.stderr.startswith("eventstore: ")
        for file in folder.glob("s.db-*"):
            file.unlink()


@pytest.mark.parametrize("name", [name for name, command in COMMANDS.items() if command.names_session])
def test_a_session_that_is_not_there_is_named(name: str, folder: Path) -> None:
    before = contents(folder)
    for right in COMMANDS[name].right:
        if right:
            words = ["nob\x1bdy" if word == SESSION else word for word in fill(folder, right)]
            told = refused(run(name, *words, "--db", folder / "s.db"), 1)
            assert "there is no session 'nob\\x1bdy'; `eventstore sessions` lists those that are there" in told
    assert contents(folder) == before


@pytest.mark.parametrize(
    "words",
    [
        ("show", SESSION, "--leaf"),
        ("export", SESSION, "--format", "messages", "--leaf"),
        ("export", SESSION, "--format", "markdown", "--leaf"),
        ("select", SESSION),
        ("delete", SESSION, "--yes"),
        ("delete", SESSION, "--yes", "--branch"),
        ("compact", SESSION, "--with", "cat", "--leaf"),
    ],
    ids=" ".join,
)
def test_a_message_that_is_not_there_is_named(words: tuple[str, ...], folder: Path) -> None:
    before = contents(folder)
    told = refused(run(*words, "zz\x1b", "--db", folder / "s.db"), 1)
    assert "session 'a talk' holds no message 'zz\\x1b'; `eventstore tree` shows their ids" in told
    assert "is the beginning of 3 ids ('first', 'fourth', 'fifth'): say more" in refused(
        run(*words, "f", "--db", folder / "s.db"), 1
    )
    assert contents(folder) == before


# ---- real processes


def with_store(folder: Path, calls: tuple[tuple[str, ...], ...]) -> list[list[str]]:
    """The calls, each on a copy of the store of its own."""
    ready = []
    for number, call in enumerate(calls):
        shutil.copy(folder / "s.db", folder / f"{number}.db")
        ready.append([*fill(folder, call), "--db", f"{number}.db"])
    return ready


def test_a_reader_that_has_gone_ends_every_command_in_silence(folder: Path) -> None:
    calls = (*CALLS, *JSON_CALLS)
    for call, ended in zip(calls, run_all(with_store(folder, calls), "closed", folder), strict=True):
        assert (ended.status, ended.stderr) == (int(prints(call)), ""), call


def test_a_full_disk_is_told_by_every_command(folder: Path) -> None:
    for call, ended in zip(CALLS, run_all(with_store(folder, CALLS), "full", folder), strict=True):
        expected = (1, "eventstore: No space left on device\n") if prints(call) else (0, "")
        assert (ended.status, ended.stderr) == expected, call


def test_without_a_standard_output_every_command_works(folder: Path) -> None:
    calls = tuple((name, *command.right[0]) for name, command in COMMANDS.items())
    for call, ended in zip(calls, run_all(with_store(folder, calls), "missing", folder), strict=True):
        assert (ended.status, ended.stderr) == (0, ""), call


@pytest.mark.large
@pytest.mark.parametrize("name", WRITERS)
def test_a_store_that_another_writes_to_is_busy(name: str, folder: Path) -> None:
    """It waits for five seconds, and then says so."""
    other = apsw.Connection(str(folder / "s.db"))
    other.execute("BEGIN IMMEDIATE")
    right = next(call for call in COMMANDS[name].right if "--dry-run" not in call)
    done = process(name, *right, "--db", "s.db", cwd=folder)
    assert done.returncode == 1
    assert b"s.db: " in done.stderr
    assert done.stderr.count(b"\n") == 1
    other.execute("ROLLBACK")
    other.close()


def test_a_file_that_can_only_be_read(made: Path) -> None:
    """Commands that read do; those that write say why they can't, and change nothing."""
    folder = Path(tempfile.mkdtemp())  # pytest's own are closed to other users
    try:
        store = Path(shutil.copy(made / "s.db", folder))
        store.chmod(0o444)
        folder.chmod(0o555)
        before = contents(folder)
        calls = [call for call in CALLS if not needs_a_file(call)]
        given = [[*call, "--db", store] for call in calls]
        for call, ended in zip(calls, run_all(given, "file", folder, as_nobody=True), strict=True):
            writes = COMMANDS[call[0]].file != "reads" and "--dry-run" not in call
            assert (ended.status, ended.stderr.count("\n")) == (int(writes), int(writes)), (call, ended.stderr)
            assert not writes or ended.stderr.startswith(f"eventstore: {store}: ")
        assert contents(folder) == before
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


# ---- what is printed


def on_screen(folder: Path, call: tuple[str, ...], columns: str | None, colours: str | None) -> Result:
    """A call as a pipe (`None`) or a screen of so many columns gets it."""
    given = {"COLUMNS": columns, "FORCE_COLOR": colours, "TERM": "xterm"}
    words = [*fill(folder, call), "--db", folder / "copy.db"]
    return run(*words, input=None, **{key: value for key, value in given.items() if value is not None})


def parsed(name: str, text: str) -> list[Any]:
    """The values that a call with `--json` printed, held to the shape that the table gives."""
    assert not obeyed(text)
    assert text.isascii()
    if COMMANDS[name].json == "object":
        return [json.loads(text)]
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("call", JSON_CALLS, ids=" ".join)
def test_json_is_lines_or_one_object(call: tuple[str, ...], folder: Path) -> None:
    for columns, colours in ((None, None), ("20", None), ("20", "1")):
        shutil.copy(folder / "s.db", folder / "copy.db")
        done = on_screen(folder, call, columns, colours)
        assert done.exit_code == 0
        assert all(isinstance(value, dict) for value in parsed(call[0], done.stdout))


MARKS = (
    *("\x1b[31m", "\x9b2J", "\x07", "\r", "\n", "\t", "\x1b]0;t\x07", "\u202e", "\u2066", "\ud83d", "\u2028", "\0"),
    *("```", "# ", "<b>", "<!--", "[red]", ":smile:", "你好", "👩‍👩‍👧", " ", "word"),
)
HOSTILE = st.text(st.characters(exclude_categories=()), max_size=8) | st.lists(st.sampled_from(MARKS), max_size=6).map(
    "".join
)
SHOWING = [call for call in (*CALLS, *JSON_CALLS) if call[0] not in ("demo", "import") and "{out}" not in call]


@settings(max_examples=5)
@given(
    st.lists(HOSTILE, min_size=1, max_size=4).map(tuple),
    st.sampled_from([(None, None), ("20", None), ("80", "1"), ("20", "1")]),
)
def test_nothing_in_a_text_reaches_the_terminal(
    tmp_path_factory: pytest.TempPathFactory, texts: tuple[str, ...], screen: tuple[str | None, str | None]
) -> None:
    folder = tmp_path_factory.mktemp("hostile")
    talk(folder / "s.db", texts)
    for call in SHOWING:
        if COMMANDS[call[0]].file == "writes" or not (folder / "copy.db").exists():
            shutil.copy(folder / "s.db", folder / "copy.db")
        done = on_screen(folder, call, *screen)
        assert done.exit_code == 0, (call, done.stderr)
        if "--json" in call:
            parsed(call[0], done.stdout)
        elif call[0] != "export":
            assert not obeyed(done.stdout), call
        elif "markdown" in call:
            assert obeyed(done.stdout) <= {"\t"}
        else:
            assert_json_text(done.stdout_bytes.decode())
    shutil.rmtree(folder)


def assert_json_text(text: str) -> None:
    """JSON, or lines of it, in a file or a pipe: whole, and no character that UTF-8 can't hold."""
    for value in [text] if text.startswith("[") else text.rstrip("\n").split("\n"):
        json.loads(value)


def test_no_color_means_none(folder: Path) -> None:
    for call in CALLS:
        shutil.copy(folder / "s.db", folder / "copy.db")
        if call[0] != "demo":  # what it draws moves in place
            words = [*fill(folder, call), "--db", folder / "copy.db"]
            done = run(*words, FORCE_COLOR="1", NO_COLOR="1", TERM="xterm", COLUMNS="80")
            assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", done.stdout), call
