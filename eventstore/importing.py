"""Writes that store messages as given, with their own times: import one, import any number.

Many are imported in bounded transactions. A row whose parent isn't there yet waits for it in a temporary table, so that
memory stays bounded whatever the order of the rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter

from eventstore import clock, codec, deltas, log, messages, tree
from eventstore.clock import to_datetime
from eventstore.drafting import Draft, Drafts
from eventstore.driver import fetch, fetch_one
from eventstore.errors import EventStoreError, InvalidArgument, UnknownMessage
from eventstore.events import Imported
from eventstore.reports import ImportReport, ImportRow
from eventstore.store import Store
from eventstore.types import AppendResult, MessageLike, Progress, check_aware, check_progress
from eventstore.writing import Write

BATCH_ROWS = 1_000
BATCH_BYTES = 8 * 1024 * 1024


def _drafted(store: Store, row: ImportRow) -> Draft:
    """A checked row. Its draft carries its time."""
    if not isinstance(row, ImportRow):
        raise InvalidArgument(f"rows must be ImportRow values, not {type(row).__name__}")
    if row.parent_id is not None and not isinstance(row.parent_id, str):
        raise InvalidArgument(f"parent_id must be a message's id, or None for a root; not {row.parent_id!r}")
    created_at = clock.to_microseconds(check_aware("created_at", row.created_at))
    return store.drafting.draft(row.message, created_at)


def import_message(
    store: Store, name: str, message: MessageLike, parent_id: str | None, created_at: datetime
) -> AppendResult:
    """Stores one message as given. Raises `UnknownMessage` when its parent isn't there."""
    draft = _drafted(store, ImportRow(message, parent_id=parent_id, created_at=created_at))
    with Write(store, name) as write, write:
        position = write.find(draft.id)
        if position is not None:
            return AppendResult(False, messages.read_one(write.connection, position), None)
        parent = None
        if parent_id is not None:
            found = write.find(parent_id)
            if found is None:
                raise UnknownMessage([parent_id], name, "parent_id")
            parent = found.seq
        return AppendResult(True, draft.encoded.value, _store(write, [draft], parent, parent_id)[0])


def _store(
    write: Write, run: Sequence[Draft], parent: int | None, parent_id: str | None, hashes: Sequence[int] | None = None
) -> range:
    """Logs messages, the first under a parent, each other on the one before, and returns their seqs."""
    seqs = write.add(log.IMPORT, run, parent, hashes)
    if write.is_heard():
        for seq, draft in zip(seqs, run, strict=True):
            message, created_at = codec.own_value(draft.encoded), to_datetime(draft.created_at or 0)
            write.emit(Imported, seq, message=message, parent_id=parent_id, created_at=created_at)
            parent_id = draft.id
    return seqs


def import_messages(store: Store, name: str, rows: Iterable[ImportRow], progress: Progress | None) -> ImportReport:
    """Stores any number of messages as given. What was committed stays, whatever comes after it."""
    store.database.check_writable()
    if isinstance(rows, ImportRow) or not isinstance(rows, Iterable):
        raise InvalidArgument(f"rows must be an iterable of ImportRow values, not {rows!r:.200}: put one in a list")
    check_progress(progress)
    importing = _Importing(store, name)
    try:
        for batch in _batched(store, rows):
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


class _Batch:
    """Rows on their way in, by columns: thousands of objects would keep the garbage collector busy."""

    def __init__(self) -> None:
        self.drafts = Drafts()
        self.parents: list[str | None] = []


def _batched(store: Store, rows: Iterable[ImportRow]) -> Iterator[_Batch]:
    batch, size = _Batch(), 0
    for row in rows:
        draft = _drafted(store, row)
        batch.drafts.add(draft)
        batch.parents.append(row.parent_id)
        size += draft.encoded.size
        if len(batch.parents) >= BATCH_ROWS or size >= BATCH_BYTES:
            yield batch
            batch, size = _Batch(), 0
    if batch.parents:
        yield batch


class _Places:
    """Where the messages of one batch and their parents are. Those that follow one another go into the log together."""

    def __init__(self, write: Write, batch: _Batch) -> None:
        self._write = write
        self._batch = batch
        self._seqs: dict[str, int] = {}  # what this batch stores: the index may not have it yet
        self._run = Drafts()  # what is gathered, each message on the one before,
        self._begin = self._end = 0  # and then this stretch of the batch
        self._last: str | None = None  # the id of the last of them
        self._above: tuple[int | None, str | None] = None, None  # (seq, id) that the first of them hangs on
        self._next = write.next_seq
        self._was_new = write.session is None
        self._hashes: dict[str, int] = {}
        self._known: set[int] = set()
        if write.session is not None:  # all at once
            ids = dict.fromkeys(batch.drafts.ids)
            others = set(batch.parents).difference(ids)
            ids |= {id: None for id in others if id is not None and not codec.has_surrogate(id)}
            hashes = log.hash_ids(write.session, [*ids])
            self._hashes.update(zip(ids, hashes, strict=True))
            self._known = tree.known_hashes(write.connection, hashes)

    def seq(self, message_id: str) -> int | None:
        """The seq of a message that is there, `None` when it isn't."""
        seq = self._seqs.get(message_id)
        if seq is not None or self._was_new:
            return seq
        hash = self._hashes.get(message_id)
        if hash is not None and hash not in self._known:
            return None
        position = self._write.find(message_id)
        return None if position is None else position.seq

    def open(self, message_id: str, parent_id: str | None) -> bool:
        """Makes a place for a new message; false when its parent isn't there."""
        if parent_id is None or parent_id != self._last:
            parent = None if parent_id is None else self.seq(parent_id)
            if parent is None and parent_id is not None:
                return False
            self.flush()
            self._above = parent, parent_id
        self._last = message_id
        self._seqs[message_id] = self._next
        self._next += 1
        return True

    def take(self, at: int) -> None:
        """Puts a message of the batch into the place that was made."""
        if at != self._end:
            self._gather()
            self._begin = at
        self._end = at + 1

    def put(self, draft: Draft) -> None:
        """Puts another message there."""
        self._gather()
        self._run.add(draft)

    def _gather(self) -> None:
        self._run.extend(self._batch.drafts[self._begin : self._end])
        self._begin = self._end

    def flush(self) -> None:
        """Logs what is gathered."""
        self._gather()
        if self._run:
            hashes = [self._hashes[id] for id in self._run.ids if id in self._hashes]
            are_known = len(hashes) == len(self._run)  # in a new session none is, nor of what waited
            _store(self._write, self._run, *self._above, hashes if are_known else None)
            self._run = Drafts()


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

    def run(self, batch: _Batch) -> None:
        """Imports a batch in one transaction, and what waited for it."""
        imported, known, waiting = self.imported, self.known, self._waiting
        try:
            with Write(self._store, self._name) as write, write:
                places = _Places(write, batch)
                for at, (message_id, parent_id) in enumerate(zip(batch.drafts.ids, batch.parents, strict=True)):
                    if places.seq(message_id) is not None:
                        self.known += 1
                    elif places.open(message_id, parent_id):
                        places.take(at)
                        self.imported += 1
                    else:
                        self._wait(write, batch.drafts[at], parent_id)
                        continue
                    if self._waiting:
                        self._release(write, places, message_id)
                places.flush()
        except BaseException:
            self.imported, self.known, self._waiting = imported, known, waiting
            raise

    def _release(self, write: Write, places: _Places, message_id: str) -> None:
        """Imports what waits for a message, and what waits for that."""
        ready = deque([message_id])
        while ready:
            parent_id = ready.popleft()
            for draft in self._released(write, parent_id):
                if places.seq(draft.id) is not None:
                    self.known += 1
                else:
                    places.open(draft.id, parent_id)
                    places.put(draft)
                    self.imported += 1
                ready.append(draft.id)

    def _wait(self, write: Write, draft: Draft, parent_id: str | None) -> None:
        if codec.has_surrogate(parent_id or ""):  # no id is such
            raise UnknownMessage([draft.id], self._name, f"parents for imported rows, which wait for {parent_id!r}")
        if not self._made:
            write.connection.execute(
                f"CREATE TEMP TABLE IF NOT EXISTS {self._table} (n INTEGER, part INTEGER, parent TEXT, "
                "created_at INTEGER, flags INTEGER, text TEXT, PRIMARY KEY (n, part)) WITHOUT ROWID"
            )
            write.connection.execute(f"CREATE INDEX IF NOT EXISTS temp.{self._table}_parent ON {self._table} (parent)")
            self._made = True
        encoded = draft.encoded
        self._number += 1
        self._waiting += 1
        write.connection.executemany(
            f"INSERT INTO temp.{self._table} VALUES (?, ?, ?, ?, ?, ?)",
            (
                (self._number, part, parent_id, draft.created_at, encoded.flags, text)
                for part, text in enumerate(deltas.slices(codec.full_text(encoded)))
            ),
        )

    def _released(self, write: Write, parent_id: str) -> list[Draft]:
        """What waits for a parent, and waits no longer."""
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
            released.append(self._store.drafting.draft(message, created_at))
        self._waiting -= len(released)
        return released

    def finish(self) -> None:
        """Raises `UnknownMessage` when rows still wait."""
        if not self._waiting:
            return
        with Write(self._store, self._name) as write, write:
            parents = fetch(write.connection, f"SELECT DISTINCT parent FROM temp.{self._table} ORDER BY n")
            waiting = [draft.id for (parent_id,) in parents for draft in self._released(write, parent_id)]
        missing = [parent_id for (parent_id,) in parents if parent_id not in set(waiting)]
        wanted = ", ".join(map(repr, missing[:5])) if missing else "each other: they form a circle"
        raise UnknownMessage(waiting, self._name, f"parents for imported rows, which wait for {wanted}")

    def close(self) -> None:
        """Drops the temporary table."""
        if self._made:
            with self._store.transaction() as connection:
                if fetch_one(connection, "SELECT 1 FROM temp.sqlite_schema WHERE name = ?", (self._table,)):
                    connection.execute(f"DROP TABLE temp.{self._table}")
