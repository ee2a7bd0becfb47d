"""Sessions that nobody has written to for long, deleted."""

from __future__ import annotations

from datetime import timedelta

from eventstore import clock, deleting, heads, overviews
from eventstore.errors import InvalidArgument
from eventstore.infos import SessionInfo
from eventstore.store import Store
from eventstore.types import check_flag

_MICROSECOND = timedelta(microseconds=1)
_BEFORE_ALL = -(2**62)  # a time that SQLite can hold, and that nothing was written before


def prune(store: Store, idle_for: timedelta, dry_run: bool) -> list[SessionInfo]:
    """Deletes sessions whose last write is longer ago than `idle_for`, the longest idle first, and gives their infos.

    Each is looked at again in the transaction that deletes it: one that is written to meanwhile stays.
    """
    if not isinstance(idle_for, timedelta) or idle_for < timedelta():
        raise InvalidArgument(f"idle_for must be a timedelta of 0 or more, timedelta(days=90) say; not {idle_for!r}")
    check_flag("dry_run", dry_run)
    if not dry_run:
        store.database.check_writable()
    since = max(clock.now() - idle_for // _MICROSECOND, _BEFORE_ALL)
    with store.read() as connection:
        found = overviews.list_sessions(connection, heads.idle(connection, since))
    if dry_run:
        return found
    return [info for info in found if deleting.delete_session(store, info.session_id, idle_since=since)]
