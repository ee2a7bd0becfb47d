"""The border to SQLite: every error of the driver is one of ours, and what fails halfway leaves nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest

from eventstore import (
    CannotOpen,
    DamagedStore,
    EventStoreError,
    ImportRow,
    NotAStore,
    ReadOnlyStore,
    Session,
    Sessions,
    StoreBusy,
    StoreClosed,
    StoreFull,
    driver,
)
from tests.unit.talk import Heard, chain, ids, message

OURS: dict[type[apsw.Error], type[EventStoreError]] = {
    apsw.BusyError: StoreBusy,
    apsw.LockedError: StoreBusy,
    apsw.FullError: StoreFull,
    apsw.ReadOnlyError: ReadOnlyStore,
    apsw.NotADBError: NotAStore,
    apsw.CorruptError: DamagedStore,
    apsw.IOError: CannotOpen,
    apsw.CantOpenError: CannotOpen,
    apsw.PermissionsError: CannotOpen,
    apsw.ProtocolError: CannotOpen,
    apsw.ConnectionClosedError: StoreClosed,
}


def every_error(root: type[apsw.Error]) -> Iterator[type[apsw.Error]]:
    """A class of errors and all below it."""
    yield root
    for below in root.__subclasses__():
        yield from every_error(below)


def test_every_error_of_the_driver_becomes_one_of_ours() -> None:
    classes = set(every_error(apsw.Error))
    assert len(classes) > 30
    for theirs in classes:
        ours = driver.translate(theirs("what SQLite says"), "/where/it/is.db")
        assert isinstance(ours, EventStoreError)
        assert "/where/it/is.db" in str(ours)
        assert "what SQLite says" in str(ours)
        assert type(ours) is not EventStoreError or theirs.__name__ in str(ours)
    for theirs, expected in OURS.items():
        assert type(driver.translate(theirs(""), "a.db")) is expected


# ---- no room


def limit_pages(sessions: Sessions, more: int) -> None:
    """Leaves room for so many more pages in the database, as a full disk would."""
    writer = sessions._store.database._writer
    assert writer is not None
    (pages,) = driver.fetch_one(writer, "PRAGMA page_count")
    writer.execute(f"PRAGMA max_page_count = {pages + more}").fetchall()


LARGE = "x" * 200_000


def test_a_write_without_room_changes_nothing_and_the_store_works_on(sessions: Sessions, session: Session) -> None:
    chain(session, "a", "b")
    heard = Heard()
    sessions.subscribe(heard)
    limit_pages(sessions, 5)
    for write in (
        lambda: session.append_message(message("big", LARGE)),
        lambda: session.append_messages([message("c"), message("big", LARGE), message("d")]),
        lambda: session.update_message(message("a", LARGE)),
        lambda: session.set_metadata({"title": LARGE}),
    ):
        with pytest.raises(StoreFull) as caught:
            write()
        assert isinstance(caught.value, OSError)
    assert sessions.latest_seq == 2
    session.append_message(message("small"))
    limit_pages(sessions, 1_000)
    session.append_message(message("big", LARGE))
    session.update_message(message("a", LARGE))
    assert ids(session.get_history()) == ["a", "b", "small", "big"]
    assert session.get_message("big") == message("big", LARGE)
    assert heard.seqs == [3, 4, 5]
    assert sessions.verify().ok


def test_a_transaction_without_room_is_lost_whole_and_says_so(sessions: Sessions, session: Session) -> None:
    chain(session, "a")
    heard = Heard()
    sessions.subscribe(heard)
    limit_pages(sessions, 5)
    full = pytest.raises(StoreFull)
    with full, sessions.transaction():
        session.append_message(message("b"))
        with pytest.raises(StoreFull):
            session.append_message(message("big", LARGE))
        for write in (lambda: session.append_message(message("c")), lambda: session.delete_messages(["a"])):
            with pytest.raises(StoreFull, match="begin again"):
                write()
        assert sessions.poll() == 0
    assert sessions.latest_seq == 1
    assert heard == []
    limit_pages(sessions, 1_000)
    with sessions.transaction():
        session.append_message(message("b"))
        session.append_message(message("big", LARGE))
    assert heard.seqs == [2, 3]
    assert ids(session.get_history()) == ["a", "b", "big"]
    assert sessions.verify().ok


def test_an_inner_transaction_without_room_loses_the_outer_one_too(sessions: Sessions, session: Session) -> None:
    chain(session, "a")
    limit_pages(sessions, 5)
    full = pytest.raises(StoreFull)
    with full, sessions.transaction():
        session.append_message(message("b"))
        with pytest.raises(StoreFull), sessions.transaction():
            session.append_message(message("big", LARGE))
    assert ids(session.get_history()) == ["a"]
    assert session.get_recent_history().total_content_bytes == session.info().bytes
    session.append_message(message("b"))
    assert sessions.latest_seq == 2


def test_an_import_without_room_keeps_the_batches_before(sessions: Sessions, session: Session) -> None:
    limit_pages(sessions, 2_000)
    rows = (
        ImportRow(message(f"m{n}", "x" * 2_000), parent_id=f"m{n - 1}" if n else None, created_at=datetime.now(UTC))
        for n in range(3_000)
    )
    with pytest.raises(StoreFull) as caught:
        session.import_messages(rows)
    kept = session.info().messages
    assert kept % 1_000 == 0
    assert kept > 0
    assert any(str(kept) in note for note in caught.value.__notes__)
    assert ids(session.get_history()) == [f"m{n}" for n in range(kept)]
    assert sessions.verify().ok


# ---- a disk that fails


class FailingFile(apsw.VFSFile):
    """A file whose writes fail while `FailingDisk.fails` says so."""

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        if FailingDisk.fails:
            raise FailingDisk.fails
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        if FailingDisk.fails:
            raise FailingDisk.fails
        super().xSync(flags)


class FailingDisk(apsw.VFS):
    """SQLite's own file layer, with writes that fail on demand."""

    fails: apsw.Error | None = None

    def __init__(self) -> None:
        super().__init__("failing", "", makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return FailingFile("unix", name, flags)


@pytest.fixture
def _disk() -> Iterator[None]:
    disk = FailingDisk()
    yield
    FailingDisk.fails = None
    disk.unregister()


@pytest.mark.usefixtures("_disk")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("theirs", "ours"),
    [(apsw.IOError("disk failed"), CannotOpen), (apsw.FullError("disk full"), StoreFull)],
    ids=["broken", "full"],
)
def test_a_disk_that_fails_is_our_own_error_and_loses_nothing(
    path: Path, theirs: apsw.Error, ours: type[EventStoreError]
) -> None:
    sessions = Sessions(path)
    session = sessions.session()
    chain(session, "a", "b")
    heard = Heard()
    sessions.subscribe(heard)
    FailingDisk.fails = theirs
    with pytest.raises(ours):
        session.append_message(message("c"))
    with pytest.raises(ours), sessions.transaction():
        session.append_message(message("c"))
    assert ids(session.get_history()) == ["a", "b"]
    assert heard == []
    FailingDisk.fails = None
    session.append_message(message("c"))
    assert heard.seqs == [3]
    FailingDisk.fails = theirs
    with pytest.raises(ours):
        sessions.close()  # the WAL can't be written into the file: it stays beside it
    sessions.close()
    FailingDisk.fails = None
    with Sessions(path) as again:
        assert ids(again.session().get_history()) == ["a", "b", "c"]
        assert again.verify().ok
