"""A copy of the whole store, as it is at one moment, made while others write.

Pages are copied by SQLite's own backup inside one read transaction: the copy is this file page for page, and no write
of others makes it begin again. It grows under another name in the target's folder and takes the target's name when it
is whole and on the disk; a failure leaves nothing. A store in memory, which has no second connection, is copied in
memory first: else a write by `progress` would make SQLite begin again, and the next one again.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

from eventstore import driver, log, opening, pages
from eventstore.driver import Connection
from eventstore.errors import CannotOpen, InvalidArgument, StoreFull
from eventstore.store import Store
from eventstore.types import Progress, check_progress

STEP_PAGES = 1_000
_BESIDE = ("-wal", "-journal", "-shm")  # files that SQLite would take for a part of the copy


def backup(store: Store, target: str, progress: Progress | None) -> None:
    """Copies the store into the new file `target`. Raises `CannotOpen`, `StoreFull` and `InvalidArgument`."""
    check_progress(progress)
    store.database.check_outside("backup()")
    database = store.database
    source, state = (None, database.private()) if database.in_memory else (database.path, store.read())
    with new_file(target, source) as part, state as connection:
        _copy(connection, part, progress)


@contextmanager
def new_file(target: str, model: str | None) -> Iterator[str]:
    """The path of an empty file that becomes `target` at the end of the block; a failure leaves neither.

    Nobody may read it who may not read `model`. Raises `CannotOpen` for a target that is there, and `StoreFull`.
    """
    _check_new(target, model)
    part = f"{target}.{os.getpid()}.part"
    try:
        mode = 0o666 if model is None else os.stat(model).st_mode & 0o777
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
    except OSError as error:
        raise file_error(error, target) from error
    try:
        yield part
        _put_in_place(part, target)
    except BaseException:
        for suffix in ("", *_BESIDE):
            with suppress(OSError):
                os.unlink(part + suffix)
        raise


def _check_new(target: str, source: str | None) -> None:
    """Refuses a target that is there, or that something lies beside which would be taken for a part of it."""
    if target == opening.MEMORY:
        raise InvalidArgument("the copy needs a file: name one")
    if source is not None and _is_same(target, source):
        raise CannotOpen(f"{target}: that is the store itself; name another file")
    if not os.path.isdir(os.path.dirname(target)):
        raise CannotOpen(f"{target}: its folder doesn't exist, or can't be entered; create it, or check its mode")
    for path in (target, *(target + suffix for suffix in _BESIDE)):
        if os.path.lexists(path):
            raise CannotOpen(f"{path}: it is there already, and is never replaced; name another file, or remove it")


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _copy(connection: Connection, part: str, progress: Progress | None) -> None:
    log.latest_seq(connection)  # the moment: what is committed later isn't seen
    with driver.translated(part), closing(pages.copy_pages(connection, part, STEP_PAGES)) as steps:
        for done, total in steps:
            if progress is not None:
                with driver.calling_out():
                    progress(done, total)


def _put_in_place(part: str, target: str) -> None:
    """Gives a whole file its name, once it is on the disk. Never in the place of another one."""
    try:
        _sync(part)
        try:
            os.link(part, target)  # fails where a rename would replace
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            os.rename(part, target)
        else:
            os.unlink(part)
        _sync(os.path.dirname(target))
    except OSError as error:
        raise file_error(error, target) from error


def _sync(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def file_error(error: OSError, path: str) -> CannotOpen | StoreFull:
    """Our error for the system's, when a new file can't be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull(f"{path}: the disk is full; make room. Nothing was left there")
    return CannotOpen(f"{path}: it can't be written: {error.strerror}; check the folder, or name another file")
