"""The border to SQLite: only this module and `wal` import apsw. Opens configured connections, translates every error.

Settings are small named functions with the reason for each; `configure` applies them. Everything above works with the
`Connection` handed out here and never sees an apsw error: `Database` translates whatever leaves its transactions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import apsw

from eventstore import wal
from eventstore.errors import (
    CannotOpen,
    DamagedStore,
    EventStoreError,
    InvalidArgument,
    NotAStore,
    ReadOnlyStore,
    StoreBusy,
    StoreClosed,
    StoreFull,
)

Error = apsw.Error
BusyError = apsw.BusyError
UNREADABLE = (apsw.Error, TypeError, ValueError, LookupError, AttributeError, ArithmeticError, AssertionError)
"""What reading can raise: the driver's errors, and what rows that no version writes make of our code."""


_DAMAGE = (
    "the file is damaged or isn't laid out as this version writes it; verify() says more; where there is no backup, "
    "recover() saves what can be read"
)
_BESIDE = (
    "it, or the -wal and -shm files beside it, can't be opened; check the folder, and that its file system can share "
    "memory between processes, as a local disk's can"
)
_TOO_LONG = (
    "an id, a role or a session's name is too long for one row of this SQLite, and isn't split over rows as texts are; "
    "shorten it. Where a read says so, the file is damaged"
)
_TRANSLATIONS: tuple[tuple[type[apsw.Error], type[EventStoreError], str], ...] = (
    (apsw.BusyError, StoreBusy, "another connection kept it locked for longer than busy_timeout; try again"),
    (apsw.LockedError, StoreBusy, "another connection kept it locked for longer than busy_timeout; try again"),
    (apsw.FullError, StoreFull, "the disk (or the database's size limit) is full; make room, nothing was written"),
    (apsw.TooBigError, InvalidArgument, _TOO_LONG),
    (apsw.ReadOnlyError, ReadOnlyStore, "it can't be written; open it with read_only=True or change its permissions"),
    (apsw.NotADBError, NotAStore, "it isn't an SQLite database, so it isn't a conversation store"),
    (apsw.CorruptError, DamagedStore, _DAMAGE),
    (apsw.FormatError, DamagedStore, _DAMAGE),
    (apsw.ConstraintError, DamagedStore, _DAMAGE),
    (apsw.SQLError, DamagedStore, _DAMAGE),
    (apsw.MismatchError, DamagedStore, _DAMAGE),
    (apsw.SchemaChangeError, DamagedStore, _DAMAGE),
    (apsw.ConnectionClosedError, StoreClosed, "it was closed"),
    (apsw.CursorClosedError, StoreClosed, "it was closed"),
    (apsw.ProtocolError, CannotOpen, "its file system has no working locks (NFS?); keep it on a local disk"),
    (apsw.NoLFSError, CannotOpen, "its file system can't hold a file so large"),
    (apsw.CantOpenError, CannotOpen, _BESIDE),
    (apsw.PermissionsError, CannotOpen, "permission denied; check its owner and mode"),
    (apsw.AuthError, CannotOpen, "permission denied; check its owner and mode"),
    (apsw.IOError, CannotOpen, "reading or writing it failed; check the disk, then open it again"),
)


class Connection(apsw.Connection):
    """A connection that runs everything on one cursor: to make one takes as long as a small statement.

    So the rows of a statement are read to their end before the next one runs. `fetch` and `fetch_one` do that.
    """

    def __init__(self, path: str, **options: Any) -> None:
        super().__init__(path, **options)
        self.execute = self.cursor().execute  # type: ignore[method-assign]


def fetch(connection: Connection, sql: str, bindings: Sequence[Any] = ()) -> list[Any]:
    """All rows. Never a cursor: one that is left open keeps the WAL from its checkpoint."""
    return connection.execute(sql, bindings).fetchall()


def array_of(numbers: Iterable[int]) -> Any:
    """Many integers as one binding, for `carray(?)`: a statement with a mark for each takes twice as long."""
    from array import array  # batches need it

    values = array("q", numbers)
    return apsw.carray(values) if values else None  # apsw has no empty one; of NULL, SQLite gives no row


def fetch_one(connection: Connection, sql: str, bindings: Sequence[Any] = ()) -> Any:
    """The first row, or `None`."""
    rows = connection.execute(sql, bindings).fetchall()
    return rows[0] if rows else None


def of_a_caller(error: Exception) -> Exception:
    """Marks what a caller's function raised: it isn't taken for damage."""
    error.__dict__["of_a_caller"] = True
    return error


@contextmanager
def calling_out() -> Iterator[None]:
    """A block that runs a caller's function."""
    try:
        yield
    except Exception as error:  # noqa: BLE001
        raise of_a_caller(error)  # noqa: B904


def is_of_a_caller(error: Exception) -> bool:
    """Whether it is marked."""
    return "of_a_caller" in error.__dict__


def raise_ours(error: BaseException, path: str) -> None:
    """Raises our error for one of `UNREADABLE`. Our own, and those of a caller's function, are left to go on."""
    if isinstance(error, UNREADABLE) and not isinstance(error, EventStoreError) and not is_of_a_caller(error):
        raise translate(error, path) from error


def translate(error: BaseException, path: str) -> EventStoreError:
    """Our error for one of `UNREADABLE`: wanted is `path`, found is SQLite's text, then what to do."""
    if not isinstance(error, apsw.Error):
        return DamagedStore(f"{path}: {_DAMAGE} ({type(error).__name__}: {error})")
    for theirs, ours, advice in _TRANSLATIONS:
        if isinstance(error, theirs):
            return ours(f"{path}: {advice} (SQLite: {error})")
    return EventStoreError(f"{path}: SQLite failed unexpectedly: {type(error).__name__}: {error}")


def lost(path: str) -> EventStoreError:
    """What a transaction raises that SQLite rolled back by itself."""
    return StoreFull(
        f"{path}: the transaction was rolled back whole when an earlier call in it failed "
        "(the disk was full, or failed); leave the transaction() and begin again"
    )


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Raises our own errors for `UNREADABLE`."""
    try:
        yield
    except UNREADABLE as error:
        raise_ours(error, path)
        raise


def open_writer(path: str, busy_timeout: float) -> Connection:
    """A connection that reads and writes, creating the file. Its journal mode is not yet set, and it syncs in full."""
    connection = Connection(path, flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    configure(connection, busy_timeout)
    set_durability(connection, "full")
    _erase_deleted(connection)
    wal.bound(connection, busy_timeout)
    return connection


def open_unsynced(path: str) -> Connection:
    """As `open_writer`, for a file that counts for nothing until it is whole, and is synced then."""
    connection = open_writer(path, 0)
    set_durability(connection, "off")
    return connection


def open_reader(path: str, busy_timeout: float, *, immutable: bool = False) -> Connection:
    """A connection that reads. `immutable` creates no file beside the database: for one that nobody has open."""
    if immutable:
        uri = f"file:{_quoted(path)}?immutable=1"
        connection = Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    else:
        connection = Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    configure(connection, busy_timeout)
    return connection


def open_aside() -> Connection:
    """A connection to an empty database in memory, which a file can be attached to."""
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
    connection = Connection(":memory:", flags=flags)
    configure(connection, 0)
    return connection


def attach(aside: Connection, path: str, busy_timeout: float, *, immutable: bool) -> None:
    """Attaches a file, to read: what isn't in memory is found in it. `immutable` as for `open_reader`."""
    aside.set_busy_timeout(round(busy_timeout * 1000))
    aside.execute("ATTACH ? AS file", (f"file:{_quoted(path)}?{'immutable=1' if immutable else 'mode=ro'}",))


def _quoted(path: str) -> str:
    from urllib.parse import quote  # few stores are read so, and it takes long to import

    return quote(path)


def open_damaged(path: str) -> Connection:
    """A connection that reads what it can of a damaged file, which nobody else has open."""
    connection = Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    configure(connection, 0)
    connection.pragma("writable_schema", "on")  # also where the schema, or the header's count of pages, is wrong
    return connection


def open_copy(source: Connection) -> Connection:
    """A private in-memory copy of a database."""
    copy = Connection(":memory:")
    with copy.backup("main", source, "main") as backup:
        backup.step()
    configure(copy, 0)
    return copy


def configure(connection: Connection, busy_timeout: float) -> None:
    """What every connection gets."""
    connection.set_busy_timeout(round(busy_timeout * 1000))
    _strict_sql(connection)
    _stable_plans(connection)
    _temporary_in_memory(connection)


def _strict_sql(connection: Connection) -> None:
    """A misspelt column is an error and not a string, and a foreign schema can't run functions."""
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DDL, 0)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)


def _stable_plans(connection: Connection) -> None:
    """A plan must not depend on what is bound: else SQLite prepares every join anew at each call (20 µs of an append).

    Source: https://www.sqlite.org/queryplanner-ng.html, the query planner stability guarantee.
    """
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)


def _temporary_in_memory(connection: Connection) -> None:
    """Views in time and checks replay into temporary tables: no text of a conversation may land in /tmp."""
    connection.pragma("temp_store", "memory")


def set_durability(connection: Connection, durability: str) -> None:
    """FULL syncs the WAL at each commit; NORMAL at checkpoints only, which never corrupts but may lose the last.

    Only with a WAL: a rollback journal that isn't synced in full can be torn by a power cut so that it is played back.
    """
    connection.pragma("synchronous", durability)


def _erase_deleted(connection: Connection) -> None:
    """Deleted content is overwritten with zeros, in the WAL and at the checkpoint in the file."""
    connection.pragma("secure_delete", "on")


def begin(connection: Connection, busy_timeout: float, patience: float | None) -> None:
    """`BEGIN IMMEDIATE`. It waits for other writers as long as any statement or, when that is less, `patience`."""
    if patience is None:
        connection.execute("BEGIN IMMEDIATE")
        return
    connection.set_busy_timeout(round(min(patience, busy_timeout) * 1000))
    try:
        connection.execute("BEGIN IMMEDIATE")
    finally:
        connection.set_busy_timeout(round(busy_timeout * 1000))


def begin_savepoint(connection: Connection, depth: int) -> None:
    """A savepoint `depth` deep in the open transaction."""
    connection.execute(f"SAVEPOINT depth_{depth}")


def release(connection: Connection, depth: int) -> None:
    """Ends a savepoint and keeps what was done in it; 0 commits the transaction."""
    connection.execute(f"RELEASE depth_{depth}" if depth else "COMMIT")


def drop_pages(connection: Connection | None, error: BaseException) -> None:
    """Behind what may be damage, SQLite reads its pages anew: where a file seemed to end, it keeps pages of zeros."""
    ours = isinstance(error, EventStoreError) and not isinstance(error, DamagedStore)
    if connection is not None and isinstance(error, (*UNREADABLE, DamagedStore)) and not ours:
        with suppress(Error):
            connection.execute("PRAGMA shrink_memory")


def roll_back(connection: Connection, depth: int) -> None:
    """Ends a savepoint, or the transaction (0), and undoes what was done in it."""
    if depth:
        connection.execute(f"ROLLBACK TO depth_{depth}")
        release(connection, depth)
    else:
        connection.execute("ROLLBACK")
