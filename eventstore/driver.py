"""The border to SQLite: the only module that imports apsw. Opens configured connections and translates every error.

Settings are small named functions with the reason for each; `configure` applies them. Everything above works with the
`Connection` handed out here and never sees an apsw error: `Database` translates whatever leaves its transactions.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import apsw

from eventstore.errors import (
    CannotOpen,
    DamagedStore,
    EventStoreError,
    NotAStore,
    ReadOnlyStore,
    StoreBusy,
    StoreClosed,
    StoreFull,
)

Error = apsw.Error
BusyError = apsw.BusyError

WAL_PAGES = 4_000  # checkpoint after so many pages (8 MB): a page written often goes to the file once
WAL_BYTES = 16 * 1024 * 1024  # what is left of a WAL that once grew beyond it
CLOSING_MILLISECONDS = 200  # how long a close waits for readers elsewhere, to empty the WAL

_DAMAGE = "the file is damaged or isn't laid out as this version writes it; verify() says more, a backup helps"
_TRANSLATIONS: tuple[tuple[type[apsw.Error], type[EventStoreError], str], ...] = (
    (apsw.BusyError, StoreBusy, "another connection kept it locked for longer than busy_timeout; try again"),
    (apsw.LockedError, StoreBusy, "another connection kept it locked for longer than busy_timeout; try again"),
    (apsw.FullError, StoreFull, "the disk (or the database's size limit) is full; make room, nothing was written"),
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
    (apsw.CantOpenError, CannotOpen, "it, or the -wal and -shm files beside it, can't be opened; check the folder"),
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
    """Many integers as one binding, for `IN carray(?)`: a statement with a mark for each takes twice as long."""
    return apsw.carray(array("q", numbers))


def fetch_one(connection: Connection, sql: str, bindings: Sequence[Any] = ()) -> Any:
    """The first row, or `None`."""
    rows = connection.execute(sql, bindings).fetchall()
    return rows[0] if rows else None


def translate(error: apsw.Error, path: str) -> EventStoreError:
    """Our error for a driver's: what was wanted is `path`, what was found is SQLite's text, then what to do."""
    for theirs, ours, advice in _TRANSLATIONS:
        if isinstance(error, theirs):
            return ours(f"{path}: {advice} (SQLite: {error})")
    return EventStoreError(f"{path}: SQLite failed unexpectedly: {type(error).__name__}: {error}")


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Raises our own errors for the driver's."""
    try:
        yield
    except apsw.Error as error:
        raise translate(error, path) from error


def open_writer(path: str, durability: str, busy_timeout: float) -> Connection:
    """A connection that reads and writes, creating the file. Its journal mode is not yet set."""
    connection = Connection(path, flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    configure(connection, busy_timeout)
    _synchronous(connection, durability)
    _erase_deleted(connection)
    _bound_the_wal(connection)
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


def read_header(path: str, size: int) -> bytes:
    """The first bytes of a file, through SQLite's own file layer.

    When a process closes any file descriptor of a file, POSIX drops all the locks that it has on the file: a plain
    `open` here would take them from another store of this process, and the next program that closes the database would
    then remove the WAL from under it.
    """
    file = apsw.VFSFile("", path, [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0])
    try:
        return file.xRead(size, 0)
    finally:
        file.xClose()


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


def _synchronous(connection: Connection, durability: str) -> None:
    """FULL syncs the WAL at each commit; NORMAL at checkpoints only, which never corrupts but may lose the last."""
    connection.pragma("synchronous", durability)


def _erase_deleted(connection: Connection) -> None:
    """Deleted content is overwritten with zeros, in the WAL and at the checkpoint in the file."""
    connection.pragma("secure_delete", "on")


def _bound_the_wal(connection: Connection) -> None:
    connection.wal_autocheckpoint(WAL_PAGES)
    connection.pragma("journal_size_limit", WAL_BYTES)


def truncate_wal(connection: Connection) -> bool:
    """Writes the WAL into the file and empties it. False when a reader elsewhere still needs it."""
    connection.set_busy_timeout(CLOSING_MILLISECONDS)
    try:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except apsw.BusyError:
        return False
    return True


TOKENIZER = ("porter", "unicode61", "remove_diacritics", "2", "categories", "L* N* Co Mn Mc")
"""How texts become words: letters, numbers and vowel signs, without case and accents, English words by their stems."""
_DOCUMENT = apsw.FTS5_TOKENIZE_DOCUMENT


class Tokenizer:
    """SQLite's own tokenizer, as FTS5 runs it. It belongs to a connection, and to the thread that uses that one."""

    def __init__(self, connection: Connection, *, stems: bool = True) -> None:
        name, *arguments = TOKENIZER if stems else TOKENIZER[1:]
        self._tokenize = connection.fts5_tokenizer(name, arguments)

    def words(self, text: str) -> list[str]:
        """The words of a text, in order."""
        data = text.encode()
        found: Any = self._tokenize(data, _DOCUMENT, None, include_offsets=False, include_colocated=False)
        return cast("list[str]", found)

    def spans(self, text: str) -> list[tuple[int, int, str]]:
        """(start, end, word) of each word, in bytes of the text's UTF-8."""
        found: Any = self._tokenize(text.encode(), _DOCUMENT, None, include_colocated=False)
        return cast("list[tuple[int, int, str]]", found)


def fts5_tokenize_option() -> str:
    """`TOKENIZER` as the option of a table."""
    return " ".join(f"'{word}'" if " " in word else word for word in TOKENIZER)


def grapheme_breaks(text: str) -> list[int]:
    """Where `text` may be cut without tearing what a reader sees as one character: both ends, and between clusters."""
    from apsw import unicode  # half of what apsw takes to import

    breaks = [0]
    while breaks[-1] < len(text):
        breaks.append(unicode.grapheme_next_break(text, breaks[-1]))
    return breaks
