"""What matches in a text, and what a result shows of it: a stretch around what matched, on one line, with the places of
the matches in it. Pure, but for the tokenizers that it is given.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from eventstore import words
from eventstore.driver import Tokenizer, grapheme_breaks
from eventstore.query import Query

WIDTH = 160  # characters of a snippet, at most, without the dots
LEAD = 40  # of them before the first match, at most
BLOCK = 4_000  # characters looked at together
_DOTS = "…"

Highlights: TypeAlias = tuple[tuple[int, int], ...]


class Match(NamedTuple):
    """Where a term stands in a text, and the term's number in the query."""

    start: int
    end: int
    term: int


class _Block(NamedTuple):
    """A stretch of a text, and what matches in it; from match number `first` on, `terms` different terms are near."""

    start: int
    text: str
    matches: list[Match]
    terms: int
    first: int


class Finder:
    """A query at work on texts."""

    def __init__(self, query: Query, stemming: Tokenizer, plain: Tokenizer) -> None:
        self._query = query
        self._stemming = stemming
        self._plain = plain
        term = query.terms[0]
        self._alone = term.stems[0] if len(query.terms) == len(term.stems) == 1 and term.prefix is None else None

    def matches(self, text: str) -> list[Match]:
        """What matches in a text, in order."""
        is_ascii = text.isascii()
        prepared = text if is_ascii else words.plain(text)
        spans = self._stemming.spans(prepared)
        if self._alone is not None:
            found = [Match(start, end, 0) for start, end, word in spans if word == self._alone]
        else:
            found = self._matches(prepared, spans)
        if is_ascii or not found:
            return found
        offsets = words.plain_offsets(text)
        return [
            Match(bisect_right(offsets, start) - 1, bisect_left(offsets, end), number) for start, end, number in found
        ]

    def _matches(self, prepared: str, spans: Sequence[tuple[int, int, str]]) -> list[Match]:
        stems = [word for _, _, word in spans]
        plain = self._plain.words(prepared) if self._query.has_prefix else stems
        return sorted(
            Match(spans[place][0], spans[place + len(term.stems) - 1][1], number)
            for number, term in enumerate(self._query.terms)
            for place in term.places(stems, plain)
        )

    def counts(self, text: str, matches: list[Match] | None) -> list[int]:
        """How often each term occurs in a text, whose `matches` are given if it is short."""
        if matches is not None:
            if self._alone is not None:
                return [len(matches)]
            found = [match.term for match in matches]
            return [found.count(number) for number in range(len(self._query.terms))]
        return self._counts(words.plain(text))

    def _counts(self, prepared: str) -> list[int]:
        terms, has_prefix = self._query.terms, self._query.has_prefix
        longest = max(len(term.stems) for term in terms)
        counts = [0] * len(terms)
        stems: list[str] = []
        plain: list[str] = []
        for piece in words.pieces(prepared):
            kept = max(len(stems) - longest + 1, 0)
            seen = len(stems) - kept
            stems = stems[kept:] + self._stemming.words(piece)
            plain = plain[kept:] + self._plain.words(piece) if has_prefix else stems
            for number, term in enumerate(terms):
                counts[number] += term.count(stems, plain, seen)
        return counts

    def cut(self, content: str, matches: list[Match] | None) -> tuple[str, Highlights]:
        """(plain text, (start, end) of what matched in it) of the stretch where the most terms are near each other."""
        terms = len(self._query.terms)
        if matches is not None:
            return _cut(_Block(0, content, matches, *_most_terms(matches, terms)), len(content))
        best = _Block(0, content[:BLOCK], [], 0, 0)
        start = 0
        for text in words.pieces(content, BLOCK):
            found = self.matches(text)
            most, first = _most_terms(found, terms)
            if most > best.terms:
                best = _Block(start, text, found, most, first)
                if most == terms:
                    break
            start += len(text)
        return _cut(best, len(content))


def _most_terms(matches: Sequence[Match], terms: int) -> tuple[int, int]:
    """(how many different terms, from which match on) of the window with the most of them, the first of these."""
    if terms == 1 or not matches:
        return min(len(matches), 1), 0
    most, first = 0, 0
    for number, match in enumerate(matches):
        near = set[int]()
        for other in matches[number:]:
            if other.start >= match.start + WIDTH - LEAD:
                break
            near.add(other.term)
        if len(near) > most:
            most, first = len(near), number
            if most == terms:
                break
    return most, first


def _cut(block: _Block, length: int) -> tuple[str, Highlights]:
    text, matches = block.text, block.matches
    is_ascii = text.isascii()
    line = text if is_ascii and text.isprintable() else "".join(map(_shown, text))
    breaks: Sequence[int] = range(len(line) + 1) if is_ascii else grapheme_breaks(line)
    low, high = 0, len(line)
    if len(line) > WIDTH:
        low, high = _bounds(line, breaks, matches[block.first].start if matches else 0)
    before = "" if block.start + low == 0 else _DOTS
    after = "" if block.start + high == length else _DOTS
    shift = len(before) - low
    spans: list[tuple[int, int]] = []
    for start, end, _ in matches:
        if start < low or end > high:
            continue
        if not is_ascii:
            start, end = breaks[bisect_right(breaks, start) - 1], breaks[bisect_left(breaks, end)]
        start, end = start + shift, end + shift
        if spans and start < spans[-1][1]:
            start, end = spans[-1][0], max(end, spans.pop()[1])
        spans.append((start, end))
    return f"{before}{line[low:high]}{after}", tuple(spans)


def _bounds(line: str, breaks: Sequence[int], first: int) -> tuple[int, int]:
    """Where a long line is cut: between words where it can be, else between whole characters."""
    low = max(0, min(first - LEAD, len(line) - WIDTH))
    if low:
        low = breaks[bisect_left(breaks, low)]
        space = line.find(" ", low - 1, first)
        low = space + 1 if space >= 0 and _is_break(breaks, space + 1) else low
    high = min(len(line), low + WIDTH)
    if high < len(line):
        high = breaks[bisect_right(breaks, high) - 1]
        space = line.rfind(" ", low + WIDTH // 2, high + 1)
        high = space if space >= 0 and _is_break(breaks, space) else high
    return low, max(low, high)


def _is_break(breaks: Sequence[int], at: int) -> bool:
    return breaks[bisect_left(breaks, at)] == at


def _shown(char: str) -> str:
    """A character on a line: white space and controls are a space, half a surrogate pair is what Unicode has for it."""
    if "\ud800" <= char <= "\udfff":
        return "\ufffd"
    return " " if char.isspace() or (not char.isprintable() and ord(char) < 0xA0) else char
