"""One file and several processes: who holds it, who may open it, and what a process that died leaves."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from eventstore import CannotOpen, Sessions
from tests.processes.running import finish, hear, run, run_unprivileged, running, say, start
from tests.unit.talk import chain, ids, message


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user of the machine can enter."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    for each in (folder, *folder.rglob("*")):
        each.chmod(0o755)
    shutil.rmtree(folder)


# ---- opening a new file


OPEN_NEW = """
print("ready", flush=True)
begin = float(sys.stdin.readline())
for number in range(int(sys.argv[2])):
    while time.time() < begin + number * 0.05:
        time.sleep(0.0005)
    with Sessions(f"{sys.argv[1]}/{number}.db", durability="normal") as sessions:
        sessions.session().append_message(message(f"of {os.getpid()}"))
"""


def test_eight_processes_may_open_a_new_file_at_the_same_moment(tmp_path: Path) -> None:
    rounds, together = 10, 8
    processes = [start(OPEN_NEW, tmp_path, rounds) for _ in range(together)]
    assert [hear(process) for process in processes] == ["ready"] * together
    begin = time.time() + 0.1
    for process in processes:
        say(process, str(begin))
    for process in processes:
        finish(process)
    for number in range(rounds):
        with Sessions(tmp_path / f"{number}.db") as sessions:
            assert len(sessions.session().get_history()) == together
            assert sessions.latest_seq == together
    with Sessions(tmp_path / "0.db") as sessions:
        assert sessions.verify().ok


# ---- locks


HOLDS_A_LOCK = """
import fcntl
with open(sys.argv[1], "r+b") as file:  # the bytes on which SQLite holds SHARED as long as a connection is open
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)
    except OSError:
        print("held")
"""

LOOK_INTO_IT = """
import sqlite3
connection = sqlite3.connect(sys.argv[1])
print(connection.execute("select count(*) from event").fetchone()[0])
connection.close()
"""


def test_opening_another_store_does_not_drop_the_locks_of_the_first(path: Path) -> None:
    """Closing any descriptor of a file drops all POSIX locks that a process has on it: none may be opened beside
    SQLite. Without its lock, the next program that closes the file would remove the WAL from under the store."""
    with Sessions(path) as first:
        first.session().append_message(message("a"))
        assert run(HOLDS_A_LOCK, path) == "held"
        with Sessions(path), Sessions(path, read_only=True) as reader:
            assert ids(reader.session().get_history()) == ["a"]
        assert run(HOLDS_A_LOCK, path) == "held"
        assert run(LOOK_INTO_IT, path) == "1"  # another program, and an SQLite of its own
        first.session().append_message(message("b"))
        assert run(LOOK_INTO_IT, path) == "2"
        assert first.verify().ok
    assert run(HOLDS_A_LOCK, path) == ""


# ---- a file system without shared memory


class WithoutMemory(apsw.VFS):
    """SQLite's file layer for systems whose processes can't share memory."""

    def __init__(self) -> None:
        super().__init__("without memory", "unix-dotfile", makedefault=True)


@pytest.fixture
def _without_memory() -> Iterator[None]:
    layer = WithoutMemory()
    yield
    layer.unregister()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs SQLite's file layer of POSIX")
def test_a_file_system_without_shared_memory_is_named_as_the_cause(
    path: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with Sessions(path) as sessions:
        chain(sessions.session(), "a", "b")
    before = path.read_bytes()
    request.getfixturevalue("_without_memory")
    for each in (path, tmp_path / "new.db"):
        with pytest.raises(CannotOpen, match="share memory between processes") as caught:
            Sessions(each)
        assert str(each) in str(caught.value)
    with Sessions(path, read_only=True) as reader:  # nobody has it open, so that nothing is to be shared
        assert ids(reader.session().get_history()) == ["a", "b"]
    assert path.read_bytes() == before


# ---- files and folders that can't be written, or read


def test_a_file_that_cannot_be_written_opens_to_be_read(open_folder: Path) -> None:
    path = open_folder / "store.db"
    with Sessions(path) as sessions:
        chain(sessions.session(), "a", "b")
    path.chmod(0o444)
    open_folder.chmod(0o555)
    script = """
    print(failing(lambda: Sessions(sys.argv[1])))
    with Sessions(sys.argv[1], read_only=True) as sessions:
        print(ids(sessions.session().get_history()), sessions.verify().ok, sessions.at(1).session().get_message("b"))
        print(failing(lambda: sessions.session().append_message(message("c"))))
    """
    before = path.read_bytes()
    assert run_unprivileged(script, path).splitlines() == [
        "ReadOnlyStore", "['a', 'b'] True None", "ReadOnlyStore",
    ]  # fmt: skip
    assert [file.name for file in open_folder.iterdir()] == [path.name]
    assert path.read_bytes() == before


def test_a_file_in_a_folder_that_cannot_be_written_is_our_own_error(open_folder: Path) -> None:
    path = open_folder / "store.db"
    with Sessions(path) as sessions:
        chain(sessions.session(), "a", "b")
    path.chmod(0o666)
    open_folder.chmod(0o555)
    script = """
    print(failing(lambda: Sessions(sys.argv[1])))
    print(failing(lambda: Sessions(Path(sys.argv[1]).with_name("new.db"))))
    print(ids(Sessions(sys.argv[1], read_only=True).session().get_history()))
    """
    assert run_unprivileged(script, path).splitlines() == ["ReadOnlyStore", "CannotOpen", "['a', 'b']"]
    assert [file.name for file in open_folder.iterdir()] == [path.name]


def test_what_cannot_be_read_is_our_own_error(open_folder: Path) -> None:
    path = open_folder / "locked" / "store.db"
    path.parent.mkdir()
    with Sessions(path) as sessions:
        chain(sessions.session(), "a", "b")
    script = """
    print(failing(lambda: Sessions(sys.argv[1])), failing(lambda: Sessions(sys.argv[1], read_only=True)))
    """
    path.chmod(0o000)
    assert run_unprivileged(script, path) == "CannotOpen CannotOpen"
    path.parent.chmod(0o000)
    assert run_unprivileged(script, path) == "CannotOpen CannotOpen"


# ---- a process that died


WRITE_AND_WAIT = """
sessions = Sessions(sys.argv[1])
for name in "abc":
    sessions.session().append_message(message(name))
print("written")
sys.stdin.readline()
"""


def killed_writer(path: Path) -> None:
    """A store whose writer was killed: all that it wrote is in the WAL."""
    with running(WRITE_AND_WAIT, path) as writer:
        assert hear(writer) == "written"
        writer.kill()
        writer.wait()


def test_what_a_killed_process_wrote_is_there(path: Path) -> None:
    killed_writer(path)
    with Sessions(path) as sessions:
        assert ids(sessions.session().get_history()) == ["a", "b", "c"]
        assert sessions.verify().ok
        sessions.session().append_message(message("d"))
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("with_shm", [True, False])
def test_a_reader_changes_nothing_of_what_a_killed_process_left(path: Path, with_shm: bool) -> None:
    killed_writer(path)
    shm, wal = (path.with_name(path.name + ending) for ending in ("-shm", "-wal"))
    if not with_shm:
        shm.unlink()
    before = path.read_bytes(), wal.read_bytes()
    with Sessions(path, read_only=True) as reader:
        assert ids(reader.session().get_history()) == ["a", "b", "c"]
        assert reader.verify().ok
        assert reader.latest_seq == 3
    assert (path.read_bytes(), wal.read_bytes()) == before


def test_a_reader_sees_what_another_process_writes_and_outlives_it(path: Path) -> None:
    script = """
    sessions = Sessions(sys.argv[1])
    for line in sys.stdin:
        sessions.session().append_message(message(line.strip()))
        print("written")
    """
    with Sessions(path) as sessions:
        sessions.session().append_message(message("a"))
    with Sessions(path, read_only=True) as reader:
        heard: list[int] = []
        reader.subscribe(lambda event: heard.append(event.seq))
        with running(script, path) as writer:
            for name in ("b", "c"):
                say(writer, name)
                assert hear(writer) == "written"
                assert reader.poll() == 1
                assert ids(reader.session().get_history())[-1] == name
            say(writer, "d")
            assert hear(writer) == "written"
            os.kill(writer.pid, signal.SIGKILL)
            writer.wait()
        assert reader.poll() == 1
        assert heard == [2, 3, 4]
        assert ids(reader.session().get_history()) == ["a", "b", "c", "d"]
