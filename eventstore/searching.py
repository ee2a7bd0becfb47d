"""Finding messages: the index brought up to the log's end, in bounded transactions, then one search of it.

A search never fails because the file can't be written: it is read only, another writer keeps it, or the disk is full.
What the file's index doesn't know is then indexed in memory.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from eventstore import beside, clock, index, log, query, texts
from eventstore.beside import Source
from eventstore.driver import Connection, fetch
from eventstore.errors import InvalidArgument, StoreBusy, StoreFull
from eventstore.history import check_limit
from eventstore.index import State
from eventstore.query import Query
from eventstore.reports import SearchResult
from eventstore.store import Store
from eventstore.tokenizing import Tokenizer
from eventstore.types import check_aware
from eventstore.weighing import Filters, Search

PATIENCE = 1.0  # seconds that a search waits for another writer, if `busy_timeout` isn't shorter
IDLE_EVENTS = 10_000  # events without text that the cursor stays behind
_KEPT_QUERIES = 100
_KEPT_CHARACTERS = 200
_PARSED: dict[str, Query | None] = {}  # a query means the same in every store


def search(
    store: Store,
    session: str | None,
    text: str,
    *,
    limit: int | None,
    role: str | None,
    since: datetime | None,
    until: datetime | None,
) -> list[SearchResult]:
    """The messages that hold all that is asked for, best first, of equal ones the newest first."""
    filters = _checked(session, text, limit, role, since, until)
    with store.read() as connection:
        asked = _parse(connection, text)
        if asked is None or limit == 0:
            return []
        now = _if_up_to_date(connection)
        if now is not None:
            return Search(connection, asked, filters, [Source("main", now)]).best(limit)
    if not _brought_up_to_date(store):
        with store.database.aside() as connection:
            return Search(connection, asked, filters, beside.sources(connection)).best(limit)
    with store.read() as connection:
        return Search(connection, asked, filters, [Source("main", index.state(connection) or State())]).best(limit)


def _parse(connection: Connection, text: str) -> Query | None:
    """As `query.parse`, which one search asks as the next: short ones are kept."""
    kept = _PARSED.get(text, _PARSED)
    if not isinstance(kept, dict):
        return kept
    asked = query.parse(text, Tokenizer(connection), Tokenizer(connection, stems=False))
    if len(text) <= _KEPT_CHARACTERS:
        if len(_PARSED) >= _KEPT_QUERIES:
            _PARSED.clear()
        _PARSED[text] = asked
    return asked


def _checked(
    session: str | None,
    text: object,
    limit: int | None,
    role: object,
    since: datetime | None,
    until: datetime | None,
) -> Filters:
    if not isinstance(text, str):
        raise InvalidArgument(f"query must be a string, not {text!r}")
    if limit is not None:
        check_limit("limit", limit, 0)
    if role is not None and not isinstance(role, str):
        raise InvalidArgument(f"role must be a string, not {role!r}")
    return Filters(
        session,
        role,
        None if since is None else clock.to_microseconds(check_aware("since", since)),
        None if until is None else clock.to_microseconds(check_aware("until", until)),
    )


# ---- the index up to the log's end


def _if_up_to_date(connection: Connection) -> State | None:
    """The state of an index that knows all texts."""
    now = index.state_if_there(connection)
    if now is None or now.version != index.VERSION:
        return None
    latest = log.latest_seq(connection)
    if now.seq == latest or (latest - now.seq <= IDLE_EVENTS and not texts.has_new(connection, now.seq)):
        return now
    return None


def _brought_up_to_date(store: Store) -> bool:
    """Brings the file's index to the log's end. False when it can't be written now."""
    if store.database.read_only:
        return False
    try:
        _catch_up(store)
    except (StoreBusy, StoreFull):
        if store.database.in_memory or store.database.in_transaction():
            raise
        return False
    store.database.leave_aside()
    return True


def _catch_up(store: Store) -> None:
    """Indexes what is new, in bounded transactions. Texts are read before each, so that others write meanwhile."""
    upto = free = None
    while True:
        with store.read() as connection:
            seen = log.latest_seq(connection)
            upto = seen if upto is None else upto
            before = index.state(connection)
            if before is not None and before.version == index.VERSION and before.seq >= upto:
                break
            batch = texts.read_batch(connection, _cursor(before), upto)
        with store.transaction(PATIENCE) as connection:
            now = index.state(connection)
            if now is not None and now.version != index.VERSION:
                index.drop(connection)
                now = None
            if now is None:
                free = connection.pragma("freelist_count")
                index.create(connection)
            if _cursor(now) != _cursor(before):
                continue  # another search was quicker
            if log.latest_seq(connection) != seen:
                batch = texts.read_batch(connection, _cursor(now), upto)  # some of it may have been replaced
            index.add(connection, batch)
    if free is not None:
        _return_pages(store, free)


def _return_pages(store: Store, free: int) -> None:
    """Gives the pages back that making an index has used and left: more were free than `free` before."""
    with suppress(StoreBusy), store.transaction(PATIENCE) as connection:  # if another is writing, they get used
        more = connection.pragma("freelist_count") - free
        if more > 0:
            fetch(connection, f"PRAGMA incremental_vacuum({more})")


def _cursor(state: State | None) -> int:
    return 0 if state is None or state.version != index.VERSION else state.seq
