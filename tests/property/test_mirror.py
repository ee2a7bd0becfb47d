"""A mirror against a naive reduction over the same list, after every event, whatever its owner does between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.positions import WATCHED, id_of
from tests.property.mirror_edits import ANYWHERE, AT_THE_END, HIDDEN, Change, changes, swap
from tests.property.mirror_oracle import Owner, Row
from tests.unit.recorded import Recorded, message

FORMS = pytest.mark.parametrize("reassigns", [False, True], ids=["in place", "reassigned"])
ENTRIES = pytest.mark.parametrize("own", [False, True], ids=["messages", "transformed"])

Write = Callable[[Recorded], None]
WriteOne = Callable[[Recorded, str], None]

ALL = AT_THE_END + ANYWHERE + HIDDEN
FEW_IDS = st.sampled_from([f"m{number}" for number in range(8)])
LONG = 3 * WATCHED
MANY_IDS = st.sampled_from([f"m{number}" for number in range(LONG + 10)])

ONE: st.SearchStrategy[WriteOne] = st.sampled_from(
    [
        lambda source, message_id: source.append(message(message_id, "appended")),
        lambda source, message_id: source.append(message(message_id, "repeated"), inserted=False),
        lambda source, message_id: source.update(message(message_id, "updated")),
        lambda source, message_id: source.delete([message_id]),
    ]
)


def writes(message_ids: st.SearchStrategy[str]) -> st.SearchStrategy[Write]:
    return st.one_of(
        st.builds(lambda write, message_id: lambda source: write(source, message_id), ONE, message_ids),
        st.builds(lambda write, message_id: lambda source: write(source, message_id), ONE, message_ids),
        st.builds(lambda ids: lambda source: source.delete(ids), st.lists(message_ids, min_size=1, max_size=4)),
        st.sampled_from([Recorded.pass_by, Recorded.clear, Recorded.delete_session]),
    )


@FORMS
@ENTRIES
@given(
    steps=st.lists(
        st.tuples(st.lists(st.tuples(changes(ALL, FEW_IDS), st.booleans()), max_size=3), writes(FEW_IDS)),
        max_size=25,
    ),
)
def test_any_edits_of_a_short_list(
    own: bool, reassigns: bool, steps: list[tuple[list[tuple[Change, bool]], Write]]
) -> None:
    source = Recorded()
    owner = Owner(source.session, own=own, reassigns=reassigns)
    for edits, write in steps:
        for change, in_place in edits:
            owner.edit(change, in_place=in_place)
        if len(owner.rows) > WATCHED:
            owner.edit(lambda rows: rows.__delitem__(slice(WATCHED // 2)))
        write(source)
        assert owner.problems == []


def long_list(own: bool, reassigns: bool) -> tuple[Recorded, Owner]:
    source = Recorded()
    owner = Owner(source.session, own=own, reassigns=reassigns)
    for number in range(LONG):
        source.append(message(f"m{number}"))
    return source, owner


def id_at(rows: list[Any], place: int) -> str:
    """The id of the row at a place of an edit."""
    row = rows[place % len(rows)] if rows else None
    found = row.source["id"] if isinstance(row, Row) else row.get("id") if isinstance(row, dict) else None
    return found if isinstance(found, str) else "m0"


def is_half_seen(change: Change, rows: list[Any], own: bool) -> bool:
    """Whether an entry near the end, where each is looked at, is exchanged for one further up, where none is, that the
    mirror can't know for a message's: the id that goes up counts as new, as of any entry that is exchanged there."""
    up, near = sorted(place % len(rows) for place in (change.first, change.second)) if rows else (0, 0)
    return change.edit is swap and up < len(rows) - WATCHED <= near and (own or id_of(rows[up]) is None)


@FORMS
@ENTRIES
@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.lists(changes(AT_THE_END, MANY_IDS), max_size=4), st.lists(writes(MANY_IDS), max_size=2)),
            st.tuples(changes(ANYWHERE, MANY_IDS), st.lists(ONE, min_size=1, max_size=2)),
        ),
        max_size=12,
    ),
)
def test_edits_of_a_long_list(own: bool, reassigns: bool, steps: list[tuple[Any, list[Any]]]) -> None:
    """Any number of edits at the end between two events, or one elsewhere, then writes of the rows that it touched."""
    source, owner = long_list(own, reassigns)
    for edit, events in steps:
        if isinstance(edit, Change):
            if is_half_seen(edit, owner.rows, own):
                continue
            touched = [id_at(owner.rows, edit.first), id_at(owner.rows, edit.second)]
            owner.edit(edit)
            touched += [id_at(owner.rows, edit.first), id_at(owner.rows, edit.second)]
            for number, write_one in enumerate(events):
                write_one(source, touched[(edit.first + number) % 4])
        else:
            for change in edit:
                owner.edit(change)
            for write in events:
                write(source)
        source.update(message("nobody's"))
        assert owner.problems == []


@ENTRIES
@given(steps=st.lists(st.tuples(st.lists(changes(ALL, MANY_IDS), max_size=3), ONE), max_size=12))
def test_any_edits_of_a_long_list_that_is_reassigned(own: bool, steps: list[tuple[list[Change], WriteOne]]) -> None:
    """Another list is read whole, so that nothing in it can be missed."""
    source, owner = long_list(own, reassigns=True)
    for edits, write_one in steps:
        for change in edits:
            owner.edit(change, in_place=False)
        write_one(source, id_at(owner.rows, edits[-1].first) if edits else "m1")
        assert owner.problems == []


@given(steps=st.lists(st.tuples(st.lists(changes(ALL, FEW_IDS), max_size=2), writes(FEW_IDS)), max_size=20))
def test_two_mirrors_over_one_list(steps: list[tuple[list[Change], Write]]) -> None:
    source, alone = Recorded(), Recorded()
    shared: list[Any] = []
    owners = [Owner(source.session, rows=shared), Owner(source.session, rows=shared)]
    single = Owner(alone.session)
    for edits, write in steps:
        for change in edits:
            change(shared)
            change(single.rows)
        for rows in (shared, single.rows):
            del rows[: max(0, len(rows) - WATCHED)]
        write(source)
        write(alone)
        assert shared == single.rows
        assert [owner.problems for owner in owners] == [[], []]
