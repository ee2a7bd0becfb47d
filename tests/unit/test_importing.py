"""Imports of rows: each waits for its parent, and what hangs on nothing that is there is refused by its name."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventstore import ImportRow, Session, Sessions, UnknownMessage
from tests.unit.talk import ids, message

WHEN = datetime(2024, 5, 6, tzinfo=UTC)


def rows(parents: Mapping[str, str | None]) -> list[ImportRow]:
    return [ImportRow(message(name), parent_id=parent, created_at=WHEN) for name, parent in parents.items()]


def rooted(parents: Mapping[str, str | None]) -> set[str]:
    """Those from which a root is reached: the rest are in a cycle, behind one, or behind somebody who isn't there."""
    found: set[str] = set()
    while more := {name for name, parent in parents.items() if parent is None or parent in found} - found:
        found |= more
    return found


NAMES = [f"m{number}" for number in range(8)]


@given(st.dictionaries(st.sampled_from(NAMES), st.none() | st.sampled_from([*NAMES, "nobody"]), min_size=1))
def test_any_links_are_a_forest_or_refused_by_name(parents: dict[str, str | None]) -> None:
    """What reaches a root is stored, in whatever order it comes; no walk ever loops."""
    there = rooted(parents)
    with Sessions() as sessions:
        session = sessions.session()
        if there == set(parents):
            assert session.import_messages(rows(parents)).imported == len(parents)
        else:
            with pytest.raises(UnknownMessage) as raised:
                session.import_messages(rows(parents))
            assert set(raised.value.message_ids) == set(parents) - there, "what waits is named"
        assert {info.id: info.parent_id for info in session.tree()} == {name: parents[name] for name in there}
        for name in there:
            path = ids(session.get_history(leaf_id=name))
            assert [parents[each] for each in path] == [None, *path[:-1]]
        assert sessions.verify().ok


@pytest.mark.parametrize("parents", [{"x": "y", "y": "x"}, {"z": "z"}, {"a": "b", "b": "c", "c": "a", "d": "a"}])
def test_a_cycle_is_refused_and_the_session_stays_as_it_was(session: Session, parents: dict[str, str]) -> None:
    with pytest.raises(UnknownMessage):
        session.import_messages(rows(parents))
    assert (session.get_history(), list(session.tree()), session.info().messages) == ([], [], 0)
    session.append_message(message("x"))
    assert ids(session.get_history()) == ["x"]


def test_of_a_hundred_rows_three_have_no_parent_and_all_others_are_reached(session: Session) -> None:
    parents: dict[str, str | None] = {f"m{number}": f"m{number - 1}" if number else None for number in range(100)}
    parents |= {"m97": "gone", "m98": "lost", "m99": "never written"}
    with pytest.raises(UnknownMessage) as raised:
        session.import_messages(rows(parents))
    assert set(raised.value.message_ids) == {"m97", "m98", "m99"}
    assert ids(session.get_history()) == ids(session.tree()) == [f"m{number}" for number in range(97)]
