"""What a result shows of its text: a stretch around what matched, on one line, and where in it the matches are. Pure,
but for the tokenizers that it is given.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import attrs

from eventstore import words
from eventstore.driver import Tokenizer, grapheme_breaks
from eventstore.query import Query

WIDTH = 160  # characters of a snippet, at most, without the dots
LEAD = 40  # of them before the first match, at most
BLOCK = 4_000  # characters looked at together
_DOTS = "…"


@attrs.frozen
class Snippet:
    """Plain text, and (start, end) of what matched in it."""

    text: str
    highlights: tuple[tuple[int, int], ...]


@attrs.frozen
class _Match:
    start: int
    end: int
    term: int


def cut(content: str, query: Query, stemming: Tokenizer, plain: Tokenizer) -> Snippet:
    """The stretch of `content` where the most of the query's terms are near each other, the first of these."""
    best: tuple[str, list[_Match], int] = (content[:BLOCK], [], 0)
    most = start = 0
    for block in words.pieces(content, BLOCK):
        matches = _matches(block, query, stemming, plain)
        terms = _most_terms(matches)[0]
        if terms > most:
            most, best = terms, (block, matches, start)
        if most == len(query.terms):
            break
        start += len(block)
    block, matches, start = best
    return _cut(block, matches, starts=start == 0, ends=start + len(block) == len(content))


def _matches(block: str, query: Query, stemming: Tokenizer, plain: Tokenizer) -> list[_Match]:
    prepared = words.plain(block)
    spans = stemming.spans(prepared)
    stems = [word for _, _, word in spans]
    written = plain.words(prepared) if query.has_prefix else stems
    offsets = None if block.isascii() else words.plain_offsets(block)
    found = []
    for number, term in enumerate(query.terms):
        for place in term.places(stems, written):
            start, end = spans[place][0], spans[place + len(term.stems) - 1][1]
            if offsets is not None:
                start, end = bisect_right(offsets, start) - 1, bisect_left(offsets, end)
            found.append(_Match(start, end, number))
    return sorted(found, key=lambda match: (match.start, match.end))


def _most_terms(matches: Sequence[_Match]) -> tuple[int, int]:
    """(how many different terms, from which match on) of the window with the most of them."""
    most, first = 0, 0
    for index, match in enumerate(matches):
        near = {other.term for other in _near(matches, index, match.start + WIDTH - LEAD)}
        if len(near) > most:
            most, first = len(near), index
    return most, first


def _near(matches: Sequence[_Match], index: int, end: int) -> list[_Match]:
    found = []
    for match in matches[index:]:
        if match.start >= end:
            break
        found.append(match)
    return found


def _cut(block: str, matches: Sequence[_Match], *, starts: bool, ends: bool) -> Snippet:
    line = "".join(_shown(char) for char in block) if not (block.isascii() and block.isprintable()) else block
    breaks: Sequence[int] = range(len(line) + 1) if line.isascii() else grapheme_breaks(line)
    if len(line) <= WIDTH:
        low, high = 0, len(line)
    else:
        first = matches[_most_terms(matches)[1]].start if matches else 0
        low = max(0, min(first - LEAD, len(line) - WIDTH))
        low = breaks[bisect_left(breaks, low)] if low else 0
        low = _after_space(line, breaks, low, first) if low else 0
        high = min(len(line), low + WIDTH)
        high = breaks[bisect_right(breaks, high) - 1]
        high = _before_space(line, breaks, high, low + WIDTH // 2) if high < len(line) else high
        high = max(high, low)
    before = "" if starts and low == 0 else _DOTS
    after = "" if ends and high == len(line) else _DOTS
    shift = len(before) - low
    spans: list[tuple[int, int]] = []
    for match in matches:
        if match.start >= low and match.end <= high:
            start = breaks[bisect_right(breaks, match.start) - 1]
            end = breaks[bisect_left(breaks, match.end)]
            if spans and start < spans[-1][1]:
                spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
            else:
                spans.append((start, end))
    return Snippet(before + line[low:high] + after, tuple((start + shift, end + shift) for start, end in spans))


def _shown(char: str) -> str:
    """A character on a line: white space and controls are a space, half a surrogate pair is what Unicode has for it."""
    if "\ud800" <= char <= "\udfff":
        return "\ufffd"
    return " " if char.isspace() or (not char.isprintable() and ord(char) < 0xA0) else char


def _after_space(line: str, breaks: Sequence[int], low: int, most: int) -> int:
    space = line.find(" ", low - 1, most)
    return space + 1 if space >= 0 and _is_break(breaks, space + 1) else low


def _before_space(line: str, breaks: Sequence[int], high: int, least: int) -> int:
    space = line.rfind(" ", least, high + 1)
    return space if space >= 0 and _is_break(breaks, space) else high


def _is_break(breaks: Sequence[int], at: int) -> bool:
    return breaks[bisect_left(breaks, at)] == at
