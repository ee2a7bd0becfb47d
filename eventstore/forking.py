"""What a fork does to the stores that are open: the child lets go of its parent's connections.

SQLite notes which locks its process has on a file, and doesn't ask the system for those. A child inherits the note, not
the locks. So a store of its own on the same file would wait in vain for a lock that another thread of the parent had as
it forked; and where the parent closes its store first, the WAL would be deleted under the child's, and what that writes
be lost. SQLite forgets once all connections to a file are closed. As it is done here that writes nothing, and takes no
lock from the parent.

It can't be done to a connection that is in a write, or that another thread is using. So a fork waits for those, for a
moment; the locks of SQLite's own memory are free in the child then, too.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from weakref import WeakSet

import apsw

from eventstore.driver import Connection
from eventstore.errors import StoreBusy
from eventstore.locking import WriteLock

PATIENCE = 1.0  # seconds that a fork waits
_PAUSE = 0.0005

_locks: WeakSet[WriteLock] = WeakSet()
_taken = threading.local()


def watched(lock: WriteLock) -> WriteLock:
    """The lock, whose writes forks wait for from now on."""
    _locks.add(lock)
    return lock


def _connections() -> list[Connection]:
    return [each for each in apsw.connections() if isinstance(each, Connection)]


def _is_used(connection: Connection) -> bool:
    """Whether another thread is inside SQLite with it."""
    try:
        connection.in_transaction  # noqa: B018 - then it is refused
    except apsw.ThreadingViolationError:
        return True
    except apsw.ConnectionClosedError:
        pass
    return False


def _wait() -> None:
    until = time.monotonic() + PATIENCE
    _taken.locks = taken = []
    for lock in list(_locks):
        taken.append(lock)  # first: an interrupt may come
        with suppress(StoreBusy):
            lock.acquire(max(until - time.monotonic(), 0))
    while any(map(_is_used, _connections())) and time.monotonic() < until:
        time.sleep(_PAUSE)


def _go_on() -> None:
    for lock in _taken.locks:
        with suppress(RuntimeError):  # it was busy
            lock.release()


def _let_go() -> None:
    _go_on()
    for connection in _connections():
        with suppress(apsw.Error):  # it was being used
            if connection.txn_state() != apsw.SQLITE_TXN_WRITE:  # its rollback would be seen by the parent
                connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
                connection.close(True)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait, after_in_parent=_go_on, after_in_child=_let_go)
