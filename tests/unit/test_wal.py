"""The WAL's file is longer than it is used where commits are synced: it seldom grows, and nothing rests on the rest."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import apsw
import pytest

from eventstore import Sessions, wal
from tests.unit.talk import ids, message

pytestmark = pytest.mark.skipif(not hasattr(os, "pwrite"), reason="only where a file can be written at a place")

FRAME = 24 + 2_048
HEADER = 32


def beside(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def size(path: Path) -> int:
    return beside(path).stat().st_size


def used(path: Path) -> int:
    """Up to where frames were written."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.pragma("user_version")  # else it has not looked yet
        frames, _ = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
    finally:
        connection.close()
    return HEADER + frames * FRAME


def appended(sessions: Sessions, number: int) -> None:
    sessions.session().append_message(message(f"m{number}", "x" * 300))


@pytest.mark.parametrize(("durability", "few"), [("full", True), ("normal", False)])
def test_its_size_changes_seldom_where_commits_are_synced(path: Path, durability: str, few: bool) -> None:
    with Sessions(path, durability=durability) as sessions:  # type: ignore[arg-type]
        sizes = set()
        for number in range(100):
            appended(sessions, number)
            sizes.add(size(path))
        assert (len(sizes) < 20) is few
        assert (size(path) > used(path)) is few


def test_so_much_is_added_and_no_more(path: Path) -> None:
    with Sessions(path) as sessions, patch.object(wal, "AHEAD_BYTES", (70_000, 200_000)):
        for number in range(150):
            before = used(path) if number else 0
            appended(sessions, number)
            assert size(path) <= max(used(path), before + min(max(before, 70_000), 200_000))
        assert used(path) > 600_000


def test_a_large_commit_and_a_wal_that_begins_anew(path: Path) -> None:
    with Sessions(path) as sessions, patch.multiple(wal, WAL_PAGES=200, RESTART_PAGES=400):
        session = sessions.session()
        for number in range(40):
            appended(sessions, number)
            session.append_messages([message(f"{number} {n}", "y" * 2_000) for n in range(20)])
        assert len(session.get_history()) == 40 * 21
        assert sessions.verify().ok


def others_commits(path: Path, _sessions: Sessions, stack: ExitStack) -> None:
    other = stack.enter_context(Sessions(path, durability="normal"))
    other.session().append_messages([message("theirs", "y" * 90_000)])


def pages_of_its_own(_path: Path, sessions: Sessions, stack: ExitStack) -> None:
    """More than its memory holds, so that SQLite writes some before the commit."""
    writer = sessions._store.database._writer
    assert writer is not None
    writer.pragma("cache_size", 10)
    writer.pragma("cache_spill", 10)
    stack.enter_context(sessions.transaction())
    sessions.session().append_messages([message("theirs", "y" * 90_000)])


@pytest.mark.parametrize("put", [others_commits, pages_of_its_own])
def test_what_was_written_since_its_last_commit_is_left_alone(path: Path, put: Callable[..., None]) -> None:
    with Sessions(path) as sessions, patch.object(wal, "AHEAD_BYTES", (1_000_000, 1_000_000)), ExitStack() as stack:
        appended(sessions, 0)
        put(path, sessions, stack)
        assert 90_000 < size(path) < 200_000  # made longer by the second commit
        appended(sessions, 1)
        if put is pages_of_its_own:
            stack.close()
        assert size(path) > 1_000_000
        assert not any(beside(path).read_bytes()[used(path) :])
        with Sessions(path) as other:
            assert ids(other.session().get_history()) == ["m0", "theirs", "m1"]
            assert other.verify().ok


def test_emptied_by_another_it_is_made_longer_again(path: Path) -> None:
    with Sessions(path) as sessions:
        for number in range(100):
            appended(sessions, number)
        with Sessions(path):
            pass
        assert size(path) == 0
        for number in range(100, 110):
            appended(sessions, number)
        assert size(path) > used(path)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs a folder of open files")
def test_its_file_is_closed_each_time(path: Path) -> None:
    with Sessions(path) as sessions, patch.object(wal, "AHEAD_BYTES", (1, 1)):
        appended(sessions, 0)
        before = len(os.listdir("/proc/self/fd"))
        for number in range(1, 40):
            appended(sessions, number)
        assert len(os.listdir("/proc/self/fd")) == before


def as_it_is(_file: Path, _used: int) -> None:
    pass


def cut_off(file: Path, used: int) -> None:
    os.truncate(file, used)


def cut_in_the_midst(file: Path, used: int) -> None:
    os.truncate(file, used + (file.stat().st_size - used) // 3)


def rubbish(file: Path, used: int) -> None:
    """What a file system that doesn't order its writes may show after a power cut."""
    with file.open("r+b") as wal:
        end = wal.seek(0, os.SEEK_END)
        wal.seek(used)
        wal.write(b"\xa5" * (end - used))


def frames_of_before(file: Path, used: int) -> None:
    """Frames that are right in themselves, but don't go on from the last one."""
    with file.open("r+b") as wal:
        end = wal.seek(0, os.SEEK_END)
        wal.seek(HEADER)
        frames = wal.read(used - HEADER)
        wal.seek(used)
        wal.write((frames * (end // len(frames) + 1))[: end - used])


@pytest.mark.parametrize("spoilt", [as_it_is, cut_off, cut_in_the_midst, rubbish, frames_of_before])
def test_whatever_lies_behind_its_end_a_crash_loses_nothing(path: Path, spoilt: Callable[[Path, int], None]) -> None:
    copy = path.with_name("copy.db")
    with Sessions(path) as sessions:
        for number in range(40):
            appended(sessions, number)
            if number % 6:
                continue
            shutil.copyfile(path, copy)
            shutil.copyfile(beside(path), beside(copy))
            spoilt(beside(copy), used(path))
            with Sessions(copy) as crashed:
                assert ids(crashed.session().get_history()) == [f"m{n}" for n in range(number + 1)]
                appended(crashed, number + 1)
                assert crashed.verify().ok


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
def test_where_it_cannot_be_made_longer_commits_go_on(path: Path, number: int) -> None:
    asked = []

    def refuse(*_arguments: object) -> int:
        asked.append(1)
        raise OSError(number, os.strerror(number))

    with Sessions(path) as sessions, patch.object(os, "pwrite", refuse):
        for n in range(60):
            appended(sessions, n)
        assert 1 <= len(asked) < 10
        assert sessions.verify().ok


def test_where_files_cannot_be_written_at_a_place_no_commit_is_looked_at(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[object] = []
    monkeypatch.delattr(os, "pwrite")
    monkeypatch.setattr(wal._Ahead, "__call__", lambda ahead: looked.append(ahead))
    with Sessions(path) as sessions:
        for number in range(10):
            appended(sessions, number)
        assert size(path) == used(path)
        assert len(ids(sessions.session().get_history())) == 10
    assert looked == []


def test_of_a_disk_that_is_nearly_full_nothing_is_taken(path: Path) -> None:
    with Sessions(path) as sessions, patch.object(wal, "FREE_BYTES", 2**62):
        for number in range(60):
            appended(sessions, number)
            assert size(path) == used(path)


def test_another_file_of_that_name_is_left_alone(path: Path) -> None:
    moved = path.with_name("moved.db")
    with Sessions(path) as sessions:
        for number in range(10):
            appended(sessions, number)
        for file in (path, beside(path), path.with_name(path.name + "-shm")):
            file.rename(file.with_name(file.name.replace(path.name, moved.name)))
        path.write_bytes(b"another")
        beside(path).write_bytes(b"of another")
        for number in range(10, 100):
            appended(sessions, number)
        assert beside(path).read_bytes() == b"of another"
        assert size(moved) == used(moved)
        path.unlink()
        beside(path).unlink()


def test_another_store_that_got_its_name_before_the_first_commit_is_left_alone(path: Path) -> None:
    moved = path.with_name("moved.db")
    Sessions(path).close()  # made before: else SQLite opens no WAL before it commits
    with Sessions(path) as sessions:
        for end in ("", "-wal", "-shm"):
            Path(f"{path}{end}").rename(f"{moved}{end}")
        with Sessions(path, durability="normal") as other:
            appended(other, 0)
            before = size(path)
            for number in range(100):
                appended(sessions, number)
            assert size(path) == before
            assert ids(other.session().get_history()) == ["m0"]
        for end in ("", "-wal", "-shm"):
            Path(f"{moved}{end}").rename(f"{path}{end}")
    with Sessions(path) as sessions:
        assert len(sessions.session().get_history()) == 100


def a_file(file: Path) -> None:
    file.write_bytes(b"of another")


def a_link(file: Path) -> None:
    file.symlink_to(file.with_name("precious"))


def another_name(file: Path) -> None:
    file.hardlink_to(file.with_name("precious"))


def a_pipe(file: Path) -> None:
    os.mkfifo(file)


def a_folder(file: Path) -> None:
    file.mkdir()


def nothing(file: Path) -> None:
    assert not file.exists()


@pytest.mark.parametrize("put", [a_file, a_link, another_name, a_pipe, a_folder, nothing])
def test_what_has_got_the_name_of_the_wal_is_left_alone(path: Path, put: Callable[[Path], None]) -> None:
    """The database keeps its name: as where somebody tidies up, and another process opens the store then."""
    precious = path.with_name("precious")
    precious.write_bytes(b"of another")
    with Sessions(path) as sessions:
        for number in range(10):
            appended(sessions, number)
        beside(path).rename(path.with_name("moved"))
        put(beside(path))
        for number in range(10, 100):
            appended(sessions, number)
        assert precious.read_bytes() == b"of another"
        assert put is not a_file or beside(path).read_bytes() == b"of another"
        assert len(sessions.session().get_history()) == 100
        if put is a_folder:
            beside(path).rmdir()
        else:
            beside(path).unlink(missing_ok=True)
        path.with_name("moved").rename(beside(path))
        assert sessions.verify().ok


def test_two_stores_on_one_file_and_one_that_empties_it(path: Path) -> None:
    with Sessions(path) as first:
        for turn in range(6):
            with Sessions(path) as second:
                for number in range(12):
                    appended(first, turn * 24 + number)
                    appended(second, turn * 24 + 12 + number)
            assert size(path) == 0  # emptied as the second closed
        assert len(first.session().get_history()) == 144
        assert first.verify().ok
