"""How a file becomes a store: what it is, who may open it, making a new one, bringing an old one up to date.

Several processes may open a new file at the same moment: the schema is made in one transaction of the rollback journal,
so that the file is either empty or whole, and only then switched to WAL, with retries.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import Any

from eventstore import driver, pages, schema
from eventstore.codec import has_surrogate
from eventstore.driver import Connection, fetch_one
from eventstore.errors import CannotOpen, InvalidArgument, NewerStore, NotAStore, ReadOnlyStore, StoreBusy
from eventstore.types import check_flag

MEMORY = ":memory:"
_MAGIC = b"SQLite format 3\0"
_HEADER = 100
_RETRY_SECONDS = 0.005


def file_name(path: Any) -> str:
    """The absolute path that a caller means, or `MEMORY`. Raises `InvalidArgument`."""
    try:
        name = os.fspath(path)
    except TypeError:
        raise InvalidArgument(f"path must be a file's path or ':memory:', not {path!r}") from None
    name = os.fsdecode(name)
    if not name:
        raise InvalidArgument("path is empty: name a file, or ':memory:' for a store that keeps nothing")
    if "\0" in name or has_surrogate(name):
        raise InvalidArgument(f"path must be UTF-8 without NUL, as SQLite names files; not {name!r}")
    return name if name == MEMORY else os.path.abspath(name)


def store_name(path: Any) -> str:
    """As `file_name`, for a store: by its own path and no link's, since SQLite keeps the files beside it there."""
    name = file_name(path)
    return name if name == MEMORY else file_name(os.path.realpath(name))


def reserved_keys(given: object) -> frozenset[str]:
    """The metadata keys that a store keeps from clients. Raises `InvalidArgument`."""
    keys: list[Any] = [*given] if isinstance(given, Iterable) and not isinstance(given, str) else [None]
    if not all(isinstance(key, str) for key in keys):
        raise InvalidArgument(f"reserved_metadata_keys must be a list of keys, ['model'] say; not {given!r}")
    return frozenset(keys)


def check_options(
    retain: object,
    durability: object,
    busy_timeout: object,
    read_only: bool,
    count_tokens: object,
    prepare: object,
) -> None:
    """Refuses what a store can't be opened with. Raises `InvalidArgument`."""
    if not callable(count_tokens):
        raise InvalidArgument(f"count_tokens must be a function from a message to a number, not {count_tokens!r}")
    if prepare is not None and not callable(prepare):
        raise InvalidArgument(f"prepare must be a function from a message to a message, not {prepare!r}")
    if retain not in (None, "current", "all"):
        raise InvalidArgument(f"retain must be 'current', 'all' or None, not {retain!r}")
    if durability not in ("full", "normal"):
        raise InvalidArgument(f"durability must be 'full' or 'normal', not {durability!r}")
    if not isinstance(busy_timeout, (int, float)) or not 0 <= busy_timeout < 1_000_000:
        raise InvalidArgument(f"busy_timeout must be a number of seconds, 0 or more; not {busy_timeout!r}")
    check_flag("read_only", read_only)
    if read_only and retain is not None:
        raise InvalidArgument("retain changes the file, and read_only=True doesn't: leave one out")


def check_file(path: str, *, must_exist: bool) -> None:
    """Refuses what can be refused without touching the file: a missing folder, another kind of file, a newer store."""
    if path == MEMORY:
        raise CannotOpen(
            "a store in memory begins empty, so it can't be opened with read_only=True: name a file, or leave that out"
        )
    if not os.path.isdir(os.path.dirname(path) or "."):
        raise CannotOpen(f"{path}: its folder doesn't exist, or can't be entered; create it, or check its mode")
    if os.path.isdir(path):
        raise CannotOpen(f"{path}: it is a folder; name a file in it")
    if not os.path.exists(path):
        if must_exist:
            raise CannotOpen(f"{path}: there is no such file, and a read-only store creates none")
        return
    if not os.path.isfile(path):
        raise CannotOpen(f"{path}: it is a device, a pipe or a socket; name a plain file")
    if not os.access(path, os.R_OK):
        raise CannotOpen(f"{path}: it can't be read; check its owner and mode")
    _check_header(path, pages.read_header(path, _HEADER), must_exist=must_exist)


def _check_header(path: str, header: bytes, *, must_exist: bool) -> None:
    if not header:
        if must_exist:
            raise NotAStore(f"{path}: it is an empty file, and a read-only store writes nothing into it")
        return
    if len(header) < _HEADER or not header.startswith(_MAGIC):
        if not must_exist and _has_journal(path):
            return  # power went while the file was being made: SQLite takes that back, and it is looked at again then
        raise NotAStore(f"{path}: it isn't an SQLite database, so it isn't a conversation store")
    application = int.from_bytes(header[68:72], "big")
    if application:
        _check_application(path, application)
        check_version(path, int.from_bytes(header[60:64], "big"))


def _has_journal(path: str) -> bool:
    journal = f"{path}-journal"
    return os.path.isfile(journal) and os.path.getsize(journal) > 0


def _check_application(path: str, application: int) -> None:
    if application != schema.APPLICATION_ID:
        raise NotAStore(f"{path}: it is an SQLite database of another program; name another file")


def check_version(path: str, version: int) -> None:
    """Refuses a store of a later version."""
    if version > schema.VERSION:
        raise NewerStore(
            f"{path}: it has file format {version}, and this version of eventstore knows formats up to "
            f"{schema.VERSION}; upgrade the package. The file was not touched"
        )


def open_store(path: str, durability: str, busy_timeout: float) -> Connection:
    """The writing connection of a store, made when the file is new. Raises what `CannotOpen` has below it."""
    if path == MEMORY:
        connection = driver.open_writer(path, busy_timeout)
        schema.prepare_file(connection)
        with connection:
            schema.create(connection)
        return connection
    check_file(path, must_exist=False)
    connection = driver.open_writer(path, busy_timeout)
    try:
        if connection.readonly("main"):
            raise ReadOnlyStore(f"{path}: it can't be written; open it with read_only=True or change its permissions")
        _bring_up_to_date(connection, path)
        _switch_to_wal(connection, path, busy_timeout)
        driver.set_durability(connection, durability)
    except BaseException:
        connection.close()
        raise
    return connection


def _what_is_there(connection: Connection, path: str) -> int:
    """The version of the store in the file, 0 for a new file. Raises `NotAStore` or `NewerStore`."""
    application, version, tables = fetch_one(
        connection,
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) "
        "FROM pragma_application_id, pragma_user_version",
    )
    if application or tables:
        _check_application(path, application)
        check_version(path, version)
        return int(version)
    if connection.pragma("journal_mode") == "wal":  # a new file isn't switched to WAL before it has its tables
        raise _without_tables(path)
    return 0


def _without_tables(path: str) -> NotAStore:
    return NotAStore(
        f"{path}: it is an SQLite database without tables. Was it copied without the -wal file beside it? "
        "Copy a store with all of its files, while nobody has it open"
    )


def _bring_up_to_date(connection: Connection, path: str) -> None:
    if _what_is_there(connection, path) == schema.VERSION:
        return
    schema.prepare_file(connection)
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _what_is_there(connection, path)  # again: another process may have been quicker
        if version == 0:
            schema.create(connection)
        else:
            schema.migrate(connection, version)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _switch_to_wal(connection: Connection, path: str, busy_timeout: float) -> None:
    """Busy at this switch comes at once, whatever the timeout: hence a loop."""
    give_up = time.monotonic() + busy_timeout
    while True:
        try:
            if connection.pragma("journal_mode", "wal") == "wal":
                return
            raise CannotOpen(f"{path}: its file system can't share memory between processes; keep it on a local disk")
        except driver.BusyError as error:
            if time.monotonic() > give_up:
                raise StoreBusy(
                    f"{path}: wanted to switch it to WAL, but another connection kept it locked for {busy_timeout} s; "
                    "try again"
                ) from error
            time.sleep(_RETRY_SECONDS)


def check_readable(connection: Connection, path: str) -> None:
    """Refuses to read what isn't a store of this version."""
    version = _what_is_there(connection, path)
    if version == 0:
        raise _without_tables(path)
    if version < schema.OLDEST_READABLE:
        raise ReadOnlyStore(
            f"{path}: it has the older file format {version} and must be migrated first: open it once for writing"
        )
