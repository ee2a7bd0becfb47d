"""`scavenge()`: a file with every version becomes what it would have been with the current ones only."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings

from eventstore import InvalidArgument, ReadOnlyStore, Sessions
from eventstore.driver import fetch
from eventstore.testing import Write, check_invariants, json_text, writes
from tests.laws.support import reads
from tests.property.tables import tables
from tests.unit.talk import message


def _bodies(path: Path) -> dict[str, Any]:
    """What is kept of each event, and the pieces of its text."""
    connection = apsw.Connection(str(path))
    try:
        return {
            "events": connection.execute("SELECT seq, digest, body FROM event").fetchall(),
            "pieces": connection.execute("SELECT event, n, version, at, text FROM piece").fetchall(),
        }
    finally:
        connection.close()


def _written(path: Path, ops: list[Write], retain: Any) -> Sessions:
    sessions = Sessions(path, retain=retain, durability="normal")
    for session in (sessions.session("a"), sessions.session("b")):
        session.append_message(message("first", "text " * 500))
        session.update_message(message("first", "text " * 500 + "grown"))
        for op in ops:
            op.apply(session)
        session.update_message(message("first", "text " * 500 + "grown, and more"))
    sessions.delete_session("b")
    return sessions


@settings(max_examples=20)
@given(ops=writes())
def test_it_ends_where_the_other_retention_would_have(tmp_path_factory: Any, ops: list[Write]) -> None:
    folder = tmp_path_factory.mktemp("scavenge")
    every, current = folder / "all.db", folder / "current.db"
    _written(current, ops, "current").close()
    with _written(every, ops, "all") as sessions:
        before = reads(sessions)
        dropped = sessions.scavenge()
        assert reads(sessions) == before
        assert sessions.scavenge() == 0
        check_invariants(sessions)
    assert _bodies(every) == _bodies(current)
    assert dropped > 0


def test_it_says_how_many_bodies_went(path: Path) -> None:
    with Sessions(path, retain="all") as sessions:
        session = sessions.session()
        session.append_messages([message("a"), message("b"), message("c")])
        session.update_message(message("a", "again"))  # 1
        session.set_metadata({"n": 1})
        session.set_metadata({"n": 2})  # 2
        session.add_compaction("a and b", "a", "b")
        session.delete_messages(["a", "b"])  # 4, and the summary: 5
        kept = sessions.latest_seq
        assert sessions.scavenge() == 5
        assert sessions.latest_seq == kept, "it logs nothing"
        with sessions.at(3) as view:
            assert [m["parts"][0]["type"] for m in view.session().get_history()] == ["erased", "erased", "text"]
        session.update_message(message("c", "again"))
        assert sessions.scavenge() == 0, "the file keeps current versions only from then on"


def test_it_is_refused_where_it_can_not_be_meant(path: Path) -> None:
    with Sessions(path) as sessions, sessions.transaction(), pytest.raises(InvalidArgument, match="transaction"):
        sessions.scavenge()
    before = tables(path)
    with Sessions(path, read_only=True) as sessions, pytest.raises(ReadOnlyStore):
        sessions.scavenge()
    assert tables(path) == before


def test_space_goes_back_to_the_file_system(path: Path) -> None:
    """Also what is free in pages that still hold something; and the copy in a VACUUM is hardly smaller."""
    with Sessions(path, retain="all", durability="normal") as sessions:
        session = sessions.session()
        session.append_messages([message(f"m{n}", f"text {n} " * 40) for n in range(2_000)])
        session.delete_messages([f"m{n}" for n in range(0, 2_000, 2)])
        assert sessions.scavenge() == 1_000
        before, shown = os.path.getsize(path), reads(sessions)
        told: list[tuple[int, int | None]] = []
        sessions.scavenge(vacuum=True, progress=lambda done, total: told.append((done, total)))
        assert os.path.getsize(path) < 0.7 * before
        assert os.path.getsize(f"{path}-wal") == 0
        assert reads(sessions) == shown
        assert sessions.verify().ok
    packed = os.path.getsize(path)
    assert all(total is not None and 0 < done <= total for done, total in told)
    assert (2_001, 2_001) in told
    connection = apsw.Connection(str(path))
    connection.execute("VACUUM")
    connection.close()
    assert packed < 1.2 * os.path.getsize(path)


def test_a_store_in_memory_is_scavenged_too() -> None:
    with Sessions(retain="all") as sessions:
        session = sessions.session()
        session.append_message(message("a"))
        session.update_message(message("a", "again"))
        assert sessions.scavenge(vacuum=True) == 1
        assert json_text(session.get_history()) == json_text([message("a", "again")])
        assert sessions.verify().ok


def test_a_store_that_remembers_a_growing_text_goes_on(path: Path) -> None:
    with Sessions(path, retain="all") as sessions:
        session = sessions.session()
        text = "a reply " * 400
        session.append_message(message("a", text))
        for number in range(20):
            text += f" and {number}"
            session.update_message(message("a", text))
            if number % 5 == 0:
                sessions.scavenge()
        assert session.get_message("a") == message("a", text)
        assert sessions.verify().ok


def test_who_reads_while_waiting_to_write_is_not_waited_for_as_long_as_it_waits(path: Path) -> None:
    """A copy inside one store reads, and waits to write, while the WAL is emptied: neither may wait for the other."""
    with Sessions(path, busy_timeout=1.0) as store, ThreadPoolExecutor() as threads:
        store.session("a").append_message(message("first"))
        reads = threading.Event()

        def read_and_write() -> None:
            with store._store.read() as connection:
                fetch(connection, "SELECT count(*) FROM event")
                reads.set()
                store.session("b").append_message(message("copied"))

        with store._store.database._lock.held():
            store.session("a").append_message(message("second"))
            copying = threads.submit(read_and_write)
            reads.wait()
            time.sleep(0.1)
            assert not store._store.database.truncate_wal()
        copying.result()
        store.scavenge()
        assert os.path.getsize(f"{path}-wal") == 0
