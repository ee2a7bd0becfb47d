"""One search at work on one state: the index asked for single words, and the texts of what it names weighed.

The index tells which messages hold the words; the texts tell whether they stand as they were asked for, how often, and
where. Weighed are the newest messages that fit, up to `WEIGHED`, by BM25.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from math import log as ln
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import attrs

from eventstore import clock, codec, log, paths, texts
from eventstore.beside import Source
from eventstore.driver import Connection, fetch, fetch_one
from eventstore.forms import Match
from eventstore.index import LONG
from eventstore.query import Query, Term
from eventstore.reports import SearchResult
from eventstore.snippets import Finder
from eventstore.tokenizing import Tokenizer
from eventstore.tree import ENDLESS

WEIGHED = 2_000  # messages that fit, newest first: among more, the best is looked for in these
WEIGHED_CHARACTERS = 32 * 1024 * 1024  # of their JSON: messages with large outputs of tools are read whole
_TOGETHER = 32  # words that the index is asked for at once
_WINDOW = 64  # candidates read together first, with their bodies
_WIDEST_WINDOW = 256  # and at most
_SORTED = 64  # so many more than are asked for are kept before the worst of them go
_MOST_COUNTED = 20_000  # a word in more messages than that is as common as one in that many
_SATURATION, _LENGTH = 1.2, 0.8  # BM25's k1 and b: a text that is about one thing only is the better one

Row: TypeAlias = tuple[Any, ...]


_TIME = (  # the message's, which an update doesn't change
    "coalesce((SELECT coalesce(a.created_at, a.recorded_at) FROM event a WHERE a.seq = v.message), "
    "v.created_at, v.recorded_at)"
)


@attrs.frozen
class Filters:
    """Which messages are looked at. Times are microseconds."""

    session: str | None
    role: str | None
    since: int | None
    until: int | None

    def where(self, connection: Connection) -> tuple[str, list[Any]] | None:
        """(conditions, bindings) of SQL on the version `v`; `None` when nothing can pass."""
        conditions, bindings = "", list[Any]()
        if self.role is not None and codec.has_surrogate(self.role):
            return None  # no role is such
        if self.session is not None:
            session = paths.find_session(connection, self.session)
            if session is None:
                return None
            conditions, bindings = " AND v.session = ?", [session]
        if self.role is not None:
            conditions, bindings = conditions + " AND v.role = ?", [*bindings, self.role]
        for bound, sign in ((self.since, ">="), (self.until, "<")):
            if bound is not None:
                conditions += f" AND {_TIME} {sign} ?"
                bindings.append(bound)
        return conditions, bindings


class _Found(NamedTuple):
    """A message that fits, with its text. The larger, the better: by score, then the newer."""

    score: float
    seq: int
    version: Row
    content: str
    matches: list[Match] | None  # of a short text


_VERSION = "v.seq, v.message, v.session, v.role, v.flags, v.base, v.body, v.id, coalesce(v.created_at, v.recorded_at)"


class Search:
    """A query at work on one state of the store, with the indexes to ask, the one of newer versions first."""

    def __init__(self, connection: Connection, asked: Query, filters: Filters, sources: Sequence[Source]) -> None:
        self._connection = connection
        self._query = asked
        self._where = filters.where(connection)
        self._sources = [source for source in sources if source.state.messages]
        self._messages = sum(source.state.messages for source in sources)
        total = sum(source.state.words for source in sources)
        self._per_word = _SATURATION * _LENGTH * self._messages / max(total, 1)  # what a word more weighs against
        self._finder = Finder(asked, Tokenizer(connection), Tokenizer(connection, stems=False))
        self._fitted = 0  # messages that fit, as far as they were looked at
        self._characters = 0  # that were read of them
        self._names: dict[int, str] = {}
        self._weights: list[float] = []

    def best(self, limit: int | None) -> list[SearchResult]:
        """The results, all of them or the best."""
        if self._where is None:
            return []
        best: list[_Found] = []
        for found in self._fitting(limit):
            best.append(found)
            if limit is not None and len(best) >= limit + _SORTED:
                best.sort(reverse=True)
                del best[limit:]
        best.sort(reverse=True)
        alone = self._weigh_count(self._fitted) if len(self._query.terms) == 1 else 1.0  # the same for each
        return [self._result(found, alone) for found in best[:limit]]

    def _result(self, found: _Found, weight: float) -> SearchResult:
        score, seq, version, content, matches = found
        _, message, session, role, *_, message_id, created_at = version
        if message is not None:
            message_id, created_at = fetch_one(
                self._connection, "SELECT id, coalesce(created_at, recorded_at) FROM event WHERE seq = ?", (seq,)
            )
        name = self._names.get(session)
        if name is None:
            name = self._names[session] = log.session_name(self._connection, session)
        text, highlights = self._finder.cut(content, matches)
        time = clock.to_datetime(created_at)
        return SearchResult(name, message_id, role, content, text, highlights, time, score * weight)

    def _fitting(self, limit: int | None) -> Iterator[_Found]:
        for row in self._candidates():
            found = self._weigh(row)
            if found is None:
                continue
            yield found
            self._fitted += 1
            enough = self._fitted >= WEIGHED or self._characters >= WEIGHED_CHARACTERS
            if enough and limit is not None and self._fitted >= limit:
                return

    # ---- from the index

    def _candidates(self) -> Iterator[Row]:
        """The versions whose rows have all the words, newest first."""
        return chain.from_iterable(map(self._from, self._sources))

    def _from(self, source: Source) -> Iterator[Row]:
        found = self._short(source)
        if source.state.long:
            long = self._common(source, self._query.expressions, LONG, ENDLESS)
            found = heapq.merge(found, long, key=itemgetter(0), reverse=True)
        return filter(self._is_current, found) if source.is_checked else found

    def _is_current(self, row: Row) -> bool:
        version, message, session, *_ = row
        return texts.is_current(self._connection, session, version if message is None else message, version)

    def _short(self, source: Source) -> Iterator[Row]:
        expressions = self._query.expressions
        together = [" AND ".join(expressions[i : i + _TOGETHER]) for i in range(0, len(expressions), _TOGETHER)]
        return self._windows(source, together[0]) if len(together) == 1 else self._common(source, together, 0, LONG)

    def _windows(self, source: Source, expression: str) -> Iterator[Row]:
        assert self._where is not None
        conditions, bindings = self._where
        high, window = LONG, _WINDOW
        while True:
            rows = fetch(
                self._connection,
                f"SELECT {_VERSION} FROM {source.schema}.search s CROSS JOIN event v ON v.seq = s.rowid "
                f"WHERE s.search MATCH ? AND s.rowid < ?{conditions} ORDER BY s.rowid DESC LIMIT ?",
                (expression, high, *bindings, window),
            )
            yield from rows
            if len(rows) < window:
                return
            high, window = rows[-1][0], min(2 * window, _WIDEST_WINDOW)

    def _common(self, source: Source, expressions: Sequence[str], low: int, high: int) -> Iterator[Row]:
        """The versions that fit every expression, if need be each in another of their rows."""
        assert self._where is not None
        conditions, bindings = self._where
        common: set[int] | None = None
        for expression in expressions:
            rows = fetch(
                self._connection,
                f"SELECT v.seq FROM {source.schema}.search s CROSS JOIN event v ON v.seq = s.rowid & {LONG - 1} "
                f"WHERE s.search MATCH ? AND s.rowid >= ? AND s.rowid < ?{conditions}",
                (expression, low, high, *bindings),
            )
            versions = {version for (version,) in rows}
            common = versions if common is None else common & versions
            if not common:
                return
        for version in sorted(common or (), reverse=True):
            yield fetch_one(self._connection, f"SELECT {_VERSION} FROM event v WHERE v.seq = ?", (version,))

    # ---- from the texts

    def _weigh(self, row: Row) -> _Found | None:
        """A candidate with its score, `None` when its text doesn't fit."""
        version, message, _, _, flags, base, body, *_ = row
        body, flags = texts.read_body(self._connection, version, flags, base, body)
        self._characters += len(body)
        content = texts.content(flags, body)
        counts, length, matches = self._finder.look(content)
        if not all(counts):
            return None
        norm = _SATURATION * (1 - _LENGTH) + length * self._per_word
        if len(counts) == 1:
            score = counts[0] * (_SATURATION + 1) / (counts[0] + norm)
        else:
            weights = self._weights or self._weigh_terms()
            score = sum(w * n * (_SATURATION + 1) / (n + norm) for w, n in zip(weights, counts, strict=True))
        return _Found(score, version if message is None else message, row, content, matches)

    def _weigh_terms(self) -> list[float]:
        """How much each term tells: the fewer messages have it, the more."""
        self._weights = [self._weigh_count(self._count(term)) for term in self._query.terms]
        return self._weights

    def _weigh_count(self, count: int) -> float:
        return ln(1 + (max(self._messages - count, 0) + 0.5) / (count + 0.5))

    def _count(self, term: Term) -> int:
        """How many rows have it."""
        expression = " AND ".join(islice(term.expressions, _TOGETHER))
        counted = "SELECT count(*) FROM (SELECT 1 FROM {}.search WHERE search MATCH ? LIMIT ?)"
        return sum(
            fetch_one(self._connection, counted.format(source.schema), (expression, _MOST_COUNTED))[0]
            for source in self._sources
        )
