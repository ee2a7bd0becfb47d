"""What a person typed, as terms that a text has or hasn't. Pure, but for the tokenizer that it is given.

Everything is literal but two things: "a phrase" between a pair of quotes, and word* at the end of a word. A word that
the tokenizer takes apart (don't, 20.04, gen-itgc, Chinese) is the phrase of its pieces. What has no letter or number
says nothing. The index is asked for single words only; the rest is checked in the texts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property

import attrs

from eventstore import words
from eventstore.tokenizing import Tokenizer

_QUOTES = str.maketrans("“”„", '"""')
_SHORTEST_STEM = 2
_BETWEEN = "\x1f"  # no tokenizer's word holds it
_STEM_ENDINGS = ("", "e", "i", "l")  # what the stemmer leaves at the end of a word that it has shortened
_SHORT_WORDS = ("eds", "ings", "es", "ys", "yeds", "yings", "yyeds", "yyings")  # behind a letter: of `aed`, a is left


class Words:
    """The words of a text in order, as stems and as they are written, so that many terms can be looked up in them."""

    def __init__(self, stems: Sequence[str], plain: Sequence[str]) -> None:
        self.stems = stems
        self.plain = plain

    @cached_property
    def line(self) -> str:
        """The stems, each between two separators."""
        return _BETWEEN.join(("", *self.stems, ""))

    @cached_property
    def alphabetical(self) -> list[tuple[str, int]]:
        """(word as it is written, its number)."""
        return sorted((word, place) for place, word in enumerate(self.plain))


@attrs.frozen
class Term:
    """Words next to each other, by their stems; with `prefix`, the last is the beginning of a word as it is written."""

    stems: tuple[str, ...]
    expressions: tuple[str, ...]  # of FTS5, one for each single word: a text that has the term fits them all
    prefix: str | None = None

    @property
    def is_word(self) -> bool:
        """Whether it is one word, and no more to it."""
        return len(self.stems) == 1 and self.prefix is None

    def places(self, words: Words) -> Iterator[int]:
        """The numbers of the words where a text has it."""
        if self.prefix is None:
            return self._phrases(words)
        return self._beginnings(words, self.prefix)

    def _phrases(self, words: Words) -> Iterator[int]:
        wanted = _BETWEEN.join(("", *self.stems, ""))
        number = end = 0
        while (found := words.line.find(wanted, end)) >= 0:
            number += words.line.count(_BETWEEN, end, found)
            yield number
            number += len(self.stems)
            end = found + len(wanted) - 1

    def _beginnings(self, words: Words, prefix: str) -> Iterator[int]:
        before = len(self.stems) - 1
        order = words.alphabetical
        for index in range(bisect_left(order, (prefix, 0)), len(order)):
            word, last = order[index]
            if not word.startswith(prefix):
                return
            place = last - before
            if place >= 0 and tuple(words.stems[place:last]) == self.stems[:-1]:
                yield place


@attrs.frozen
class Query:
    """Terms that must all occur."""

    terms: tuple[Term, ...]
    has_prefix: bool = attrs.field(init=False)  # whether words are looked at as they are written, too
    expressions: tuple[str, ...] = attrs.field(init=False)  # of all terms, longest first: these are the rarer words

    @has_prefix.default
    def _any_prefix(self) -> bool:
        return any(term.prefix is not None for term in self.terms)

    @expressions.default
    def _all_expressions(self) -> tuple[str, ...]:
        found = {expression: None for term in self.terms for expression in term.expressions}
        return tuple(sorted(found, key=len, reverse=True))


def parse(text: str, stemming: Tokenizer, plain: Tokenizer) -> Query | None:
    """The query that a text is, `None` when it holds no word."""
    terms: dict[tuple[tuple[str, ...], str | None], Term] = {}  # `runs` and `running` are one
    for part, is_word in _parts(text.translate(_QUOTES)):
        asks_prefix = is_word and part.endswith("*")
        typed = words.plain(part.rstrip("*") if asks_prefix else part).rstrip()
        spans = plain.spans(typed)
        if not spans:
            continue
        written = [word for _, _, word in spans]
        is_prefix = asks_prefix and spans[-1][1] == len(typed.encode())
        data = typed.encode()
        expressions = [f'"{data[start:end].decode()}"' for start, end, _ in spans]
        if is_prefix:
            expressions[-1] = _prefix_expression(written[-1], stemming)
        prefix = written[-1] if is_prefix else None
        stems = tuple(stemming.words(typed))
        terms.setdefault((stems, prefix), Term(stems, tuple(dict.fromkeys(expressions)), prefix))
    return Query(tuple(terms.values())) if terms else None


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    """(text, whether it is a single word) of what was typed: what is between two quotes, and the words outside."""
    start = 0
    while True:
        opening = text.find('"', start)
        closing = text.find('"', opening + 1) if opening >= 0 else -1
        if closing < 0:
            break
        yield from ((word, True) for word in text[start:opening].split())
        yield text[opening + 1 : closing], False
        start = closing + 1
    yield from ((word, True) for word in text[start:].split())


def _prefix_expression(word: str, stemming: Tokenizer) -> str:
    """What a word that begins with `word` must have in the index, which holds stems.

    A stem begins with `word` too; or it is shorter, since the stemmer took from what came before its end. The latter
    finds more than it should, and so does a beginning that is itself stemmed: the texts are checked.
    """
    length = len(word)
    while length > 1 and not word.startswith(_stem(word[:length], stemming)):
        length -= 1
    found = [f'"{word[:length]}" *']
    if word.isascii() and len(word) > 1:
        found += [f'"{word[0]}{rest}"' for rest in _SHORT_WORDS if rest.startswith(word[1:])]
        for size in range(len(word) - 1, _SHORTEST_STEM - 1, -1):
            if not word[size].isalpha():
                break  # no ending has a number
            found += [f'"{_form(word[:size] + ending, stemming)}"' for ending in _STEM_ENDINGS]
    return f"({' OR '.join(found[:64])})"


def _form(stem: str, stemming: Tokenizer) -> str:
    """A word that has this stem: it is stemmed as all words of a query are, and many a stem has another stem itself."""
    return next((form for form in (stem, f"{stem}s", f"{stem}ness") if _stem(form, stemming) == stem), stem)


def _stem(word: str, stemming: Tokenizer) -> str:
    stems = stemming.words(word)
    return stems[0] if len(stems) == 1 else "\0"
