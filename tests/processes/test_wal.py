"""The write-ahead log beside the file: it goes when a store closes, and no reader makes it grow."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import pytest

from eventstore import Sessions, wal
from tests.processes.running import hear, running
from tests.unit.talk import chain, ids, message

LARGE = "x" * 20_000


def wal_size(path: Path) -> int:
    wal = path.with_name(path.name + "-wal")
    return wal.stat().st_size if wal.exists() else 0


def write_megabytes(sessions: Sessions, megabytes: int) -> None:
    for _ in range(megabytes * 50):
        sessions.session("large").upsert_message(message("m", f"{sessions.latest_seq}" + LARGE))


def test_it_stays_bounded_while_much_is_written_and_goes_at_the_end(path: Path) -> None:
    with Sessions(path, durability="normal") as sessions:
        largest = 0
        for _ in range(6):
            write_megabytes(sessions, 2)
            largest = max(largest, wal_size(path))
        assert 0 < largest < 8 * 1024 * 1024
    assert wal_size(path) == 0
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("newest_first", [False, True])
def test_slow_readers_do_not_make_it_grow(path: Path, newest_first: bool) -> None:
    """Half-read histories, trees, event logs and views hold no read transaction between two windows."""
    with Sessions(path, durability="normal") as sessions:
        session = sessions.session()
        chain(session, *(f"m{n}" for n in range(600)))
        slow = session.history(newest_first=newest_first)
        open_ended = [slow, session.tree(), sessions.events(), session.events(), sessions.list_sessions()]
        for each in open_ended:
            next(each)
        with sessions.at(300) as view:
            seen = view.session().history()
            next(seen)
            write_megabytes(sessions, 10)
            assert wal_size(path) < 8 * 1024 * 1024
            assert len(list(seen)) == 299
        session.append_message(message("while it is read"))
        assert len(list(slow)) == 599
        with Sessions(path, durability="normal") as other:
            next(other.session().history())
            write_megabytes(sessions, 10)
            assert wal_size(path) < 8 * 1024 * 1024


def test_a_store_that_closes_beside_another_empties_it(path: Path) -> None:
    with Sessions(path, durability="normal") as first, Sessions(path, durability="normal") as second:
        write_megabytes(first, 1)
        second.session().append_message(message("a"))
        second.close()
        assert wal_size(path) == 0
        first.session().append_message(message("b"))
        assert ids(first.session().get_history()) == ["a", "b"]
        assert wal_size(path) > 0
    assert wal_size(path) == 0


def test_a_file_without_syncs_at_each_commit_is_whole_too(path: Path) -> None:
    for durability in ("normal", "full", "normal"):
        with Sessions(path, durability=durability) as sessions:
            session = sessions.session()
            session.append_message(message(f"m{sessions.latest_seq}"))
            assert sessions.verify().ok
    with Sessions(path) as sessions:
        assert ids(sessions.session().get_history()) == ["m0", "m1", "m2"]


def test_what_was_deleted_is_gone_from_file_and_wal_after_closing(path: Path) -> None:
    with Sessions(path) as sessions:
        session = sessions.session()
        session.append_messages([message("a", "a first secret"), message("b", "a second secret"), message("c", "kept")])
        session.set_metadata({"title": "a third secret"})
        session.delete_messages(["a"])
        session.update_message(message("b", "changed"))
        session.set_metadata({"title": "changed"})
        sessions.session("gone").append_message(message("x", "a fourth secret"))
        sessions.delete_session("gone")
    assert b"secret" not in path.read_bytes()
    assert b"kept" in path.read_bytes()
    assert [file.name for file in path.parent.iterdir()] == [path.name]


READ_ON = """
sessions = Sessions(sys.argv[1], durability="normal")
print("ready", flush=True)
while True:
    sessions.session("read").get_history()
"""


def largest_among_readers(path: Path) -> int:
    """The size that the WAL reaches while 6.4 MB go in by small commits, and other processes read all the time."""
    largest = 0
    with Sessions(path, durability="normal") as sessions:
        chain(sessions.session("read"), *(f"m{n}" for n in range(1_500)))
        with ExitStack() as readers:
            for _ in range(3):
                assert hear(readers.enter_context(running(READ_ON, path))) == "ready"
            for n in range(160):
                sessions.session("large").append_message(message(f"m{n}", LARGE * 2))
                time.sleep(0.001)  # as long as a disk takes, wherever the file is
                largest = max(largest, wal_size(path))
    return largest


def test_constant_readers_do_not_make_it_grow(path: Path) -> None:
    """Of three there is always one that reads: the WAL begins anew all the same."""
    with patch.multiple(wal, WAL_PAGES=200, RESTART_PAGES=400):
        assert largest_among_readers(path) < 4 * 1024 * 1024
