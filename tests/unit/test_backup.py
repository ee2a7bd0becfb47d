"""`backup()`: a copy that is the store as it was, whole or not there."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import apsw
import pytest

from eventstore import CannotOpen, InvalidArgument, Sessions, StoreClosed, StoreFull, driver, pages
from tests.laws.support import reads
from tests.unit.files import everything
from tests.unit.talk import chain, message


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / "backups").mkdir()
    return tmp_path / "backups" / "copy.db"


def test_it_is_the_same_store(sessions: Sessions, target: Path) -> None:
    session = sessions.session()
    chain(session, "a", "b", "c")
    session.append_message(
        {**message("d"), "parts": [{"type": "file", "mediaType": "image/png", "data": "AAAA" * 999}]}
    )
    session.delete_messages(["b"])
    sessions.search("text")
    told: list[tuple[int, int | None]] = []
    sessions.backup(target, progress=lambda done, total: told.append((done, total)))
    assert told
    assert told[-1][0] == told[-1][1]
    assert [file.name for file in target.parent.iterdir()] == ["copy.db"]
    session.append_message(message("later"))
    with Sessions(target) as copy:
        assert copy.verify().ok
        assert copy.latest_seq == sessions.latest_seq - 1
        copy.session().append_message(message("later"))
        assert copy.session().get_history() == session.get_history()


def test_what_progress_writes_is_not_in_the_copy(sessions: Sessions, target: Path) -> None:
    session = sessions.session()
    session.append_messages([message(f"m{n}", "text " * 200) for n in range(5_000)])
    before, calls = sessions.latest_seq, 0

    def write(done: int, total: int | None) -> None:
        nonlocal calls
        calls += 1
        assert calls < 100, "it comes to an end"
        session.update_message(message(f"m{calls}", "another"))

    sessions.backup(target, progress=write)
    assert calls > 1
    assert sessions.latest_seq == before + calls
    with Sessions(target) as copy:
        assert copy.latest_seq == before
        assert copy.verify().ok


def test_a_read_only_store_is_copied(store: Path, target: Path) -> None:
    before = everything(store.parent)
    with Sessions(store, read_only=True) as sessions:
        sessions.backup(target)
        with Sessions(target, read_only=True) as copy:
            assert reads(copy) == reads(sessions)
    assert everything(store.parent) == before
    assert target.read_bytes()[100:] == store.read_bytes()[100:], "page for page"


def test_who_may_not_read_the_store_may_not_read_the_copy(store: Path, target: Path) -> None:
    store.chmod(0o600)
    with Sessions(store) as sessions:
        sessions.backup(target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


@pytest.mark.parametrize("there", ["copy.db", "copy.db-wal", "copy.db-journal"])
def test_what_is_there_is_never_replaced(store: Path, target: Path, there: str) -> None:
    (target.parent / there).write_text("a letter")
    with Sessions(store) as sessions, pytest.raises(CannotOpen, match="there already"):
        sessions.backup(target)
    assert everything(target.parent) == {there: b"a letter"}


def test_nor_what_comes_meanwhile(store: Path, target: Path) -> None:
    with Sessions(store) as sessions, pytest.raises(CannotOpen, match="exists"):
        sessions.backup(target, progress=lambda done, total: target.write_text("a letter"))
    assert everything(target.parent) == {"copy.db": b"a letter"}


def test_the_store_itself_is_no_target(store: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(store)
    with Sessions(store) as sessions:
        for path in (store, link, store.parent / "." / store.name):
            with pytest.raises(CannotOpen, match="the store itself"):
                sessions.backup(path)
        assert sessions.verify().ok


@pytest.mark.parametrize("wrong", [":memory:", "", 5, "nul\0"])
def test_what_names_no_file_is_refused(sessions: Sessions, wrong: Any) -> None:
    with pytest.raises(InvalidArgument):
        sessions.backup(wrong)


def test_a_folder_that_is_missing_or_can_not_be_written(store: Path, tmp_path: Path) -> None:
    with Sessions(store) as sessions:
        with pytest.raises(CannotOpen, match="folder"):
            sessions.backup(tmp_path / "missing" / "copy.db")
        with pytest.raises(CannotOpen, match="/proc/copy"):
            sessions.backup("/proc/copy.db")


@pytest.mark.parametrize("broken", [KeyboardInterrupt, ValueError])
def test_broken_off_it_leaves_nothing(store: Path, target: Path, broken: type[BaseException]) -> None:
    def stop(_done: int, _total: int | None) -> None:
        raise broken

    with Sessions(store) as sessions:
        with pytest.raises(broken):
            sessions.backup(target, progress=stop)
        assert everything(target.parent) == {}
        chain(sessions.session(), "d")  # the reader that it had isn't stuck in its transaction
        sessions.backup(target)
    with Sessions(target) as copy:
        assert copy.latest_seq == 4


def test_a_full_disk_leaves_nothing(store: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(apsw.VFS):
        def __init__(self) -> None:
            super().__init__("full", apsw.vfs_names()[0])

        def xOpen(self, name: Any, flags: Any) -> Any:  # noqa: N802
            return FullFile(apsw.vfs_names()[0], name, flags)

    class FullFile(apsw.VFSFile):
        def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
            raise apsw.FullError("the disk is full")

    vfs = Full()
    opened = driver.Connection
    monkeypatch.setattr(
        pages, "Connection", lambda path, **o: opened(path, **({**o, "vfs": "full"} if ".part" in path else o))
    )
    with Sessions(store) as sessions:
        with pytest.raises(StoreFull, match="full"):
            sessions.backup(target)
        assert everything(target.parent) == {}
    vfs.unregister()


def test_a_disk_without_links_will_do(store: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", no_links)
    with Sessions(store) as sessions:
        sessions.backup(target)
    assert [file.name for file in target.parent.iterdir()] == ["copy.db"]


def test_it_is_refused_inside_a_transaction(sessions: Sessions, target: Path) -> None:
    with sessions.transaction(), pytest.raises(InvalidArgument, match="transaction"):
        sessions.backup(target)
    sessions.close()
    with pytest.raises(StoreClosed):
        sessions.backup(target)
