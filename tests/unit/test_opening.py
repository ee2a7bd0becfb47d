"""Opening: what is a store, what isn't, and what is done to a file that isn't."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from eventstore import (
    CannotOpen,
    DamagedStore,
    InvalidArgument,
    NewerStore,
    NotAStore,
    ReadOnlyStore,
    Sessions,
    StoreClosed,
    schema,
)
from eventstore.driver import Connection
from tests.unit.talk import chain, ids, message


@pytest.fixture
def store(path: Path) -> Path:
    """A store of three messages that nobody has open."""
    with Sessions(path) as sessions:
        chain(sessions.session(), "a", "b", "c")
    return path


def everything(folder: Path) -> dict[str, bytes]:
    """The files of a folder, byte for byte."""
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


def patch(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def refused(path: Any, error: type[Exception], **options: Any) -> str:
    """How opening is refused, and that it leaves the folder as it is."""
    folder = Path(os.fsdecode(path)).parent
    before = everything(folder) if os.path.isdir(folder) else None
    with pytest.raises(error) as caught:
        Sessions(path, **options)
    assert type(caught.value) is error
    assert isinstance(caught.value, OSError)
    if before is not None:
        assert everything(folder) == before
    return str(caught.value)


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


@pytest.mark.parametrize("wrong", [None, 1, 1.5, [], object(), True], ids=repr)
def test_what_is_no_path_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidArgument, match="path must be"):
        Sessions(wrong)


def test_a_name_that_sqlite_cannot_have_is_refused(tmp_path: Path) -> None:
    for wrong in (os.fsencode(tmp_path) + b"/\xff.db", f"{tmp_path}/a\0b.db", f"{tmp_path}/\ud83d.db"):
        with pytest.raises(InvalidArgument, match="UTF-8"):
            Sessions(wrong)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


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
    theirs = sqlite3.connect(store)
    theirs.execute(f"pragma user_version = {schema.VERSION + 1}")
    theirs.commit()
    for read_only in (False, True):
        with pytest.raises(NewerStore):
            Sessions(store, read_only=read_only)
    assert theirs.execute("pragma user_version").fetchone() == (schema.VERSION + 1,)
    theirs.close()


def test_an_older_store_is_migrated_in_one_transaction(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def migration(connection: Connection) -> None:
        connection.execute("CREATE TABLE of_version_2 (a)")
        connection.execute("INSERT INTO of_version_2 VALUES ('b')")

    def failing(connection: Connection) -> None:
        connection.execute("DROP TABLE of_version_2")
        raise ZeroDivisionError

    monkeypatch.setattr(schema, "VERSION", 3)
    monkeypatch.setattr(schema, "MIGRATIONS", {1: migration, 2: failing})
    refused(store, ReadOnlyStore, read_only=True)
    with pytest.raises(ZeroDivisionError):
        Sessions(store)
    theirs = sqlite3.connect(store)  # neither step has left anything
    assert theirs.execute("pragma user_version").fetchone() == (1,)
    assert theirs.execute("select count(*) from sqlite_schema where name = 'of_version_2'").fetchone() == (0,)
    theirs.close()
    monkeypatch.setitem(schema.MIGRATIONS, 2, lambda connection: connection.execute("DROP TABLE of_version_2"))
    with Sessions(store) as sessions:
        assert ids(sessions.session().get_history()) == ["a", "b", "c"]
    assert int.from_bytes(store.read_bytes()[60:64], "big") == 3
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


# ---- damage


def test_a_damaged_header_is_no_store(store: Path) -> None:
    patch(store, 16, b"\x00\x07")  # no page has seven bytes
    before = store.read_bytes()
    refused(store, NotAStore, read_only=True)
    with pytest.raises(NotAStore):
        Sessions(store)
    assert store.read_bytes() == before


@pytest.mark.parametrize("length", [1, 15, 16, 50, 99, 100, 1_000, 2_047, 2_048, 4_097, -2_048, -1])
def test_a_truncated_file_is_refused_or_found_damaged(store: Path, length: int) -> None:
    """At the latest when what is missing is asked for; never with a part of a conversation taken for the whole."""
    whole = store.read_bytes()
    store.write_bytes(whole[:length])
    with suppress(DamagedStore, NotAStore), Sessions(store) as sessions:
        assert not sessions.verify().ok
    store.write_bytes(whole)
    with Sessions(store) as sessions:
        assert sessions.verify().ok


def test_pages_of_rubbish_are_damage(store: Path) -> None:
    with Sessions(store) as sessions:
        session = sessions.session()
        session.append_messages([message(f"m{n}", "x" * 500) for n in range(200)])
    size = store.stat().st_size
    for offset in range(2_048, size, 2_048):
        patch(store, offset, b"\xa5" * 2_048)
    with pytest.raises(DamagedStore) as caught, Sessions(store) as sessions:
        sessions.session().get_history()
    assert "verify()" in str(caught.value)


def test_a_rotten_byte_of_a_body_is_found_by_verify(path: Path) -> None:
    with Sessions(path) as sessions:
        sessions.session().append_message(message("a", "the words of a message"))
    whole = path.read_bytes()
    patch(path, whole.index(b"words"), b"wards")
    with Sessions(path) as sessions:
        report = sessions.verify()
    assert not report.ok
    assert report.problems == ("event 1: its body doesn't fit its digest",)


def test_a_table_that_does_not_fit_the_log_is_found_by_verify_and_rebuilt(store: Path) -> None:
    theirs = sqlite3.connect(store)
    theirs.execute("update message set bytes = bytes + 1 where seq = 2")
    theirs.execute("delete from identity where seq = 3")
    theirs.commit()
    theirs.close()
    with Sessions(store) as sessions:
        report = sessions.verify()
        assert not report.ok
        assert any("table message" in problem for problem in report.problems)
        assert any("table identity" in problem for problem in report.problems)
        sessions.rebuild()
        assert sessions.verify().ok
        assert ids(sessions.session().get_history()) == ["a", "b", "c"]
        assert sessions.session().get_message("c") == message("c")


# ---- settings


@pytest.mark.parametrize(
    "options",
    [
        {"retain": "some"},
        {"retain": 1},
        {"durability": "none"},
        {"durability": None},
        {"busy_timeout": -1},
        {"busy_timeout": float("nan")},
        {"busy_timeout": "5"},
        {"busy_timeout": float("inf")},
        {"reserved_metadata_keys": "channel"},
        {"read_only": True, "retain": "all"},
    ],
    ids=repr,
)
def test_settings_that_cannot_be_meant_are_refused(path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        Sessions(path, **options)
    assert not path.exists()


def test_the_file_remembers_its_retention(path: Path) -> None:
    def versions(**options: Any) -> list[str]:
        """The texts of a message's versions, each as a view in its time shows it."""
        with Sessions(path, **options) as sessions:
            session = sessions.session()
            first = sessions.latest_seq
            name = f"m{first}"
            session.append_message(message(name, "one"))
            for text in ("two", "three"):
                session.update_message(message(name, text))
            found = []
            for seq in range(first + 1, sessions.latest_seq + 1):
                with sessions.at(seq) as view:
                    part = (view.session().get_message(name) or message(name))["parts"][0]
                    found.append(part.get("text", part["type"]))
            return found

    current, everything_kept = ["erased", "erased", "three"], ["one", "two", "three"]
    assert versions() == current  # of a new file
    assert versions(retain="all") == everything_kept
    assert versions() == versions(retain=None) == everything_kept
    assert versions(retain="current") == current
    assert versions() == current


def test_no_use_after_close(path: Path) -> None:
    sessions = Sessions(path)
    session = sessions.session()
    chain(session, "a", "b")
    reading, tree, events = session.history(), session.tree(), sessions.events()
    view = sessions.at(2)
    sessions.close()
    sessions.close()
    for call in (
        lambda: sessions.latest_seq,
        lambda: sessions.list_sessions(),
        lambda: sessions.events(),
        lambda: sessions.poll(),
        lambda: sessions.at(0),
        lambda: sessions.verify(),
        lambda: sessions.rebuild(),
        lambda: sessions.transaction().__enter__(),
        lambda: sessions.subscribe(print),
        lambda: sessions.subscribe(print, after=0),
        lambda: session.subscribe(print),
        lambda: session.get_history(),
        lambda: session.history(),
        lambda: session.tree(),
        lambda: session.events(),
        lambda: session.info(),
        lambda: session.get_message("a"),
        lambda: session.append_message(message("c")),
        lambda: next(reading),
        lambda: next(tree),
        lambda: next(events),
        lambda: view.session().get_history(),
        lambda: list(view.list_sessions()),
    ):
        with pytest.raises(StoreClosed, match="closed"):
            call()
    view.close()
    with Sessions(path) as again:
        assert ids(again.session().get_history()) == ["a", "b"]


def test_a_store_in_memory_is_closed_too() -> None:
    sessions = Sessions()
    session = sessions.session()
    chain(session, "a")
    sessions.close()
    sessions.close()
    for call in (session.get_history, lambda: session.append_message(message("b")), lambda: sessions.at(1)):
        with pytest.raises(StoreClosed):
            call()


def test_closing_inside_a_transaction_is_refused(sessions: Sessions) -> None:
    with sessions.transaction():
        sessions.session().append_message(message("a"))
        with pytest.raises(InvalidArgument, match="transaction"):
            sessions.close()
    assert ids(sessions.session().get_history()) == ["a"]


def test_closing_leaves_an_open_view_its_own_end(path: Path) -> None:
    with Sessions(path) as sessions:
        chain(sessions.session(), "a")
        view = sessions.at(1)
        reading = sessions.session().history()
    with pytest.raises(StoreClosed):
        view.session().get_history()
    with pytest.raises(StoreClosed):
        next(reading)
    view.close()
    view.close()
    with pytest.raises(StoreClosed):
        list(view.list_sessions())


def test_views_and_checks_are_refused_inside_a_transaction(sessions: Sessions) -> None:
    """They read what is committed: a view of an event that isn't yet would be wrong without a word."""
    session = sessions.session()
    chain(session, "a")
    with sessions.transaction():
        chain(session, "b")
        for call in (lambda: sessions.at(2), lambda: sessions.at(1), sessions.verify):
            with pytest.raises(InvalidArgument, match="transaction"):
                call()
    with sessions.at(2) as view:
        assert ids(view.session().get_history()) == ids(session.get_history())
    assert sessions.verify().ok
