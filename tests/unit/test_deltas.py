"""Texts that grow: cut into slices, told apart by one insertion, put together from their pieces."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eventstore import deltas

TEXTS = st.text(st.sampled_from("ab{é消👍\x00"), max_size=30)
"""Few characters, of one to four bytes, so that texts have much in common."""


def inserted(base: str, pieces: list[tuple[int, str]]) -> str:
    """What `join` is to give, one piece at a time."""
    for at, text in pieces:
        base = base[:at] + text + base[at:]
    return base


@given(TEXTS, TEXTS, TEXTS)
def test_an_insertion_is_found_and_gives_the_new_text(start: str, middle: str, end: str) -> None:
    old, new = start + end, start + middle + end
    found = deltas.insertion(old, new)
    if not middle:
        assert found is None
    else:
        assert found is not None
        assert inserted(old, [found]) == new
        assert len(found[1]) == len(middle)


@st.composite
def nearly_inserted(draw: st.DrawFn) -> tuple[str, str]:
    """(old, new): an insertion, and one character changed somewhere behind it."""
    start, middle, end = draw(TEXTS), draw(TEXTS), draw(TEXTS) + "behind"
    at = draw(st.integers(0, len(end) - 1))
    return start + end, start + middle + end[:at] + draw(st.sampled_from("ab\x01")) + end[at + 1 :]


@given(st.tuples(TEXTS, TEXTS) | nearly_inserted())
@example(("abcd", "axbce"))
def test_what_is_found_is_always_right(texts: tuple[str, str]) -> None:
    old, new = texts
    found = deltas.insertion(old, new)
    grown = len(new) - len(old)
    possible = any(new[:at] + new[at + grown :] == old for at in range(len(old) + 1)) if grown > 0 else False
    assert (found is not None) == possible
    if found is not None:
        assert inserted(old, [found]) == new


@given(TEXTS, TEXTS)
def test_the_common_prefix_is_the_longest(one: str, other: str) -> None:
    length = deltas.common_prefix(one, other)
    assert one[:length] == other[:length]
    assert one[length : length + 1] != other[length : length + 1] or length == len(one) == len(other)


@given(st.data(), TEXTS)
def test_pieces_join_as_if_inserted_one_by_one(data: st.DataObject, base: str) -> None:
    """Also runs of pieces, each behind the one before, and pieces right beside or inside them."""
    pieces: list[tuple[int, str]] = []
    text, end = base, 0
    for _ in range(data.draw(st.integers(0, 12))):
        at = data.draw(st.sampled_from((end, end, max(0, end - 1), 0, len(text))) | st.integers(0, len(text)))
        at = min(at, len(text))
        new = data.draw(TEXTS)
        pieces.append((at, new))
        text, end = text[:at] + new + text[at:], at + len(new)
    assert deltas.join(base, pieces) == inserted(base, pieces) == text


@pytest.mark.parametrize("limit", [4, 5, 7, 64])
@given(text=st.text(st.sampled_from("abé消👍"), max_size=80))
def test_slices_are_whole_characters_within_the_limit(limit: int, text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deltas, "SLICE_BYTES", limit)
        slices = list(deltas.slices(text))
    assert "".join(slices) == text
    assert all(0 < len(each.encode()) <= limit for each in slices) or slices == [""]
    for one, other in itertools.pairwise(slices):  # none could have taken more
        assert len((one + other[0]).encode()) > limit


@given(st.text(st.sampled_from("abé消👍"), max_size=60), st.integers(4, 20))
def test_slices_are_pieces_at_the_end(text: str, limit: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deltas, "SLICE_BYTES", limit)
        base, *rest = deltas.slices(text)
    at, pieces = len(base), []
    for each in rest:
        pieces.append((at, each))
        at += len(each)
    assert deltas.join(base, pieces) == text
