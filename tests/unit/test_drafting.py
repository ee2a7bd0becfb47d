"""Drafts: the quick ways of plain text, one by one and by columns, make what the long way does."""

from __future__ import annotations

import copy
import pickle
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import orjson
import pytest
from attrs.exceptions import FrozenInstanceError
from hypothesis import given
from hypothesis import strategies as st

from eventstore import AppendResult, EventStoreError, codec, estimate_tokens, log, media, strict
from eventstore.drafting import Draft, Drafting, Drafts
from eventstore.testing.values import texts
from eventstore.types import results_of_new
from tests.property.odd_batches import batches, each_odd_message, nested, odd_messages
from tests.unit.talk import canonical, message

DRAFTING = Drafting(reserved=[], count_tokens=estimate_tokens, prepare=None)
PLAIN = message("plain")


@pytest.fixture
def place() -> str:
    """No file is written."""
    return ":memory:"


def long_way(given: Any) -> Draft:
    """A draft without any look at whether it is plain text."""
    codec.check_message(given)
    encoded = codec.encode_message(given)
    return Draft(encoded.value["id"], encoded.value["role"], encoded, estimate_tokens(encoded.value))


def outcome(make: Callable[[], list[Draft]]) -> Any:
    """Drafts to be compared, or what is raised instead of them."""
    try:
        return [(*draft, canonical(draft.encoded.value), type(draft.tokens)) for draft in make()]
    except EventStoreError as error:
        return type(error), str(error)


def check(batch: list[Any]) -> None:
    expected = outcome(lambda: [long_way(each) for each in batch])
    assert outcome(lambda: [DRAFTING.new_draft(each, "server") for each in batch]) == expected
    assert outcome(lambda: [*DRAFTING.new_drafts(batch, "server")]) == expected
    assert outcome(lambda: [*DRAFTING.new_drafts(iter(batch), "server")]) == expected


def test_every_kind_of_message() -> None:
    for odd in each_odd_message():
        check([odd])
        check([PLAIN, odd, PLAIN])


@given(batches())
def test_every_batch(batch: list[Any]) -> None:
    check(batch)


@given(st.lists(odd_messages() | st.builds(message, texts(), texts()), min_size=1, max_size=3))
def test_columns_are_plain_where_each_message_is(given: list[Any]) -> None:
    assert codec.are_plain_texts(given) == all(map(codec.is_plain_text, given))


def test_what_is_plain_passes_the_checks_that_it_is_spared() -> None:
    plain = [each for each in each_odd_message() if codec.is_plain_text(each)]
    assert len(plain) > 20
    for each in plain:
        codec.check_message(each)
        assert not media.may_hold(each["parts"])


@pytest.mark.parametrize("word", ["", "é", "\ud83d", "\ud83d\ude00"])
@pytest.mark.parametrize("key", ["id", "role"])
def test_words_that_need_a_look(key: str, word: str) -> None:
    assert not codec.is_plain_text({**PLAIN, key: word})
    check([{**PLAIN, key: word}])


@given(st.lists(st.text(), min_size=3, max_size=3))
def test_strings_come_back_without_being_compared(words: list[str]) -> None:
    given = [{"id": words[0], "role": words[1], "parts": [{"type": words[1], "text": words[2]}]}]
    together = codec.encode_together(given, exact=True)
    assert together is not None
    assert together.values == given
    assert [*together.each()] == [codec.encode(given[0])]


def test_what_is_nested_too_deep_is_refused_before_it_is_measured() -> None:
    for value in (nested(strict.MAX_DEPTH), nested(strict.MAX_DEPTH + 1)):
        with pytest.raises(TypeError):
            orjson.dumps(value)


def test_tools_are_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tool = {"type": "tool-x", "input": {"a": 1}, "output": [1]}
    batch = [PLAIN, {**message("tool"), "parts": [tool]}]
    monkeypatch.setattr(codec, "encode", None)
    assert [draft.id for draft in DRAFTING.new_drafts(batch, "server")] == ["plain", "tool"]


# ---- what a caller's function does meanwhile


def is_stored(given: Any) -> bool:
    return isinstance(outcome(lambda: [long_way(given)]), list)


def test_a_counter_that_changes_or_keeps_what_it_counts_changes_nothing_else() -> None:
    kept: list[Any] = []

    def count(counted: Any) -> int:
        kept.append(counted)
        for part in counted["parts"]:
            part.clear()
        counted["parts"].append("counted")
        del counted["id"]
        return 7

    drafting = Drafting(reserved=[], count_tokens=count, prepare=None)
    valid = [each for each in each_odd_message() if type(each) is dict and is_stored(each)]
    assert len(valid) > 50
    for batch in ([PLAIN, PLAIN], valid):
        expected = [codec.encode_message(each) for each in batch]
        for drafts in ([*drafting.new_drafts(batch, "server")], [drafting.draft(each) for each in batch]):
            assert [canonical(draft.encoded.value) for draft in drafts] == [canonical(each.value) for each in expected]
            assert [draft.encoded[2:] for draft in drafts] == [each[2:] for each in expected]
            assert [draft.id for draft in drafts] == [each["id"] for each in batch]
            assert {draft.tokens for draft in drafts} == {7}
    assert all(each["parts"][-1] == "counted" for each in kept)


@pytest.mark.parametrize("others", [[], [message("x", metadata={})], [{**PLAIN, "parts": [{"type": "step"}]}]])
def test_a_counter_that_changes_what_comes_next_gets_nothing_wrong_in(others: list[Any]) -> None:
    """Wrong messages that are right by the time they are looked at, and right ones that are wrong then."""
    next_one: dict[Any, Any] = {}

    def make_next(given: Any) -> None:
        next_one.clear()
        next_one.update(given)

    right = message("right")
    for odd in each_odd_message():
        if type(odd) is not dict:
            continue
        for before, after in ((odd, right), (right, odd)):
            make_next(before)
            counter = partial(count_and, partial(make_next, after))
            drafting = Drafting(reserved=[], count_tokens=counter, prepare=None)
            with suppress(EventStoreError):
                for draft in drafting.new_drafts([PLAIN, next_one, *others], "server"):
                    codec.check_message(draft.encoded.value)
                    assert canonical(codec.own_value(draft.encoded)) == canonical(draft.encoded.value)


def count_and(then: Callable[[], None], counted: Any) -> int:
    if counted["id"] == PLAIN["id"]:
        then()
    return 1


# ---- columns


def test_drafts_by_columns_are_a_sequence() -> None:
    each = [DRAFTING.draft(message(name), time) for name, time in (("a", None), ("b", 5))]
    drafts = Drafts.of(each)
    assert [*drafts] == each
    assert drafts[1] == each[1]
    assert [*drafts[:1]] == each[:1]
    drafts.extend(drafts[1:])
    assert [*drafts] == [*each, each[1]]
    assert len(drafts) == 3
    assert not Drafts()
    assert Drafts.of(drafts) is drafts


@given(st.lists(st.text()), st.integers(1, 2**40))
def test_hashes_of_many_are_those_of_each(words: list[str], session: int) -> None:
    assert codec.digests(words) == [codec.digest(word) for word in words]
    assert log.hash_ids(session, words) == [log.hash_id(session, word) for word in words]


def test_results_of_many_are_those_of_each() -> None:
    given: list[Any] = [message("a"), message("b")]
    results = results_of_new(given, range(7, 9))
    assert results == [AppendResult(True, given[0], 7), AppendResult(True, given[1], 8)]
    assert results[0].message is given[0]
    assert results_of_new([], range(0)) == []
    for result in results:
        with pytest.raises(FrozenInstanceError):
            result.seq = 1  # type: ignore[misc]
        assert weakref.ref(result)() is result
        assert pickle.loads(pickle.dumps(result)) == copy.deepcopy(result) == result


@given(st.lists(texts()))
def test_overlays_are_counted_by_their_ids(words: list[str]) -> None:
    words += [codec.OVERLAY_PREFIX + word for word in words]
    assert codec.count_overlay_ids(words) == sum(map(codec.is_overlay_id, words))
