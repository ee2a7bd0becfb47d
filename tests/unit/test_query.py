"""What is typed, as terms: what is special, what is literal, and what says nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from eventstore import query
from eventstore.driver import Connection
from eventstore.query import Query, Words
from eventstore.tokenizing import Tokenizer


@pytest.fixture
def tokenizers() -> Iterator[tuple[Tokenizer, Tokenizer]]:
    connection = Connection(":memory:")
    yield Tokenizer(connection), Tokenizer(connection, stems=False)
    connection.close()


def told(parsed: Query | None) -> list[str]:
    """Terms as text: words of a phrase with a dash between, a star behind a beginning."""
    if parsed is None:
        return []
    return ["-".join(term.stems) + ("" if term.prefix is None else f" {term.prefix}*") for term in parsed.terms]


@pytest.mark.parametrize(
    ("typed", "terms"),
    [
        ("brown fox", ["brown", "fox"]),
        ("fox  fox\tFOX foxes", ["fox"]),
        ('"brown fox" dog', ["brown-fox", "dog"]),
        ('say"brown fox"dog', ["sai", "brown-fox", "dog"]),
        ("“brown fox” dog", ["brown-fox", "dog"]),
        ('fox"', ["fox"]),
        ('"brown fox', ["brown", "fox"]),
        ('"one two" "three four', ["on-two", "three", "four"]),
        ('"" fox ""', ["fox"]),
        ("qui*", ["qui qui*"]),
        ("qui**", ["qui qui*"]),
        ("foo_ba*", ["foo-ba ba*"]),
        ("foo-*", ["foo"]),
        ('"qui*"', ["qui"]),
        ("*", []),
        ("**fox", ["fox"]),
        ("don't 20.04 gen-itgc", ["don-t", "20-04", "gen-itgc"]),
        ("C++ (fox) + dog", ["c", "fox", "dog"]),
        ("content:fox ^the -x", ["content-fox", "the", "x"]),
        ("NEAR(quick fox, 3)", ["near-quick", "fox", "3"]),
        ("数据 修", ["数-据", "修"]),
        ("步2", ["步-2"]),
        ("École Ａ", ["ecol", "a"]),
        ("", []),
        (" \t\n ", []),
        ("!!! ... ---", []),
        ('"', []),
        ('" "', []),
        ("\0", []),
        ("\ud83d \udc4d", []),
        ("fo\0x", ["fo-x"]),
    ],
)
def test_what_is_typed(tokenizers: tuple[Tokenizer, Tokenizer], typed: str, terms: list[str]) -> None:
    assert told(query.parse(typed, *tokenizers)) == terms


def test_a_phrase_is_found_where_its_words_follow_each_other(tokenizers: tuple[Tokenizer, Tokenizer]) -> None:
    parsed = query.parse('"a b a"', *tokenizers)
    assert parsed is not None
    (term,) = parsed.terms
    assert list(term.places(Words(["a", "b", "a", "b", "a", "b", "a"], []))) == [0, 4]  # what overlaps is found once
    assert list(term.places(Words(["b", "a", "b", "b", "a", "b", "a"], []))) == [4]
    assert list(term.places(Words([], []))) == []


def test_a_beginning_is_that_of_a_word_as_it_is_written(tokenizers: tuple[Tokenizer, Tokenizer]) -> None:
    parsed = query.parse("running*", *tokenizers)
    assert parsed is not None
    (term,) = parsed.terms
    text = "run runs running runningly"
    stems, plain = (each.words(text) for each in tokenizers)
    assert sorted(term.places(Words(stems, plain))) == [2, 3]
