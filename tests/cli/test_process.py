"""The command as a process: pipes, encodings, terminals, Ctrl-C, an installation without the extra."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import shutil
import signal
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.forking import run_all
from tests.cli.running import COMMAND, environment, make_store, message, process

COUNT = 1_000  # messages: their text is more than a pipe holds
FEW = 300  # messages whose export is more than a pipe holds


def said(number: int) -> str:
    return f"message {number}: é 你 ● \x1b[31m \x9b \ud83d"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return of_so_many(tmp_path_factory.mktemp("process"), COUNT)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return of_so_many(tmp_path_factory.mktemp("few"), FEW)


def of_so_many(folder: Path, count: int) -> Path:
    return make_store(folder / "s.db", messages=[message(f"m{n:04}", said(n)) for n in range(count)])


@pytest.mark.parametrize("arguments", [["show", "chat"], ["tree", "chat", "--json"], ["export", "chat"]], ids=" ".join)
def test_a_reader_that_has_seen_enough_ends_it_in_silence(store: Path, arguments: list[str]) -> None:
    command = " ".join([*COMMAND, *arguments, "--db", str(store)])
    done = subprocess.run(
        ["bash", "-c", f"{command} | head -n 1"], env=environment(), capture_output=True, timeout=60, check=False
    )
    assert done.stdout.count(b"\n") == 1
    assert done.stderr == b""


@pytest.mark.parametrize("given", [{"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "latin-1"}, {"LC_ALL": "POSIX"}])
def test_no_encoding_is_too_small(tmp_path: Path, given: dict[str, str]) -> None:
    store = make_store(tmp_path / "s.db", messages=[message("m", said(0))])
    calls = (["show", "chat"], ["tree", "chat"], ["tree", "chat", "--json"], ["sessions"])
    of_store = [[*call, "--db", store] for call in calls]
    for ended in run_all([*of_store, ["--help"]], "file", tmp_path, given={**given, "COLUMNS": "40"}):
        assert (ended.status, ended.stderr) == (0, "")
        assert ended.stdout.decode(given.get("PYTHONIOENCODING", "utf-8"))
        assert b"\x1b" not in ended.stdout


def test_an_export_is_utf8_whatever_the_encoding(store: Path) -> None:
    done = process("export", "chat", "--db", store, cwd=store.parent, given={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert json.loads(done.stdout.splitlines()[1])["body"]["parts"][0]["text"].startswith(said(0)[:16])


def test_pipes_and_files_go_in(few: Path, tmp_path: Path) -> None:
    new = " ".join([*COMMAND, "import", "--db", "new.db"])
    export = " ".join([*COMMAND, "export", "--all", "--db", str(few)])
    script = f"{export} | {new} - && {new} <({export}) && {export} > out && {new} out"
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment(), capture_output=True, timeout=60, check=False
    )
    assert done.stderr == b""
    assert done.stdout.splitlines() == [
        b"chat: 300 new messages, 0 known",
        b"chat: 0 new messages, 300 known",
        b"chat: 0 new messages, 300 known",
    ]


def test_a_pipe_that_there_is_no_room_for_is_told_and_leaves_nothing(store: Path, tmp_path: Path) -> None:
    """No file of it can grow beyond 50 kB: as on a full disk."""
    (tmp_path / "tmp").mkdir()
    new = " ".join([*COMMAND, "import", "--db", "new.db"])
    for source in ("- < <(cat {0})", "<(cat {0})"):
        done = subprocess.run(
            ["bash", "-c", f"ulimit -f 50; {new} {source.format(store)}"],
            cwd=tmp_path,
            env=environment(TMPDIR=str(tmp_path / "tmp")),
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 1
        assert done.stdout == b""
        [told] = done.stderr.decode().splitlines()
        assert told.startswith(f"eventstore: {tmp_path}/tmp: no room for what is put aside while a file is read")
        assert "TMPDIR" in told
    assert [path.name for path in tmp_path.rglob("*")] == ["tmp"]


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        ("import - --db new.db", 1, "-: wanted an export of a known kind"),
        ("delete chat", 2, "Nobody is there to be asked"),
    ],
)
def test_a_standard_input_that_is_closed_is_an_empty_one(
    store: Path, tmp_path: Path, arguments: str, status: int, told: str
) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{' '.join(COMMAND)} {arguments} <&-"],
        cwd=tmp_path,
        env=environment(EVENTSTORE_DB=str(store)),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (status, b"")
    [line] = done.stderr.decode().splitlines()
    assert line.startswith(f"eventstore: {told}")
    assert not (tmp_path / "new.db").exists()


def interrupted(running: subprocess.Popen[bytes]) -> int:
    """The status of a process that gets Ctrl-C, more than once where the first comes between two waits."""
    for _ in range(20):
        running.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            return running.wait(1)
    raise AssertionError("it goes on")


@pytest.mark.parametrize("arguments", [["import", "-"], ["tail", "--follow"]], ids=" ".join)
def test_ctrl_c_ends_it_without_a_word(store: Path, tmp_path: Path, arguments: list[str]) -> None:
    shutil.copy(store, tmp_path / "s.db")
    running = subprocess.Popen(
        [*COMMAND, *arguments, "--db", "s.db"],
        cwd=tmp_path,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with running:
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stderr is not None
        if arguments[0] == "tail":
            running.stdout.readline()
        else:
            running.stdin.write(b"x" * 1_000_000)  # more than a pipe holds: it reads by now
        assert interrupted(running) == 130
        assert running.stderr.read() == b""


WITHOUT = """
import sys
class Without:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == sys.argv[1]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Without())
import eventstore, projections
from eventstore.cli import main
main()
"""


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_without_the_extra_it_says_what_to_install(tmp_path: Path, missing: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, missing], cwd=tmp_path, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert done.stdout == b""
    expected = f"eventstore: this command needs {missing}: pip install 'eventstore-sessions[cli]'\n"
    assert done.stderr.decode() == expected


def test_the_command_is_installed_under_its_name(tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("eventstore")
    assert script.exists()
    for command in ([str(script)], COMMAND):
        done = subprocess.run(
            [*command, "--version"], cwd=tmp_path, env=environment(), capture_output=True, timeout=60, check=True
        )
        assert done.stdout.startswith(b"eventstore, version ")


def on_a_terminal(*arguments: object, cwd: Path, columns: int = 80) -> tuple[int, str]:
    """(exit status, what a person would get) of the command on a terminal of its own."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    running = subprocess.Popen(
        [*COMMAND, *map(str, arguments)], cwd=cwd, env=environment(), stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    data = bytearray()
    try:
        while chunk := os.read(ours, 65536):
            data += chunk
    except OSError:  # how a terminal ends
        pass
    os.close(ours)
    return running.wait(timeout=60), data.decode()


def test_a_terminal_shows_progress_and_no_control_characters_of_the_text(few: Path, tmp_path: Path) -> None:
    status, text = on_a_terminal("export", "--all", "--db", few, "-o", tmp_path / "out.jsonl", cwd=tmp_path)
    assert status == 0
    assert "exporting to" in text
    status, text = on_a_terminal("import", "out.jsonl", "--db", "new.db", cwd=tmp_path)
    assert status == 0
    assert "importing out.jsonl" in text
    assert "chat: 300 new messages, 0 known" in text
    status, text = on_a_terminal("verify", "--db", "new.db", cwd=tmp_path)
    assert status == 0
    assert "checking" in text
    assert "no problems in 300 events" in text
    status, text = on_a_terminal("show", "chat", "--db", few, cwd=tmp_path, columns=60)
    assert status == 0
    assert text.count("\\x1b[31m \\x9b \\ud83d") == FEW
    status, text = on_a_terminal("export", "chat", "--db", few, cwd=tmp_path)
    assert status == 0
    assert "exporting" not in text
    assert not {"\x1b", "\x9b"} & set(text)
    assert json.loads(text.splitlines()[1])["body"]["parts"][0]["text"] == said(0)
