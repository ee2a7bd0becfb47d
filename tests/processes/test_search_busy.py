"""Searches while somebody else keeps the write lock, or where the index can't be written: they find everything."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from eventstore import SearchResult, Sessions, StoreBusy, index, weighing
from tests.processes.running import hear, running, say
from tests.processes.test_search_killed import cursor
from tests.unit.talk import message

HOLD = """
with Sessions(sys.argv[1], durability="normal") as sessions:
    while True:
        with sessions.transaction():
            print("held")
            sys.stdin.readline()
        print("free")
        sys.stdin.readline()
"""


@contextmanager
def opened(path: Path) -> Iterator[Sessions]:
    """A store that waits for nobody, and keeps old texts: what finds one of them isn't saved by its being gone."""
    with Sessions(path, durability="normal", busy_timeout=0.02, retain="all") as sessions:
        yield sessions


def found(results: list[SearchResult]) -> list[str]:
    return sorted(result.id for result in results)


def in_memory(sessions: Sessions) -> int | None:
    """How many texts the store keeps indexed in memory; `None` when it keeps no index there."""
    connection = sessions._store.database._aside._connection
    state = None if connection is None else index.state(connection)
    return None if state is None else state.messages


@pytest.mark.parametrize("indexed", [0, 1, 2])
def test_another_process_keeps_the_lock(path: Path, indexed: int) -> None:
    """`indexed` texts of three are in the file's index."""
    with opened(path) as sessions:
        session = sessions.session()
        for number, text in enumerate(("fox", "fox wolf", "fox lamb")):
            if number == indexed and number:
                session.search("fox")
            session.append_message(message(f"m{number}", text))
        with running(HOLD, path) as holder:
            assert hear(holder) == "held"
            with pytest.raises(StoreBusy):
                session.append_message(message("refused", "fox"))
            assert found(sessions.search("fox")) == found(session.search("fox")) == ["m0", "m1", "m2"]
            assert found(sessions.search("wolf fox")) == ["m1"]
            assert in_memory(sessions) == 3 - indexed
            say(holder)
            assert hear(holder) == "free"
            session.update_message(message("m2", "fox"))  # was indexed in memory
            session.update_message(message("m0", "wolf"))  # was indexed in the file, if anything was
            session.append_message(message("m3", "fox"))
            say(holder)
            assert hear(holder) == "held"
            assert found(sessions.search("fox")) == ["m1", "m2", "m3"]
            assert found(sessions.search("lamb")) == []
            assert found(sessions.search("wolf")) == ["m0", "m1"]
            assert cursor(path) == (indexed or None)
            say(holder)
            assert hear(holder) == "free"
            assert found(sessions.search("fox")) == ["m1", "m2", "m3"]
            assert cursor(path) == sessions.latest_seq
            assert in_memory(sessions) is None
        assert sessions.verify().problems == ()


def test_another_thread_keeps_the_store(path: Path) -> None:
    with opened(path) as sessions:
        sessions.session().append_message(message("a", "fox"))
        held, done = threading.Event(), threading.Event()

        def hold() -> None:
            with sessions.transaction():
                sessions.session().append_message(message("b", "fox"))
                held.set()
                done.wait(10)

        thread = threading.Thread(target=hold)
        thread.start()
        assert held.wait(10)
        try:
            assert found(sessions.search("fox")) == ["a"]
        finally:
            done.set()
            thread.join()
        assert found(sessions.search("fox")) == ["a", "b"]


def test_the_disk_is_full(path: Path) -> None:
    with opened(path) as sessions:
        session = sessions.session()
        session.append_messages([message(f"m{n}", f"fox number{n}") for n in range(300)])
        writer = sessions._store.database._writer
        assert writer is not None
        writer.pragma("max_page_count", writer.pragma("page_count"))
        assert len(sessions.search("fox", limit=None)) == 300
        assert found(sessions.search("number7")) == ["m7"]
        assert cursor(path) is None
        writer.pragma("max_page_count", 1_000_000)
        assert len(sessions.search("fox", limit=None)) == 300
        assert cursor(path) == 300
        assert sessions.verify().problems == ()


def test_read_only_only_what_is_behind_is_indexed_in_memory(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And less again when another's search has moved the file's index; all of it when that was dropped."""
    with opened(path) as writer:
        session = writer.session()
        session.append_messages([message(f"m{n}", "fox") for n in range(50)])
        writer.search("fox")
        session.append_messages([message("n0", "fox"), message("n1", "wolf")])
        with Sessions(path, read_only=True) as reader:
            assert len(reader.search("fox", limit=None)) == 51
            assert in_memory(reader) == 2
            with monkeypatch.context() as patching:
                patching.setattr(weighing, "WEIGHED", 3)
                assert found(reader.search("fox", limit=1)) == ["n0"]  # the newest are looked at, wherever they are
            session.update_message(message("m0", "wolf"))
            assert found(reader.search("wolf")) == ["m0", "n1"]
            assert in_memory(reader) == 3
            writer.search("fox")
            session.append_message(message("n2", "wolf"))
            assert found(reader.search("wolf")) == ["m0", "n1", "n2"]
            assert in_memory(reader) == 1
            connection = apsw.Connection(str(path))
            connection.execute("DROP TABLE search; DROP TABLE search_index").fetchall()
            connection.close()
            assert found(reader.search("wolf")) == ["m0", "n1", "n2"]
            assert in_memory(reader) == 53
