"""Opening: what is a store, what isn't, and what is done to a file that isn't."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from eventstore import (
    CannotOpen,
    InvalidArgument,
    NewerStore,
    NotAStore,
    ReadOnlyStore,
    Sessions,
    StoreBusy,
    schema,
)
from eventstore.driver import Connection
from tests.unit.files import everything, patch, refused
from tests.unit.talk import chain, ids, message

# ---- where it is


def test_a_new_file_is_made_and_a_closed_store_leaves_one_file(path: Path) -> None:
    with Sessions(path) as sessions:
        sessions.session().append_message(message("a"))
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    with Sessions(path) as sessions:
        assert ids(sessions.session().get_history()) == ["a"]


def test_an_empty_path_is_refused() -> None:
    for empty in ("", b""):
        with pytest.raises(InvalidArgument, match="empty"):
            Sessions(empty)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [None, 1, 1.5, [], object, True], ids=repr)
def test_what_is_no_path_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidArgument, match="path must be"):
        Sessions(wrong)


def test_a_name_that_sqlite_cannot_have_is_refused(tmp_path: Path) -> None:
    for wrong in (os.fsencode(tmp_path) + b"/\xff.db", f"{tmp_path}/a\0b.db", f"{tmp_path}/\ud83d.db"):
        with pytest.raises(InvalidArgument, match="UTF-8"):
            Sessions(wrong)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def linked(folder: Path, to: str, name: str = "link.db") -> Path:
    """A symbolic link of that name."""
    link = folder / name
    link.symlink_to(to)
    return link


def test_a_link_is_the_file_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "links").mkdir()
    store = tmp_path / "data" / "store.db"
    link = linked(tmp_path / "links", "../data/store.db")
    again = linked(tmp_path, "links/link.db", "again.db")
    for made, place in enumerate((link, store, again, link), 1):  # the first of them makes the file
        with Sessions(place) as sessions:
            sessions.session().append_message(message(f"m{made}"))
            with Sessions(again, read_only=True) as reader, Sessions(store) as other:
                assert len(reader.session().get_history()) == made
                other.session("another").append_message(message(f"m{made}"))
                assert len(reader.session("another").get_history()) == made
            assert sessions.verify().ok
    with Sessions(link, read_only=True) as reader:  # nobody else has it open
        assert ids(reader.session().get_history()) == ["m1", "m2", "m3", "m4"]
    assert sorted(everything(tmp_path / "data")) == ["store.db"]
    assert sorted(everything(tmp_path / "links")) == ["link.db"]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs a folder of open files")
def test_a_file_by_a_number_that_it_is_open_with(store: Path) -> None:
    with store.open("rb") as file, Sessions(f"/proc/self/fd/{file.fileno()}") as sessions:
        chain(sessions.session(), "d")
        assert sorted(everything(store.parent)) == [f"{store.name}{end}" for end in ("", "-shm", "-wal")]


def test_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    for place in (linked(tmp_path, "circle.db", "circle.db"), linked(tmp_path, "no/folder.db")):
        for read_only in (False, True):
            refused(place, CannotOpen, read_only=read_only)
    with pytest.raises(InvalidArgument, match="UTF-8"):
        Sessions(linked(tmp_path, "\udcff.db", "odd.db"))


@pytest.mark.parametrize("read_only", [False, True])
def test_a_missing_folder_is_named(tmp_path: Path, read_only: bool) -> None:
    path = tmp_path / "nowhere" / "a.db"
    said = refused(path, CannotOpen, read_only=read_only)
    assert str(path) in said
    assert "folder" in said
    assert not path.parent.exists()
    refused(tmp_path / "nowhere" / "at" / "all" / "a.db", CannotOpen, read_only=read_only)
    refused(tmp_path / ("x" * 300) / "a.db", CannotOpen, read_only=read_only)
    refused(tmp_path / ("x" * 300), CannotOpen, read_only=read_only)


@pytest.mark.parametrize("read_only", [False, True])
def test_a_folder_is_no_store(tmp_path: Path, read_only: bool) -> None:
    (tmp_path / "folder").mkdir()
    said = refused(tmp_path / "folder", CannotOpen, read_only=read_only)
    assert "folder" in said
    assert str(tmp_path) in said


@pytest.mark.parametrize("read_only", [False, True])
def test_a_pipe_is_no_store_and_nobody_waits_for_it(tmp_path: Path, read_only: bool) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CannotOpen, match="plain file"):
        Sessions(tmp_path / "pipe", read_only=read_only)


@pytest.mark.parametrize(
    "name", ["a?b.db", "a%41.db", "a#b.db", "a b.db", "ключ 消息 👍.db", "file:a.db", "a'b\".db", "a\nb", ":memory"]
)
def test_any_name_is_that_of_one_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with Sessions(path) as sessions:
        chain(sessions.session(), "a", "b")
    assert [file.name for file in tmp_path.iterdir()] == [name]
    with Sessions(str(path), read_only=True) as sessions:
        assert ids(sessions.session().get_history()) == ["a", "b"]
    with Sessions(os.fsencode(path)) as sessions:  # type: ignore[arg-type]
        sessions.session().append_message(message("c"))
        with Sessions(path, read_only=True) as reader:
            assert ids(reader.session().get_history()) == ["a", "b", "c"]
    assert [file.name for file in tmp_path.iterdir()] == [name]


class Somewhere:
    """A path of one's own kind."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __fspath__(self) -> str:
        return str(self._path)


def test_any_path_like_object_names_a_file(path: Path) -> None:
    with Sessions(Somewhere(path)) as sessions:
        chain(sessions.session(), "a")
    assert path.exists()


@pytest.fixture
def _elsewhere(tmp_path: Path) -> Iterator[None]:
    before = Path.cwd()
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    os.chdir(tmp_path / "one")
    yield
    os.chdir(before)


@pytest.mark.usefixtures("_elsewhere")
def test_a_relative_path_stays_where_it_was(tmp_path: Path) -> None:
    """Readers of their own connections open the same file, wherever the process has gone meanwhile."""
    with Sessions("a.db") as sessions:
        sessions.session().append_message(message("a"))
        os.chdir(tmp_path / "two")
        assert ids(sessions.session().get_history()) == ["a"]
        with sessions.at(1) as view:
            assert ids(view.session().get_history()) == ["a"]
        assert sessions.verify().ok
        sessions.session().append_message(message("b"))
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["a.db"]
    assert (tmp_path / "one" / "a.db").exists()


def test_each_store_in_memory_is_one_of_its_own() -> None:
    with Sessions() as one, Sessions(":memory:") as other:
        one.session().append_message(message("a"))
        assert other.session().get_history() == []
        assert not Path(":memory:").exists()


# ---- what it is


@pytest.mark.parametrize("content", [b"not a database", b"x", b"SQLite format 4\0" + bytes(4_096), bytes(4_096)])
@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_of_another_kind_is_left_alone(path: Path, content: bytes, read_only: bool) -> None:
    path.write_bytes(content)
    assert str(path) in refused(path, NotAStore, read_only=read_only)


@pytest.mark.parametrize("wal", [False, True])
@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("setting", ["create table event(seq)", "pragma application_id = 252006675"])
def test_another_programs_database_is_left_alone(path: Path, wal: bool, read_only: bool, setting: str) -> None:
    """One with tables, and one without any that says by its application id whose it is."""
    theirs = sqlite3.connect(path)
    theirs.execute(f"pragma journal_mode = {'wal' if wal else 'delete'}")
    theirs.execute(setting)
    theirs.commit()
    theirs.close()
    assert str(path) in refused(path, NotAStore, read_only=read_only)


def test_an_empty_file_becomes_a_store(path: Path) -> None:
    path.touch()
    assert "empty" in refused(path, NotAStore, read_only=True)
    with Sessions(path) as sessions:
        sessions.session().append_message(message("a"))
    with Sessions(path, read_only=True) as sessions:
        assert ids(sessions.session().get_history()) == ["a"]


@pytest.mark.parametrize("read_only", [False, True])
def test_a_newer_store_is_left_alone_byte_for_byte(store: Path, read_only: bool) -> None:
    patch(store, 60, (schema.VERSION + 1).to_bytes(4, "big"))
    said = refused(store, NewerStore, read_only=read_only)
    assert str(schema.VERSION + 1) in said
    assert "upgrade" in said


def test_a_newer_store_whose_version_is_still_in_its_wal_is_refused(store: Path) -> None:
    """A later version has it open, or was killed: the header that says so isn't in the file yet."""
    theirs = apsw.Connection(str(store))
    theirs.pragma("user_version", schema.VERSION + 1)
    for read_only in (False, True):
        with pytest.raises(NewerStore):
            Sessions(store, read_only=read_only)
    assert theirs.pragma("user_version") == schema.VERSION + 1
    theirs.close()


def test_an_older_store_is_migrated_in_one_transaction(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def migration(connection: Connection) -> None:
        connection.execute("CREATE TABLE of_a_later_version (a)")
        connection.execute("INSERT INTO of_a_later_version VALUES ('b')")

    def failing(connection: Connection) -> None:
        connection.execute("DROP TABLE of_a_later_version")
        raise RuntimeError

    present, newer = schema.VERSION, schema.VERSION + 2
    monkeypatch.setattr(schema, "VERSION", newer)
    monkeypatch.setattr(schema, "OLDEST_READABLE", newer)
    monkeypatch.setattr(schema, "MIGRATIONS", {present: migration, present + 1: failing})
    refused(store, ReadOnlyStore, read_only=True)
    with pytest.raises(RuntimeError):
        Sessions(store)
    theirs = sqlite3.connect(store)  # neither step has left anything
    assert theirs.execute("pragma user_version").fetchone() == (present,)
    assert theirs.execute("select count(*) from sqlite_schema where name = 'of_a_later_version'").fetchone() == (0,)
    theirs.close()
    monkeypatch.setitem(
        schema.MIGRATIONS, present + 1, lambda connection: connection.execute("DROP TABLE of_a_later_version")
    )
    with Sessions(store) as sessions:
        assert ids(sessions.session().get_history()) == ["a", "b", "c"]
    assert int.from_bytes(store.read_bytes()[60:64], "big") == newer
    with Sessions(store, read_only=True) as sessions:
        assert ids(sessions.session().get_history()) == ["a", "b", "c"]


def test_a_copy_without_its_wal_is_told_from_a_new_file(path: Path, tmp_path: Path) -> None:
    """The copy of a running store that misses the -wal beside it has no tables: it would look like an empty store."""
    first = sqlite3.connect(path)
    first.execute("pragma journal_mode = wal")
    first.execute("create table event(a)")
    copy = tmp_path / "copy.db"
    copy.write_bytes(path.read_bytes())
    first.close()
    for read_only in (False, True):
        with pytest.raises(NotAStore, match="-wal"):
            Sessions(copy, read_only=read_only)


@pytest.fixture
def reading(store: Path) -> Iterator[apsw.Connection]:
    """Another program that reads a store which somebody switched back from WAL: the switch must wait for it."""
    theirs = apsw.Connection(str(store))  # of our own SQLite: locks of two in one process don't see each other
    theirs.pragma("journal_mode", "delete")
    theirs.execute("begin")
    theirs.execute("select count(*) from event").fetchall()
    yield theirs
    theirs.close()


def test_a_file_that_is_being_read_is_waited_for(store: Path, reading: apsw.Connection) -> None:
    timer = threading.Timer(0.2, reading.execute, ("rollback",))
    timer.start()
    with Sessions(store, busy_timeout=30) as sessions:
        assert ids(sessions.session().get_history()) == ["a", "b", "c"]
    timer.join()


def test_a_file_that_is_being_read_for_too_long_is_busy(store: Path, reading: apsw.Connection) -> None:
    with pytest.raises(StoreBusy, match="WAL"):
        Sessions(store, busy_timeout=0.05)
    reading.execute("rollback")
    with Sessions(store) as sessions:
        assert ids(sessions.session().get_history()) == ["a", "b", "c"]
