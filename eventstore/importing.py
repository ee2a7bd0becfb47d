"""Writes that store messages as given, with their own times: import one, import any number.

Many are imported in bounded transactions. A row whose parent isn't there yet waits for it in a temporary table, so that
memory stays bounded whatever the order of the rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import groupby
from operator import itemgetter

import attrs

from eventstore import clock, codec, deltas, log, messages, tree
from eventstore.clock import to_datetime
from eventstore.drafting import Draft
from eventstore.driver import fetch, fetch_one
from eventstore.errors import EventStoreError, InvalidArgument, UnknownMessage
from eventstore.events import Imported
from eventstore.reports import ImportReport, ImportRow
from eventstore.store import Store
from eventstore.types import AppendResult, MessageLike, Progress, check_aware, check_progress
from eventstore.writing import Write

BATCH_ROWS = 1_000
BATCH_BYTES = 8 * 1024 * 1024


@attrs.define
class _Row:
    """A checked row on its way in. Its draft carries its time."""

    draft: Draft
    parent_id: str | None


def _checked(store: Store, row: ImportRow) -> _Row:
    if not isinstance(row, ImportRow):
        raise InvalidArgument(f"rows must be ImportRow values, not {type(row).__name__}")
    if row.parent_id is not None and not isinstance(row.parent_id, str):
        raise InvalidArgument(f"parent_id must be a message's id, or None for a root; not {row.parent_id!r}")
    created_at = clock.to_microseconds(check_aware("created_at", row.created_at))
    return _Row(store.drafting.draft(row.message, created_at), row.parent_id)


def import_message(
    store: Store, name: str, message: MessageLike, parent_id: str | None, created_at: datetime
) -> AppendResult:
    """Stores one message as given. Raises `UnknownMessage` when its parent isn't there."""
    row = _checked(store, ImportRow(message, parent_id=parent_id, created_at=created_at))
    with Write(store, name) as write, write:
        position = write.find(row.draft.id)
        if position is not None:
            return AppendResult(False, messages.read_one(write.connection, position), None)
        parent = None
        if row.parent_id is not None:
            found = write.find(row.parent_id)
            if found is None:
                raise UnknownMessage([row.parent_id], name, "parent_id")
            parent = found.seq
        return AppendResult(True, row.draft.encoded.value, _store(write, [row], parent)[0])


def _store(write: Write, run: list[_Row], parent: int | None) -> range:
    """Logs rows, each on the one before, and returns their seqs."""
    seqs = write.add(log.IMPORT, [row.draft for row in run], parent)
    if write.is_heard():
        for row, seq in zip(run, seqs, strict=True):
            write.emit(
                Imported,
                seq,
                message=codec.own_value(row.draft.encoded),
                parent_id=row.parent_id,
                created_at=to_datetime(row.draft.created_at or 0),
            )
    return seqs


def import_messages(store: Store, name: str, rows: Iterable[ImportRow], progress: Progress | None) -> ImportReport:
    """Stores any number of messages as given. What was committed stays, whatever comes after it."""
    store.database.check_writable()
    if isinstance(rows, ImportRow) or not isinstance(rows, Iterable):
        raise InvalidArgument(f"rows must be an iterable of ImportRow values, not {rows!r:.200}: put one in a list")
    check_progress(progress)
    importing = _Importing(store, name)
    try:
        for batch in _batched(_checked(store, row) for row in rows):
            importing.run(batch)
            if progress is not None:
                progress(importing.imported + importing.known, None)
        importing.finish()
    except EventStoreError as error:
        if not store.database.in_transaction():
            error.add_note(f"{importing.imported} messages of this import were stored before, and stay")
        raise
    finally:
        importing.close()
    return ImportReport(importing.imported, importing.known)


def _batched(rows: Iterator[_Row]) -> Iterator[list[_Row]]:
    batch: list[_Row] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += row.draft.encoded.size
        if len(batch) >= BATCH_ROWS or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


class _Places:
    """Where the messages of one batch and their parents are. Rows that follow one another go into the log together."""

    def __init__(self, write: Write, batch: list[_Row]) -> None:
        self._write = write
        self._seqs: dict[str, int] = {}  # what this batch stored: the index may not have it yet
        self._run: dict[str, _Row] = {}  # what is gathered, each row on the one before
        self._parent: int | None = None  # that the first of them hangs on
        self._absent: set[str] = set()  # what need not be looked up
        if write.session is not None:
            ids = {row.draft.id for row in batch}
            ids.update(row.parent_id for row in batch if row.parent_id and not codec.has_surrogate(row.parent_id))
            self._absent = ids - tree.maybe_known(write.connection, write.session, list(ids))

    def seq(self, message_id: str) -> int | None:
        """The seq of a message that is there, `None` when it isn't."""
        if message_id in self._run:
            self.flush()
        if message_id in self._seqs:
            return self._seqs[message_id]
        position = None if message_id in self._absent else self._write.find(message_id)
        return None if position is None else position.seq

    def holds(self, message_id: str) -> bool:
        """Whether a message is there."""
        return message_id in self._run or self.seq(message_id) is not None

    def add(self, row: _Row) -> bool:
        """Stores a new row; false when its parent isn't there."""
        if row.parent_id is None or not self._run or row.parent_id != next(reversed(self._run)):
            parent = None if row.parent_id is None else self.seq(row.parent_id)
            if row.parent_id is not None and parent is None:
                return False
            self.flush()
            self._parent = parent
        self._run[row.draft.id] = row
        return True

    def flush(self) -> None:
        """Logs what is gathered."""
        if self._run:
            self._seqs.update(zip(self._run, _store(self._write, list(self._run.values()), self._parent), strict=True))
            self._run.clear()


class _Importing:
    """An import under way. Rows that wait are numbered, so that they go in as they came."""

    def __init__(self, store: Store, name: str) -> None:
        self.imported = 0
        self.known = 0
        self._store = store
        self._name = name
        self._table = f"waiting_{id(self)}"
        self._waiting = 0
        self._number = 0
        self._made = False

    def run(self, batch: list[_Row]) -> None:
        """Imports a batch in one transaction, and what waited for it."""
        imported, known, waiting = self.imported, self.known, self._waiting
        try:
            with Write(self._store, self._name) as write, write:
                places = _Places(write, batch)
                for row in batch:
                    self._take(write, places, row)
                places.flush()
        except BaseException:
            self.imported, self.known, self._waiting = imported, known, waiting
            raise

    def _take(self, write: Write, places: _Places, row: _Row) -> None:
        if places.holds(row.draft.id):
            self.known += 1
        elif places.add(row):
            self.imported += 1
        else:
            self._wait(write, row)
            return
        ready = deque([row])
        while self._waiting and ready:
            for released in self._released(write, ready.popleft().draft.id):
                if places.holds(released.draft.id):
                    self.known += 1
                else:
                    places.add(released)
                    self.imported += 1
                ready.append(released)

    def _wait(self, write: Write, row: _Row) -> None:
        if codec.has_surrogate(row.parent_id or ""):  # no id is such
            raise UnknownMessage(
                [row.draft.id], self._name, f"parents for imported rows, which wait for {row.parent_id!r}"
            )
        if not self._made:
            write.connection.execute(
                f"CREATE TEMP TABLE IF NOT EXISTS {self._table} (n INTEGER, part INTEGER, parent TEXT, "
                "created_at INTEGER, flags INTEGER, text TEXT, PRIMARY KEY (n, part)) WITHOUT ROWID"
            )
            write.connection.execute(f"CREATE INDEX IF NOT EXISTS temp.{self._table}_parent ON {self._table} (parent)")
            self._made = True
        encoded = row.draft.encoded
        self._number += 1
        self._waiting += 1
        write.connection.executemany(
            f"INSERT INTO temp.{self._table} VALUES (?, ?, ?, ?, ?, ?)",
            (
                (self._number, part, row.parent_id, row.draft.created_at, encoded.flags, text)
                for part, text in enumerate(deltas.slices(codec.full_text(encoded)))
            ),
        )

    def _released(self, write: Write, parent_id: str) -> list[_Row]:
        """The rows that wait for a parent, which wait no longer."""
        if not self._waiting:
            return []
        rows = fetch(
            write.connection,
            f"DELETE FROM temp.{self._table} WHERE parent = ? RETURNING n, part, created_at, flags, text",
            (parent_id,),
        )
        released = []
        for _, parts in groupby(sorted(rows), key=itemgetter(0)):
            texts = list(parts)
            _, _, created_at, flags, _ = texts[0]
            message = codec.decode("".join(part[-1] for part in texts), flags)
            released.append(_Row(self._store.drafting.draft(message, created_at), parent_id))
        self._waiting -= len(released)
        return released

    def finish(self) -> None:
        """Raises `UnknownMessage` when rows still wait."""
        if not self._waiting:
            return
        with Write(self._store, self._name) as write, write:
            parents = fetch(write.connection, f"SELECT DISTINCT parent FROM temp.{self._table} ORDER BY n")
            waiting = [row.draft.id for (parent_id,) in parents for row in self._released(write, parent_id)]
        missing = [parent_id for (parent_id,) in parents if parent_id not in set(waiting)]
        wanted = ", ".join(map(repr, missing[:5])) if missing else "each other: they form a circle"
        raise UnknownMessage(waiting, self._name, f"parents for imported rows, which wait for {wanted}")

    def close(self) -> None:
        """Drops the temporary table."""
        if self._made:
            with self._store.transaction() as connection:
                if fetch_one(connection, "SELECT 1 FROM temp.sqlite_schema WHERE name = ?", (self._table,)):
                    connection.execute(f"DROP TABLE temp.{self._table}")
