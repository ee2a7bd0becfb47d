"""The store checked against itself, and its read tables made anew. Both are the fold, run over the whole log.

`verify` replays into temporary tables, which hide the file's, and compares row by row; it never writes to the file.
"""

from __future__ import annotations

from collections.abc import Iterator

from eventstore import bodies, driver, index, log, schema
from eventstore.driver import Connection, fetch, fetch_one
from eventstore.fold import Fold
from eventstore.reports import VerifyReport
from eventstore.store import Store
from eventstore.types import Progress, check_progress

REPORT_EVERY = 1_000
SHOWN = 5  # differing rows named per table


def rebuild(store: Store, progress: Progress | None) -> None:
    """Drops the read tables and replays the log into new ones, in one transaction."""
    check_progress(progress)
    store.check_idle()
    with store.transaction() as connection, driver.translated(store.database.path):
        store.at_work = store.database.depth
        schema.drop_read_tables(connection)
        schema.create_read_tables(connection)
        upto = log.latest_seq(connection)
        fold = Fold(connection)
        for envelope in log.read_all(connection, upto):
            fold.apply(envelope)
            _report(progress, envelope.seq, upto)
        fold.flush()
        index.rebuild(connection)
        store.heads.forget()
        store.totals.forget()
        store.at_work = 0


def _report(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None and (done % REPORT_EVERY == 0 or done == total):
        with driver.calling_out():
            progress(done, total)


def verify(store: Store, progress: Progress | None) -> VerifyReport:
    """Everything that is wrong with the file, as far as SQLite, the fold and the digests can see."""
    check_progress(progress)
    with store.database.private() as connection:
        problems: list[str] = []
        for check in (_integrity, lambda c: _replay(c, progress), bodies.check, index.check):
            try:
                problems += check(connection)
            except driver.UNREADABLE as error:
                if driver.is_of_a_caller(error):
                    raise
                problem = f"it can't be read: {error}"
                if problem not in problems:  # the next check stumbles over the same
                    problems.append(problem)
        return VerifyReport(not problems, tuple(problems))


def _integrity(connection: Connection) -> Iterator[str]:
    connection.execute("BEGIN")  # one state for all that follows
    for (line,) in fetch(connection, "PRAGMA main.integrity_check"):
        if line != "ok":
            yield f"SQLite: {line}"


def _replay(connection: Connection, progress: Progress | None) -> Iterator[str]:
    schema.create_read_tables(connection, "temp")
    upto, count = fetch_one(connection, "SELECT coalesce(max(seq), 0), count(*) FROM event")
    if upto != count:
        yield f"the log has {count} events, but its last is number {upto}"
    fold = Fold(connection)
    last: dict[int, int] = {}
    for envelope in log.read_all(connection, upto):
        back = envelope.seq - last.get(envelope.session, envelope.seq)
        if back != envelope.back:
            yield f"event {envelope.seq}: its session's last event is {back} back, and not {envelope.back}"
        last[envelope.session] = envelope.seq
        try:
            if envelope.type in (log.APPEND, log.IMPORT, log.SELECT):
                touch = envelope.parent if envelope.touch is None else envelope.touch
                if touch != fold.head(envelope.session).touch:
                    yield f"event {envelope.seq}: the leaf before it isn't the one it is linked to"
            fold.apply(envelope)
        except (LookupError, TypeError, ValueError) as error:
            yield f"event {envelope.seq}: it can't be replayed: {error}"
            return
        _report(progress, envelope.seq, upto)
    fold.flush()
    for table in schema.READ_TABLES:
        yield from _differences(connection, table)


def _differences(connection: Connection, table: str) -> Iterator[str]:
    for there, missing, told in (
        ("main", "temp", "has a row that the log doesn't give"),
        ("temp", "main", "lacks a row that the log gives"),
    ):
        rows = fetch(
            connection, f"SELECT * FROM {there}.{table} EXCEPT SELECT * FROM {missing}.{table} LIMIT ?", (SHOWN,)
        )
        for row in rows:
            yield f"table {table} {told}: {row}"
