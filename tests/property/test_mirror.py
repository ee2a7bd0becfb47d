"""A mirror against a naive reduction over the same list, after every event, whatever its owner does between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.positions import WATCHED
from tests.property.mirror_edits import ANYWHERE, AT_THE_END, HIDDEN, IDS, Rows, edits
from tests.property.mirror_oracle import Owner
from tests.unit.recorded import Recorded, message

FORMS = pytest.mark.parametrize("reassigns", [False, True], ids=["in place", "reassigned"])
ENTRIES = pytest.mark.parametrize("own", [False, True], ids=["messages", "transformed"])

Write = Callable[[Recorded], None]
Change = Callable[[Rows], None]


def writes(message_ids: st.SearchStrategy[str] = IDS) -> st.SearchStrategy[Write]:
    texts = st.sampled_from(["", "a", "b"])
    return st.one_of(
        st.builds(lambda i, text: lambda source: source.append(message(i, text)), message_ids, texts),
        st.builds(lambda i, text: lambda source: source.update(message(i, text)), message_ids, texts),
        st.builds(lambda i: lambda source: source.append(message(i, "again"), inserted=False), message_ids),
        st.builds(lambda ids: lambda source: source.delete(ids), st.lists(message_ids, min_size=1, max_size=4)),
        st.sampled_from([Recorded.pass_by, Recorded.clear, Recorded.delete_session]),
    )


@FORMS
@ENTRIES
@given(
    steps=st.lists(
        st.tuples(st.lists(st.tuples(edits(AT_THE_END + ANYWHERE + HIDDEN), st.booleans()), max_size=3), writes()),
        max_size=25,
    ),
)
def test_any_edit_of_a_short_list(
    own: bool, reassigns: bool, steps: list[tuple[list[tuple[Change, bool]], Write]]
) -> None:
    source = Recorded()
    owner = Owner(source.session, own=own, reassigns=reassigns)
    for changes, write in steps:
        for change, in_place in changes:
            owner.edit(change, in_place=in_place)
        if len(owner.rows) > WATCHED:
            owner.edit(lambda rows: rows.__delitem__(slice(WATCHED // 2)))
        write(source)
        assert owner.problems == []


LONG = 3 * WATCHED
MANY_IDS = st.sampled_from([f"m{number}" for number in range(LONG + 10)])


@FORMS
@ENTRIES
@given(
    steps=st.lists(
        st.tuples(
            st.one_of(
                st.lists(edits(AT_THE_END), max_size=4),
                st.lists(edits(ANYWHERE), max_size=1),
            ),
            writes(MANY_IDS),
        ),
        max_size=20,
    ),
)
def test_a_long_list(own: bool, reassigns: bool, steps: list[tuple[list[Change], Write]]) -> None:
    """Any number of edits at the end, or one elsewhere, between two events."""
    source = Recorded()
    owner = Owner(source.session, own=own, reassigns=reassigns)
    for number in range(LONG):
        source.append(message(f"m{number}"))
    for changes, write in steps:
        for change in changes:
            owner.edit(change)
        write(source)
        assert owner.problems == []


@given(steps=st.lists(st.tuples(st.lists(edits(AT_THE_END + ANYWHERE + HIDDEN), max_size=2), writes()), max_size=20))
def test_two_mirrors_over_one_list(steps: list[tuple[list[Change], Write]]) -> None:
    source, alone = Recorded(), Recorded()
    shared: list[Any] = []
    first = Owner(source.session, rows=shared)
    Owner(source.session, rows=shared)
    single = Owner(alone.session)
    for changes, write in steps:
        for change in changes:
            change(shared)
            change(single.rows)
        for rows in (shared, single.rows):
            del rows[: max(0, len(rows) - WATCHED)]
        write(source)
        write(alone)
        assert shared == single.rows
        assert first.rows is shared
