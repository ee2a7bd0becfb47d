"""`read_only=True`: every read and no trace, whether a writer is there, comes, goes or died."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from eventstore import CannotOpen, DamagedStore, ReadOnlyStore, Sessions, StoreBusy
from eventstore.testing import same_json
from tests.unit.talk import Heard, chain, ids, message


@pytest.fixture
def store(path: Path) -> Path:
    """A store of two messages that nobody has open."""
    with Sessions(path) as sessions:
        chain(sessions.session(), "a", "b")
        sessions.session().set_metadata({"title": "old"})
    return path


@pytest.fixture
def reader(store: Path) -> Iterator[Sessions]:
    with Sessions(store, read_only=True) as opened:
        yield opened


def beside(path: Path) -> list[str]:
    """The names of the files in its folder."""
    return sorted(file.name for file in path.parent.iterdir())


def test_every_read_works_and_nothing_is_made_or_changed(store: Path) -> None:
    before = store.read_bytes(), store.stat().st_mtime_ns
    with Sessions(store, read_only=True) as reader:
        session = reader.session()
        heard = Heard()
        reader.subscribe(heard, after=0)
        assert ids(session.get_history()) == ids(session.history()) == ["a", "b"]
        assert ids(session.tree()) == ["a", "b"]
        assert session.get_recent_history().total_content_bytes == session.info().bytes
        assert [info.session_id for info in reader.list_sessions()] == [""]
        assert session.get_metadata() == {"title": "old"}
        assert reader.poll() == 0
        assert heard.seqs == [event.seq for event in reader.events()] == [1, 2, 3]
        with reader.at(1) as view:
            assert ids(view.session().get_history()) == ["a"]
        assert reader.verify().ok
        assert beside(store) == [store.name]
    assert beside(store) == [store.name]
    assert before == (store.read_bytes(), store.stat().st_mtime_ns)


def test_every_write_is_refused(reader: Sessions) -> None:
    session = reader.session()
    for write in (
        lambda: session.append_message(message("c")),
        lambda: session.append_messages([]),
        lambda: session.update_message(message("a", "new")),
        lambda: session.delete_messages(["a"]),
        lambda: session.clear_messages(),
        lambda: session.select_leaf("a"),
        lambda: session.set_metadata({}),
        lambda: reader.delete_session(""),
        lambda: reader.rebuild(),
        lambda: reader.transaction().__enter__(),
    ):
        with pytest.raises(ReadOnlyStore, match="read_only=True"):
            write()


def test_a_writer_that_comes_and_goes_is_followed(store: Path, reader: Sessions) -> None:
    heard = Heard()
    reader.subscribe(heard)
    for number in range(3):
        with Sessions(store, durability="normal") as writer:
            writer.session().append_message(message(f"{number} while open"))
            assert reader.poll() == 1
            assert ids(reader.session().get_history())[-1] == f"{number} while open"
            writer.session().append_message(message(f"{number} unseen until it closed"))
        assert ids(reader.session().get_history())[-1] == f"{number} unseen until it closed"
        assert reader.poll() == 1
    assert heard.seqs == list(range(4, 10))
    assert reader.verify().ok


def test_a_writer_that_was_there_first_is_followed(store: Path) -> None:
    with Sessions(store, durability="normal") as writer:
        writer.session().append_message(message("c"))
        with Sessions(store, read_only=True) as reader:
            heard = Heard()
            reader.subscribe(heard)
            assert ids(reader.session().get_history()) == ["a", "b", "c"]
            writer.session().append_message(message("d"))
            assert reader.poll() == 1
            assert heard.seqs == [5]
            reading = reader.session().history()
            assert next(reading)["id"] == "a"
        writer.session().append_message(message("e"))
    assert beside(store) == [store.name]


def test_a_history_goes_on_over_the_coming_of_a_writer(store: Path) -> None:
    with Sessions(store, durability="normal") as writer:
        chain(writer.session("long"), *(f"m{n}" for n in range(200)))
    with Sessions(store, read_only=True) as reader:
        reading = reader.session("long").history()
        found = [next(reading)]
        with Sessions(store, durability="normal") as writer:
            writer.session("long").delete_messages(["m100"])
            found += [next(reading) for _ in range(60)]
            writer.session("long").update_message(message("m150", "new"))
        found += reading
    assert ids(found) == [f"m{n}" for n in range(200) if n != 100]
    assert same_json(found[149], message("m150", "new"))


def test_what_was_read_without_locks_while_it_was_written_is_not_given_out(store: Path, reader: Sessions) -> None:
    """Nobody has the file open, so a reader takes no locks; a writer that writes into it meanwhile spoils the read."""
    database = reader._store.database  # the moment between two statements of one read can't be met from outside
    busy = pytest.raises(StoreBusy, match="try again")
    with busy, database.read(), Sessions(store, durability="normal") as writer:
        chain(writer.session("other"), *(f"m{n}" for n in range(50)))
    assert len(reader.session("other").get_history()) == 50


def write_much(store: Path) -> None:
    """Changes many pages of the file, and leaves it without a WAL."""
    with Sessions(store, durability="normal") as writer:
        writer.session().delete_messages(["a"])
        chain(writer.session("other"), *(f"m{n}" for n in range(50)))


def test_a_check_of_what_is_written_to_meanwhile_is_no_check(store: Path, reader: Sessions) -> None:
    writing = True

    def progress(_done: int, _total: int | None) -> None:
        if writing:
            write_much(store)

    with pytest.raises(StoreBusy, match="try again"):
        reader.verify(progress=progress)
    writing = False
    assert reader.verify(progress=progress).ok


def test_the_past_is_the_same_whoever_writes_meanwhile(store: Path, reader: Sessions) -> None:
    with Sessions(store) as writer:
        writer.rebuild()
        chain(writer.session("second"), "x", "y")
    with reader.at(2) as view, reader.at(5) as later:
        assert ids(view.session().get_history()) == ["a", "b"]
        with pytest.raises(StoreBusy, match="try again"), later._past.read_session("second"):
            write_much(store)
        for _ in range(2):
            assert ids(view.session().get_history()) == ["a", "b"]
            assert [info.session_id for info in view.list_sessions()] == [""]
            assert ids(later.session("second").get_history()) == ["x", "y"]
            assert [info.session_id for info in later.list_sessions()] == ["second", ""]
            write_much(store)
        with Sessions(store, durability="normal") as writer:
            writer.session().append_message(message("there"))
            assert ids(view.session().get_history()) == ["a", "b"]


@pytest.mark.parametrize("kind", [ValueError, LookupError, AssertionError])
def test_an_error_of_a_read_while_the_file_was_written_is_no_damage(
    store: Path, reader: Sessions, kind: type[Exception]
) -> None:
    def read(meanwhile: Callable[[], object]) -> None:
        with reader._store.database.read():
            meanwhile()
            raise kind("what pages say that don't fit together")

    with pytest.raises(StoreBusy, match="try again"):
        read(lambda: write_much(store))
    with pytest.raises(DamagedStore):
        read(lambda: None)


def test_readers_in_many_threads_never_see_less_than_before(store: Path, reader: Sessions) -> None:
    """Connections without locks that were open when the writer came are not used again."""
    done = threading.Event()
    wrong: list[object] = []

    def read() -> None:
        seen = 0
        while not done.is_set():
            try:
                found = len(reader.session().get_history())
            except StoreBusy:
                continue
            if found < seen:
                wrong.append((seen, found))
            seen = found

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(8):
        with Sessions(store, durability="normal") as writer:
            chain(writer.session(), f"{number} one", f"{number} two")
            expected = len(writer.session().get_history())
        assert len(reader.session().get_history()) == expected
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_file_that_has_gone_is_our_own_error(store: Path, reader: Sessions) -> None:
    os.rename(store, store.with_suffix(".moved"))
    with pytest.raises(CannotOpen, match="gone"):
        reader.session().get_history()
    os.rename(store.with_suffix(".moved"), store)
    assert ids(reader.session().get_history()) == ["a", "b"]


def test_a_file_that_another_took_the_place_of_is_read_anew(store: Path, reader: Sessions) -> None:
    assert ids(reader.session().get_history()) == ["a", "b"]
    with Sessions(store.with_suffix(".new")) as other:
        chain(other.session(), "x", "y", "z")
    os.replace(store.with_suffix(".new"), store)
    assert ids(reader.session().get_history()) == ["x", "y", "z"]


def test_a_missing_file_is_not_made(path: Path) -> None:
    with pytest.raises(CannotOpen, match="creates none"):
        Sessions(path, read_only=True)
    assert beside(path) == []


def test_memory_has_nothing_to_read() -> None:
    with pytest.raises(CannotOpen, match="in memory begins empty"):
        Sessions(":memory:", read_only=True)
