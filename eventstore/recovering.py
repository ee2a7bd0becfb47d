"""A damaged file, read as far as it can be, and written into a new one that is sound.

The damaged one is copied first and never written to. Where its schema can't be read, another first page takes its place
in the copy: the tables of the log begin on the same pages in every store.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from eventstore import driver, opening, pages, schema
from eventstore.backup import file_error, new_file
from eventstore.driver import Connection, fetch
from eventstore.errors import CannotOpen, DamagedStore, EventStoreError, NotAStore
from eventstore.mending import Mender
from eventstore.reports import RecoveryReport
from eventstore.salvaging import Salvage
from eventstore.types import Progress, check_progress

REPORT_EVERY = 1_000
STEP_BYTES = 64 * 1024  # copied at once: so much is lost around a spot that the disk can't read
_CHANGES, _COUNT, _FREE, _VALID_FOR = slice(24, 28), slice(28, 32), slice(32, 40), slice(92, 96)  # of the header
_WORDY = re.compile(r" NOT NULL| UNIQUE| TEXT| BLOB| INTEGER(?! PRIMARY)")  # what reading does without
_BESIDE_LOG = ("setting", "identity")
_LOG = ("event", "piece", "deletion", "name", "attachment", "attachment_slice")


def recover(
    source: str | os.PathLike[str], target: str | os.PathLike[str], *, progress: Progress | None = None
) -> RecoveryReport:
    """Writes what can be read of the damaged store `source` into a new file, `target`, and says what is lost.

    `source` isn't changed, and nobody may have it open. `target` is a sound store with the same numbers of events; it
    is there when it is whole, and a file that is there already is never replaced. Nothing is in it that wasn't written:
    what can't be vouched for reads as erased. Raises `CannotOpen` and what is below it, `StoreFull`, and
    `InvalidArgument`. `progress` counts events.
    """
    check_progress(progress)
    source, target = opening.store_name(source), opening.file_name(target)
    if not os.path.isfile(source):
        raise CannotOpen(f"{source}: there is no such file to recover; name the damaged one")
    with new_file(target, source) as part, TemporaryDirectory(dir=os.path.dirname(target)) as folder:
        copy = _copied(source, os.path.join(folder, "copy.db"))
        empty = _make_empty(os.path.join(folder, "empty.db"))
        with _writing(target):
            shutil.copyfile(empty, part)
        with driver.translated(source):
            damaged, first_page = _opened(source, copy, empty)
            with closing(damaged), driver.translated(target), closing(driver.open_unsynced(part)) as sound:
                salvage = Salvage(damaged, os.path.getsize(copy) // schema.PAGE_SIZE + 1)
                report = _recover(sound, salvage, progress)
                if not report.events and not (first_page and salvage.is_whole):
                    raise DamagedStore(f"{source}: no event of a conversation store can be read in it; a backup helps")
    return report


def _recover(connection: Connection, salvage: Salvage, progress: Progress | None) -> RecoveryReport:
    seqs, last = salvage.seqs()
    with connection:
        mender = Mender(connection, salvage)
        for done, seq in enumerate(seqs, 1):
            mender.take(seq)
            if progress is not None and (done % REPORT_EVERY == 0 or done == len(seqs)):
                with driver.calling_out():
                    progress(done, len(seqs))
        if mender.events:
            mender.fill(last)
        mender.finish(salvage.retain())
    return RecoveryReport(mender.events, mender.messages, tuple(mender.lost))


# ---- the damaged file, so that SQLite reads in it


@contextmanager
def _writing(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if isinstance(error, EventStoreError):
            raise
        raise file_error(error, path) from error


def _copied(source: str, copy: str) -> str:
    """Copies a file and its WAL."""
    with driver.translated(source), _writing(copy):
        pages.copy_file(source, copy, STEP_BYTES)
        if os.path.exists(f"{source}-wal"):
            shutil.copyfile(f"{source}-wal", f"{copy}-wal")
    return copy


def _make_empty(path: str) -> str:
    """Makes an empty store."""
    with driver.translated(path), closing(driver.open_unsynced(path)) as connection:
        schema.prepare_file(connection)
        with connection:
            schema.create(connection)
    return path


def _opened(source: str, copy: str, empty: str) -> tuple[Connection, bool]:
    """A connection to the copy, and whether its own first page is used."""
    with closing(driver.open_damaged(empty)) as model:
        wanted = _tables(model)
    try:
        connection = driver.open_damaged(copy)
    except driver.Error:
        connection = None
    if connection is not None:
        found = _tables(connection)
        if found is not None and wanted is not None and found.items() >= wanted.items():
            return connection, True
        _refuse_others(source, connection, found)
        connection.close()
    with _writing(copy):
        _graft(copy, _first_page(empty))
    return driver.open_damaged(copy), False


def _tables(connection: Connection) -> dict[str, Any] | None:
    """Where the tables of a log lie and what they are, `None` where the schema can't be read."""
    try:
        rows = fetch(connection, "SELECT name, rootpage, CAST(sql AS BLOB) FROM sqlite_schema")
    except (driver.Error, UnicodeDecodeError):
        return None
    return {name: place for name, *place in rows if name in _LOG}


def _refuse_others(source: str, connection: Connection, tables: dict[str, Any] | None) -> None:
    """Refuses a file that isn't damaged, but of another program or of a later version."""
    try:
        application, version = connection.pragma("application_id"), connection.pragma("user_version")
    except driver.Error:
        return
    if tables == {} and application != schema.APPLICATION_ID:
        raise NotAStore(f"{source}: it is an SQLite database of another program; name another file")
    if application == schema.APPLICATION_ID and tables is not None and len(tables) == len(_LOG):
        opening.check_version(source, version)


def _first_page(empty: str) -> bytes:
    """A first page that has all of a schema, in few words: what is read of a log, where it lies in an empty store."""
    with closing(driver.open_damaged(empty)) as model:
        rows = fetch(model, "SELECT name, rootpage, sql FROM sqlite_schema WHERE type = 'table'")
    short = f"{empty}.short"
    with closing(driver.open_unsynced(short)) as connection:
        schema.prepare_file(connection)
        connection.pragma("writable_schema", "on")
        for name, page, sql in rows:
            if name in (*_LOG, *_BESIDE_LOG):
                row = (name, name, page, _WORDY.sub("", " ".join(sql.split())))
                connection.execute("INSERT INTO sqlite_schema VALUES ('table', ?, ?, ?, ?)", row)
    return Path(short).read_bytes()[: schema.PAGE_SIZE]


def _graft(copy: str, page: bytes) -> None:
    """Gives the copy another first page. Its free pages aren't known then, and not missed."""
    with suppress(FileNotFoundError):
        os.unlink(f"{copy}-wal")
    count = os.path.getsize(copy) // schema.PAGE_SIZE
    header = bytearray(page)
    header[_COUNT] = count.to_bytes(4, "big")
    header[_FREE] = bytes(8)
    header[_VALID_FOR] = header[_CHANGES]
    with open(copy, "r+b") as file:
        file.write(header)
