"""A process that is killed while a search makes the index, or brings it up to date: the file is whole, and the next
search finds everything."""

from __future__ import annotations

import time
from pathlib import Path

import apsw
import pytest

from eventstore import Sessions
from tests.processes.running import hear, running
from tests.unit.talk import message

COUNT = 600

SEARCH = """
from eventstore import index, texts
texts.BATCH_MESSAGES = 50
add, read_batch = index.add, texts.read_batch
where, at = sys.argv[2], int(sys.argv[3])

def stop():
    print("there")
    sys.stdin.readline()

def stopping_add(connection, batch):
    if where == "before it is written" and batch.last >= at:
        stop()
    add(connection, batch)
    if where == "before the commit" and batch.last >= at:
        stop()

def stopping_read(connection, after, upto):
    if where == "between two transactions" and after >= at:
        stop()
    return read_batch(connection, after, upto)

index.add, texts.read_batch = stopping_add, stopping_read
with Sessions(sys.argv[1], durability="normal") as sessions:
    print("begins")
    sessions.search("word")
    print("done")
    sys.stdin.readline()
"""


def fill(path: Path, searched: bool = False) -> None:
    """A store of which, where it was searched, all is indexed but some replaced and some new messages."""
    with Sessions(path, durability="normal") as sessions:
        session = sessions.session()
        session.append_messages([message(f"m{n}", f"word first{n}") for n in range(COUNT)])
        if searched:
            session.search("word")
            for number in range(0, COUNT, 10):
                session.update_message(message(f"m{number}", f"word changed{number}"))
            session.append_messages([message(f"n{n}", f"word second{n}") for n in range(COUNT)])


def cursor(path: Path) -> int | None:
    """Up to where the file's index reached; `None` without one."""
    connection = apsw.Connection(str(path))
    try:
        if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'search_index'").fetchall():
            return None
        found: int = connection.execute("SELECT seq FROM search_index").fetchall()[0][0]  # type: ignore[assignment]
        return found
    finally:
        connection.close()


def check_whole(path: Path) -> None:
    with Sessions(path, read_only=True) as reader:
        total = sum(info.messages for info in reader.list_sessions())
        assert len(reader.search("word", limit=None)) == total
    with Sessions(path, durability="normal") as sessions:
        assert sessions.verify().problems == ()
        assert len(sessions.search("word", limit=None)) == total
        assert len(sessions.search("changed500")) == (total > COUNT)
        assert len(sessions.search("first500")) == (total == COUNT)
        assert len(sessions.search("first501")) == 1
        assert sessions.verify().problems == ()
    assert cursor(path) is not None


@pytest.mark.parametrize(
    ("where", "searched"),
    [
        ("before the commit", False),
        ("between two transactions", False),
        ("before it is written", True),
        ("before the commit", True),
    ],
    ids=["first-commit", "first-between", "later-written", "later-commit"],
)
def test_killed_at_a_step_of_making_the_index(tmp_path: Path, where: str, searched: bool) -> None:
    path = tmp_path / "store.db"
    fill(path, searched)
    before = cursor(path)
    with running(SEARCH, path, where, (before or 0) + 300) as process:
        assert hear(process) == "begins"
        assert hear(process) == "there"
        process.kill()
    reached = cursor(path)
    assert reached is not None
    assert (before or 0) < reached < (before or 0) + 400
    check_whole(path)


def test_killed_in_the_first_transaction_nothing_of_an_index_is_left(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    fill(path)
    with running(SEARCH, path, "before the commit", 0) as process:
        assert [hear(process), hear(process)] == ["begins", "there"]
        process.kill()
    assert cursor(path) is None
    check_whole(path)


@pytest.mark.parametrize("milliseconds", [5, 40])
def test_killed_at_any_moment(tmp_path: Path, milliseconds: int) -> None:
    path = tmp_path / "store.db"
    fill(path)
    with running(SEARCH, path, "nowhere", 0) as process:
        assert hear(process) == "begins"
        time.sleep(milliseconds / 1_000)
        process.kill()
    check_whole(path)
