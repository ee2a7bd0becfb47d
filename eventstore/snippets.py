"""What matches in a text, and what a result shows of it: a stretch around what matched, on one line, with the places of
the matches in it. Pure, but for the tokenizers that it is given.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, TypeAlias

from eventstore import words
from eventstore.forms import Forms, Match, count_words
from eventstore.query import Query, Term, Words
from eventstore.tokenizing import Tokenizer, grapheme_breaks

WIDTH = 160  # characters of a snippet, at most, without the dots
LEAD = 40  # of them before the first match, at most
BLOCK = 4_000  # characters looked at together
_SHOWN_WORDS = 16
_FEW = 4  # terms that are looked for one by one
_DOTS = "…"
_SURE = re.compile(r"[ -~\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff]{2}")  # two whole characters, whatever is around them

Highlights: TypeAlias = tuple[tuple[int, int], ...]


class Looked(NamedTuple):
    """What a text has of a query: how often each term occurs, among how many words, and where, if it is short: in bytes
    of the text as the tokenizer gets it."""

    counts: list[int]
    words: int
    matches: list[Match] | None


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
        self._single = {term.stems[0]: number for number, term in enumerate(query.terms) if term.is_word}
        self._others = [(number, term) for number, term in enumerate(query.terms) if not term.is_word]
        self._forms: list[Forms] = []  # of every term, where these are quicker
        if not self._others and len(self._single) <= _FEW and all(map(Forms.is_quick, self._single)):
            self._forms = [Forms(number, stem, stemming) for stem, number in self._single.items()]

    def look(self, text: str) -> Looked:
        """How often each term occurs in a text, how many words it has and, if it is short, where the terms are."""
        prepared = words.plain(text)
        if len(text) > BLOCK:
            return self._look_long(prepared)
        matches, count = self._matches(prepared)
        if len(self._query.terms) == 1:
            return Looked([len(matches)], count, matches)
        counts = [0] * len(self._query.terms)
        for match in matches:
            counts[match.term] += 1
        return Looked(counts, count, matches)

    def _matches(self, prepared: str) -> tuple[list[Match], int]:
        """(what matches in a prepared text, in order; how many words it has)."""
        if self._forms and prepared.isascii():
            lowered = prepared.lower()
            found = self._forms[0].matches(lowered)
            if len(self._forms) > 1:
                for forms in self._forms[1:]:
                    found += forms.matches(lowered)
                found.sort()
            return found, count_words(lowered)
        spans = self._stemming.spans(prepared)
        single = self._single
        found = [Match(start, end, single[word]) for start, end, word in spans if word in single]
        if self._others:
            there = self._words(prepared, [word for _, _, word in spans])
            for number, term in self._others:
                last = len(term.stems) - 1
                found += [Match(spans[place][0], spans[place + last][1], number) for place in term.places(there)]
            found.sort()
        return found, len(spans)

    def _words(self, prepared: str, stems: list[str]) -> Words:
        return Words(stems, self._plain.words(prepared) if self._query.has_prefix else stems)

    def _look_long(self, prepared: str) -> Looked:
        """Piece by piece. Of each, as many words go with the next as a term may lie over both."""
        counts = [0] * len(self._query.terms)
        length = 0
        kept = max(len(term.stems) for term in self._query.terms) - 1
        before = Words([], [])
        for piece in words.pieces(prepared):
            new = self._words(piece, self._stemming.words(piece))
            length += len(new.stems)
            for word, count in Counter(new.stems).items():
                if word in self._single:
                    counts[self._single[word]] += count
            if self._others:
                seen = min(kept, len(before.stems))
                there = Words(
                    [*before.stems[len(before.stems) - seen :], *new.stems],
                    [*before.plain[len(before.plain) - seen :], *new.plain],
                )
                for number, term in self._others:
                    counts[number] += sum(1 for place in term.places(there) if place + len(term.stems) > seen)
                before = there
        return Looked(counts, length, None)

    def cut(self, content: str, matches: list[Match] | None) -> tuple[str, Highlights]:
        """(plain text, (start, end) of what matched in it) of the stretch where the most terms are near each other.

        `matches` are those that `look` gave.
        """
        terms = len(self._query.terms)
        if matches is not None:
            found = _in_characters(content, matches)
            return _cut(_Block(0, content, found, *_most_terms(found, terms)), len(content))
        best = _Block(0, next(_blocks(content)), [], 0, 0)
        start = 0
        for text in _blocks(content):
            found = _in_characters(text, self._matches(words.plain(text))[0])
            most, first = _most_terms(found, terms)
            if most > best.terms:
                best = _Block(start, text, found, most, first)
                if most == terms:
                    break
            start += len(text)
        if not best.terms and self._others:  # a phrase may lie over two blocks: its words are shown
            stems = {stem: Term((stem,), ()) for term in self._query.terms for stem in term.stems[:_SHOWN_WORDS]}
            alone = Query(tuple(stems.values())[:_SHOWN_WORDS])
            return Finder(alone, self._stemming, self._plain).cut(content, None)
        return _cut(best, len(content))


def _in_characters(text: str, matches: list[Match]) -> list[Match]:
    """The places in `text` itself of what was found in it as it was prepared."""
    if text.isascii() or not matches:
        return matches
    offsets = words.plain_offsets(text)
    return [Match(bisect_right(offsets, m.start) - 1, bisect_left(offsets, m.end), m.term) for m in matches]


def _blocks(content: str) -> Iterator[str]:
    """`content` in stretches that end between words or, where there are none, between whole characters."""
    start = 0
    while len(content) - start > BLOCK:
        cut = words.cut_before(content, start, start + BLOCK)
        if cut < 0:
            cut = start + (grapheme_breaks(content[start : start + BLOCK + 1])[-2] or BLOCK)
        yield content[start:cut]
        start = cut
    yield content[start:]


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
    block = _narrowed(block)
    matches = block.matches
    line = block.text if block.text.isprintable() else block.text.translate(_ON_A_LINE)
    breaks = None if line.isascii() else _Breaks(line)
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
        if breaks is not None:
            start, end = breaks.before(start), breaks.after(end)
        start, end = start + shift, end + shift
        if spans and start < spans[-1][1]:
            start, end = spans[-1][0], max(end, spans.pop()[1])
        spans.append((start, end))
    return f"{before}{line[low:high]}{after}", tuple(spans)


def _narrowed(block: _Block) -> _Block:
    """What of a long block a snippet can be cut from: it begins and ends where surely no character is torn."""
    start, text, matches, terms, first = block
    if len(text) <= 3 * WIDTH:
        return block
    low = _wanted_low(len(text), matches[first].start if matches else 0)
    begin = next((at for at in range(low - 1, 0, -1) if _SURE.match(text, at - 1)), 0)
    sure = _SURE.search(text, low + LEAD + WIDTH + 1)  # where it begins moves by `LEAD` at most
    end = sure.start() + 1 if sure is not None else len(text)
    near = [match for match in matches if begin <= match.start < end]
    moved = [Match(match.start - begin, match.end - begin, match.term) for match in near]
    return _Block(start + begin, text[begin:end], moved, terms, near.index(matches[first]) if near else 0)


def _wanted_low(length: int, first: int) -> int:
    """Where a snippet of a line begins at best, with the match at `first`."""
    return max(0, min(first - LEAD, length - WIDTH))


def _bounds(line: str, breaks: _Breaks | None, first: int) -> tuple[int, int]:
    """Where a long line is cut: between words where it can be, else between whole characters."""
    low = _wanted_low(len(line), first)
    if low:
        low = low if breaks is None else breaks.after(low)
        space = line.find(" ", low - 1, first)
        low = space + 1 if space >= 0 and (breaks is None or breaks.is_one(space + 1)) else low
    high = min(len(line), low + WIDTH)
    if high < len(line):
        high = high if breaks is None else breaks.before(high)
        space = line.rfind(" ", low + WIDTH // 2, high + 1)
        high = space if space >= 0 and (breaks is None or breaks.is_one(space)) else high
    return low, max(low, high)


class _Breaks:
    """Where a line that isn't ASCII may be cut without tearing what a reader sees as one character."""

    def __init__(self, line: str) -> None:
        self._line = line

    def is_one(self, at: int) -> bool:
        """Whether it may be cut there."""
        return self.after(at) == at

    def before(self, at: int) -> int:
        """The last break that isn't behind `at`."""
        return at if self._is_sure(at) else self._all[bisect_right(self._all, at) - 1]

    def after(self, at: int) -> int:
        """The first break that isn't before `at`."""
        return at if self._is_sure(at) else self._all[bisect_left(self._all, at)]

    def _is_sure(self, at: int) -> bool:
        return _SURE.match(self._line, at - 1) is not None

    @cached_property
    def _all(self) -> list[int]:
        return grapheme_breaks(self._line)


class _OnALine(dict[int, str]):
    """What a character is shown as: white space and controls as a space, half a surrogate pair as Unicode's sign for
    what can't be shown."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        is_space = char.isspace() or (code < 0xA0 and not char.isprintable())
        shown = self[code] = "\ufffd" if 0xD800 <= code <= 0xDFFF else " " if is_space else char
        return shown


_ON_A_LINE = _OnALine()
