"""A file brought from `retain="all"` to "current": what is superseded loses its body.

From the first transaction on the file's retention is "current", so that nothing new is kept. What is superseded then
stays so, whatever others write meanwhile: the rest is looked up once, and taken away in short transactions with pauses
in which others write. Each leaves a sound file, so that it can be killed at any point, and finishes when called again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from eventstore import bodies, driver, linking, log
from eventstore.driver import Connection, fetch, fetch_one
from eventstore.store import Store
from eventstore.tree import ENDLESS
from eventstore.types import Progress, check_flag, check_progress

WINDOW_EVENTS = 20_000  # looked through at a time
BATCH_EVENTS = 200  # whose bodies go in one transaction,
BATCH_BYTES = 4 * 1024 * 1024  # or fewer when they are large
REWRITTEN_EVENTS = 500  # in one transaction, or fewer when they are large
VACUUM_PAGES = 1_000  # given back in one transaction
EMPTYINGS = 20  # how often it is tried to empty the WAL, which waits for readers each time
LONGEST_PAUSE = 0.02  # seconds between two transactions; shorter ones are followed by a pause as long as they took


def scavenge(store: Store, vacuum: bool, progress: Progress | None) -> int:
    """Takes away every body that isn't the current one of something, and returns how many there were."""
    check_flag("vacuum", vacuum)
    check_progress(progress)
    store.database.check_outside("scavenge()")
    with store.transaction() as connection:  # also says whether it may be written
        log.set_setting(connection, "retain", "current")
    dropped = 0
    for batch in _superseded(store, progress):
        with _short_transaction(store) as connection:
            dropped += bodies.drop_each(connection, batch)
    if vacuum:
        _return_pages(store, progress)
    _empty_wal(store)
    return dropped


def _empty_wal(store: Store) -> None:
    """Empties the WAL as soon as no reader needs it, or leaves it to later commits. Others write in between."""
    for _ in range(EMPTYINGS):
        if store.database.truncate_wal():
            return
        store.database.sleep(LONGEST_PAUSE)


def _superseded(store: Store, progress: Progress | None) -> Iterator[list[int]]:
    """Retained versions that nothing shows, in batches for one transaction each."""
    with store.database.private() as connection:
        upto = log.latest_seq(connection)
        _note_current(connection)
        for after in range(0, upto, WINDOW_EVENTS):
            rows = fetch(
                connection,
                "SELECT seq, bytes FROM event WHERE seq > ? AND seq <= ? AND digest IS NOT NULL "
                "AND seq NOT IN (SELECT version FROM temp.current) ORDER BY seq",
                (after, min(after + WINDOW_EVENTS, upto)),
            )
            for batch in _batches(rows):
                yield batch
                _report(progress, batch[-1], upto)
            _report(progress, min(after + WINDOW_EVENTS, upto), upto)


def _note_current(connection: Connection) -> None:
    """Notes the versions that reads show: of living messages, of sessions' metadata, of summaries with a message left.

    In a table in memory, for the numbers of a million messages are no list to hold in Python. One state of the file.
    """
    connection.execute("CREATE TABLE temp.current (version INTEGER PRIMARY KEY)")
    connection.execute("BEGIN")
    for query in (
        "SELECT coalesce(current, seq) FROM message",
        "SELECT metadata FROM head WHERE metadata IS NOT NULL",
        "SELECT seq FROM overlay",
    ):
        connection.execute(f"INSERT OR IGNORE INTO temp.current {query}")
    for (session,) in fetch(connection, "SELECT DISTINCT session FROM overlay"):
        lifeless = ((seq,) for seq in linking.lifeless(connection, session, 0, ENDLESS))
        connection.executemany("DELETE FROM temp.current WHERE version = ?", lifeless)
    connection.execute("COMMIT")


def _batches(rows: list[tuple[int, int | None]]) -> Iterator[list[int]]:
    batch: list[int] = []
    room = BATCH_BYTES
    for seq, size in rows:
        if batch and (len(batch) == BATCH_EVENTS or room < (size or 0)):
            yield batch
            batch, room = [], BATCH_BYTES
        batch.append(seq)
        room -= size or 0
    if batch:
        yield batch


def _return_pages(store: Store, progress: Progress | None) -> None:
    """Writes the events anew, so that they lie on fewer pages, and gives back the pages that are free then.

    Up to the newest event, and as many pages, as there were when it began: what others do meanwhile is no reason to go
    on.
    """
    with store.read() as connection:
        last = log.latest_seq(connection)
    done = 0
    while done < last:
        with _short_transaction(store) as connection:
            done = log.rewrite(connection, done, REWRITTEN_EVENTS, BATCH_BYTES)
        _report(progress, min(done, last), last)
    with store.read() as connection:
        (total,) = fetch_one(connection, "PRAGMA freelist_count")
    for done in range(0, total, VACUUM_PAGES):
        with _short_transaction(store) as connection:
            fetch(connection, f"PRAGMA incremental_vacuum({min(VACUUM_PAGES, total - done)})")
        _report(progress, min(done + VACUUM_PAGES, total), total)


def _report(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None:
        with driver.calling_out():
            progress(done, total)


@contextmanager
def _short_transaction(store: Store) -> Iterator[Connection]:
    """A transaction, and then a pause in which others write."""
    started = time.monotonic()
    with store.transaction() as connection:
        yield connection
    store.database.sleep(min(time.monotonic() - started, LONGEST_PAUSE))
