"""Finding messages: the index brought up to the log's end, asked for single words, and the texts weighed.

The index tells which messages hold the words; the texts tell whether they stand as they were asked for, how often, and
where. Weighed are the newest messages that fit, up to `WEIGHED`, by BM25 with a text's length in characters.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from math import log as ln
from typing import Any

import attrs

from eventstore import clock, index, log, paths, query, snippets, words
from eventstore.driver import Connection, Tokenizer, fetch, fetch_one
from eventstore.errors import InvalidArgument
from eventstore.history import check_limit
from eventstore.index import LONG
from eventstore.query import Query, Term
from eventstore.store import Store
from eventstore.tree import ENDLESS
from eventstore.types import SearchResult, check_aware

WEIGHED = 2_000  # messages that fit, newest first: among more, the best is looked for in these
WEIGHED_CHARACTERS = 32 * 1024 * 1024
_TOGETHER = 32  # words that the index is asked for at once
_WINDOW = 500
_MOST_COUNTED = 20_000  # a word in more messages than that is as common as one in that many
_IDLE_EVENTS = 10_000  # events without text that the cursor stays behind
_SATURATION, _LENGTH = 1.2, 0.75  # BM25's k1 and b


@attrs.frozen
class Filters:
    """Which messages are looked at. Times are microseconds."""

    session: str | None
    role: str | None
    since: int | None
    until: int | None

    def where(self, connection: Connection) -> tuple[str, str, list[Any]] | None:
        """(joins, conditions, bindings) of SQL over `search s`; `None` when nothing can pass."""
        conditions, bindings = "", list[Any]()
        if self.session is not None:
            session = paths.find_session(connection, self.session)
            if session is None:
                return None
            conditions, bindings = " AND v.session = ?", [session]
        if self.role is not None:
            conditions, bindings = conditions + " AND v.role = ?", [*bindings, self.role]
        for bound, sign in ((self.since, ">="), (self.until, "<")):
            if bound is not None:
                conditions += f" AND coalesce(a.created_at, a.recorded_at) {sign} ?"
                bindings.append(bound)
        joins = ""
        if conditions:
            joins = f" CROSS JOIN event v ON v.seq = s.rowid & {LONG - 1}"
        if "a." in conditions:
            joins += " CROSS JOIN event a ON a.seq = coalesce(v.message, v.seq)"
        return joins, conditions, bindings


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
        asked = query.parse(text, Tokenizer(connection), Tokenizer(connection, stems=False))
        if asked is None or limit == 0:
            return []
        if not _is_behind(connection):
            return _Search(connection, asked, filters).best(limit)
    with _caught_up(store) as connection:
        return _Search(connection, asked, filters).best(limit)


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
        None if role is None else role.encode(errors="replace").decode(),
        None if since is None else clock.to_microseconds(check_aware("since", since)),
        None if until is None else clock.to_microseconds(check_aware("until", until)),
    )


# ---- the index up to the log's end


def _is_behind(connection: Connection) -> bool:
    now = index.state(connection)
    if now is None or now.version != index.VERSION:
        return True
    latest = log.latest_seq(connection)
    return now.seq < latest and (latest - now.seq > _IDLE_EVENTS or index.has_new(connection, now.seq))


@contextmanager
def _caught_up(store: Store) -> Iterator[Connection]:
    """A connection that sees an index of all that was committed before."""
    if store.database.read_only:
        with store.database.aside() as connection:
            if index.state(connection) is None:
                index.create(connection)
            index.fill(connection, log.latest_seq(connection))
            yield connection
    else:
        _catch_up(store)
        with store.read() as connection:
            yield connection


def _catch_up(store: Store) -> None:
    """Indexes what is new, in bounded transactions. Texts are read before each, so that others write meanwhile."""
    upto = None
    while True:
        with store.read() as connection:
            seen = log.latest_seq(connection)
            upto = seen if upto is None else upto
            before = index.state(connection)
            if before is not None and before.version == index.VERSION and before.seq >= upto:
                return
            batch = index.read_batch(connection, _cursor(before), upto)
        with store.transaction() as connection:
            now = index.state(connection)
            if now is not None and now.version != index.VERSION:
                index.drop(connection)
                now = None
            if now is None:
                index.create(connection)
            if _cursor(now) != _cursor(before):
                continue  # another search was quicker
            if log.latest_seq(connection) != seen:
                batch = index.read_batch(connection, _cursor(now), upto)  # some of it may have been replaced
            index.add(connection, batch)


def _cursor(state: index.State | None) -> int:
    return 0 if state is None or state.version != index.VERSION else state.seq


# ---- one search


@attrs.frozen
class _Found:
    """A message that fits, with its text."""

    score: float
    seq: int
    session: str
    id: str
    role: str
    created_at: int
    content: str


_DETAILS = (
    "SELECT a.seq, n.name, a.id, v.role, coalesce(a.created_at, a.recorded_at), v.session, v.flags, v.base, v.body "
    "FROM event v JOIN event a ON a.seq = coalesce(v.message, v.seq) JOIN name n ON n.session = v.session "
    "WHERE v.seq = ?"
)


class _Search:
    """A query at work on one state."""

    def __init__(self, connection: Connection, asked: Query, filters: Filters) -> None:
        self._connection = connection
        self._query = asked
        self._where = filters.where(connection)
        self._state = index.state(connection) or index.State()
        self._stemming = Tokenizer(connection)
        self._plain = Tokenizer(connection, stems=False)
        self._weights: list[float] | None = None

    def best(self, limit: int | None) -> list[SearchResult]:
        """The results, all of them or the best."""
        if self._where is None or not self._state.messages:
            return []
        order: Callable[[_Found], tuple[float, int]] = lambda found: (found.score, found.seq)  # noqa: E731
        fitting = self._fitting(limit)
        best = sorted(fitting, key=order, reverse=True) if limit is None else heapq.nlargest(limit, fitting, key=order)
        return [self._result(found) for found in best]

    def _result(self, found: _Found) -> SearchResult:
        snippet = snippets.cut(found.content, self._query, self._stemming, self._plain)
        created_at = clock.to_datetime(found.created_at)
        return SearchResult(
            found.session,
            found.id,
            found.role,
            found.content,
            snippet.text,
            snippet.highlights,
            created_at,
            found.score,
        )

    def _fitting(self, limit: int | None) -> Iterator[_Found]:
        count = characters = 0
        for version in self._candidates():
            found = self._weigh(version)
            if found is None:
                continue
            yield found
            count += 1
            characters += len(found.content)
            enough = count >= WEIGHED or characters >= WEIGHED_CHARACTERS
            if limit is not None and count >= limit and enough:
                return

    # ---- from the index

    def _candidates(self) -> Iterator[int]:
        """The versions whose rows have all the words, newest first."""
        expressions = self._query.expressions
        together = [" AND ".join(expressions[i : i + _TOGETHER]) for i in range(0, len(expressions), _TOGETHER)]
        short = self._windows(together[0]) if len(together) == 1 else self._common(together, 0, LONG)
        if not self._state.long:
            return short
        return heapq.merge(short, self._common(expressions, LONG, ENDLESS), reverse=True)

    def _rows(self, expression: str, low: int, high: int, limit: int) -> list[int]:
        assert self._where is not None
        joins, conditions, bindings = self._where
        rows = fetch(
            self._connection,
            f"SELECT s.rowid FROM search s{joins} WHERE s.search MATCH ? AND s.rowid >= ? AND s.rowid < ?{conditions} "
            "ORDER BY s.rowid DESC LIMIT ?",
            (expression, low, high, *bindings, limit),
        )
        return [row for (row,) in rows]

    def _windows(self, expression: str) -> Iterator[int]:
        high = LONG
        while True:
            rows = self._rows(expression, 0, high, _WINDOW)
            yield from rows
            if len(rows) < _WINDOW:
                return
            high = rows[-1]

    def _common(self, expressions: Sequence[str], low: int, high: int) -> Iterator[int]:
        """The versions that fit every expression, if need be each in another of their rows."""
        common: set[int] | None = None
        for expression in expressions:
            rows = {row & (LONG - 1) for row in self._rows(expression, low, high, -1)}
            common = rows if common is None else common & rows
            if not common:
                break
        return iter(sorted(common or (), reverse=True))

    # ---- from the texts

    def _weigh(self, version: int) -> _Found | None:
        """A candidate with its score, `None` when its text doesn't fit, or isn't a living message's any more."""
        seq, name, message_id, role, created_at, session, flags, base, body = fetch_one(
            self._connection, _DETAILS, (version,)
        )
        if not index.is_current(self._connection, session, seq, message_id, version):
            return None
        content = index.text_from(self._connection, version, flags, base, body)
        prepared = words.plain(content)
        counts = self._counts(prepared)
        if not all(counts):
            return None
        norm = _SATURATION * (1 - _LENGTH + _LENGTH * len(prepared) * self._state.messages / self._state.characters)
        pairs = zip(self._weights_of_terms(), counts, strict=True)
        score = sum(weight * count * (_SATURATION + 1) / (count + norm) for weight, count in pairs)
        return _Found(score, seq, name, message_id, role, created_at, content)

    def _counts(self, prepared: str) -> list[int]:
        """How often each term occurs."""
        terms, longest = self._query.terms, self._query.longest
        counts = [0] * len(terms)
        stems: list[str] = []
        plain: list[str] = []
        for piece in words.pieces(prepared):
            kept = max(len(stems) - longest + 1, 0)
            stems, before = stems[kept:] + self._stemming.words(piece), len(stems) - kept
            plain = plain[kept:] + self._plain.words(piece) if self._query.has_prefix else stems
            for number, term in enumerate(terms):
                counts[number] += term.count(stems, plain, before)
            if piece is prepared and not all(counts):
                break
        return counts

    def _weights_of_terms(self) -> list[float]:
        if self._weights is None:
            self._weights = [self._weight(term) for term in self._query.terms]
        return self._weights

    def _weight(self, term: Term) -> float:
        """How much a term tells: the fewer messages have it, the more."""
        (count,) = fetch_one(
            self._connection,
            "SELECT count(*) FROM (SELECT 1 FROM search WHERE search MATCH ? LIMIT ?)",
            (" AND ".join(islice(term.expressions, _TOGETHER)), _MOST_COUNTED),
        )
        return ln(1 + (max(self._state.messages - count, 0) + 0.5) / (count + 0.5))
