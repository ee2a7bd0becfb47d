"""A commit that failed stays undone, also for who opens the file after a crash.

SQLite writes a commit's frames into the WAL, then syncs them. Where only the sync fails, the whole commit lies there:
nobody sees it, but the next recovery would take it for done.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from eventstore import CannotOpen, EventStoreError, Sessions
from tests.crash.disk import Disk, failing_syncs
from tests.unit.talk import ids, message

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def what_a_crash_leaves(path: Path) -> list[str]:
    """What is read from the file and its WAL as they are, without the memory that the living share."""
    folder = path.parent / "after a crash"
    folder.mkdir(exist_ok=True)
    for name in (path.name, f"{path.name}-wal"):
        shutil.copy(path.with_name(name), folder / name)
    with Sessions(folder / path.name) as sessions:
        assert sessions.verify().ok
        return ids(sessions.session().get_history())


@pytest.mark.parametrize("writes", [1, 3])
def test_a_commit_whose_sync_failed_does_not_come_back(tmp_path: Path, writes: int) -> None:
    path = tmp_path / "store.db"
    with Disk() as disk, Sessions(path) as sessions:
        session = sessions.session()
        session.append_message(message("a"))
        disk.before = failing_syncs(1)
        with pytest.raises(CannotOpen):
            session.append_messages([message(f"lost {number}", "x" * 3_000) for number in range(writes)])
        disk.before = None
        assert ids(session.get_history()) == ["a"]
        assert what_a_crash_leaves(path) == ["a"]
        session.append_message(message("b"))
        assert what_a_crash_leaves(path) == ["a", "b"]


def test_a_disk_that_goes_on_failing_raises_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Disk() as disk, Sessions(path) as sessions:
        session = sessions.session()
        session.append_message(message("a"))
        disk.before = failing_syncs()
        for number in range(3):
            with pytest.raises(EventStoreError, match="check the disk"):
                session.append_message(message(f"lost {number}"))
        disk.before = None
        session.append_message(message("b"))
        assert ids(session.get_history()) == what_a_crash_leaves(path) == ["a", "b"]
