"""Mirrors of a real store: every write verb, the owner's edits between them, and mirrors that come late."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from eventstore import Appended, Deleted, Event, Message, Sessions
from eventstore.testing import Write, json_text, same_json, writes
from projections import mirror
from projections.positions import WATCHED
from tests.property.mirror_edits import ANYWHERE, AT_THE_END, HIDDEN, Change, changes
from tests.property.mirror_oracle import Owner

IDS = st.sampled_from([f"m{number}" for number in range(8)])
Step = tuple[list[tuple[Change, bool]], list[Write], bool]

STEPS = st.lists(
    st.tuples(
        st.lists(st.tuples(changes(AT_THE_END + ANYWHERE + HIDDEN, IDS), st.booleans()), max_size=2),
        writes(ids=IDS, min_size=1, max_size=4),
        st.booleans(),
    ),
    max_size=6,
)


@given(own=st.booleans(), reassigns=st.booleans(), retains_all=st.booleans(), steps=STEPS)
def test_a_mirror_is_its_reduction(own: bool, reassigns: bool, retains_all: bool, steps: list[Step]) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        Sessions(Path(folder, "a.db"), durability="normal", retain="all" if retains_all else "current") as sessions,
    ):
        session = sessions.session()
        owner = Owner(session, own=own, reassigns=reassigns)
        untouched: list[Message] = []
        mirror(session, untouched)
        for edits, batch, in_transaction in steps:
            for change, in_place in edits:
                owner.edit(change, in_place=in_place)
            if len(owner.rows) > WATCHED // 2:
                owner.edit(lambda rows: rows.clear())
            with sessions.transaction() if in_transaction else nullcontext():
                for write in batch:
                    write.apply(session)
            assert owner.problems == []
            late: list[Message] = []
            with mirror(session, late, after=0):
                assert same_json(late, untouched)


@given(history=writes(ids=IDS), retains_all=st.booleans(), lag=st.integers(0, 40))
def test_what_is_heard_again_changes_nothing(history: list[Write], retains_all: bool, lag: int) -> None:
    """A list that was kept without the cursor that belongs to it is the same after it has heard the rest again. (Only
    where an id was deleted and came back in it, the entries may stand in another order.)"""
    with Sessions(retain="all" if retains_all else "current") as sessions:
        session = sessions.session()
        rows: list[Message] = []
        mirror(session, rows)
        for write in history:
            write.apply(session)
        kept = list(rows)
        after = max(0, sessions.latest_seq - lag)
        with mirror(session, kept, after=after):
            assert sorted(map(json_text, kept)) == sorted(map(json_text, rows))
            assert came_back(session.events(after)) or same_json(kept, rows)


def came_back(events: Iterable[Event]) -> bool:
    """Whether an id that is deleted is appended later on."""
    gone: set[str] = set()
    for event in events:
        if isinstance(event, Deleted):
            gone.update(event.message_ids)
        elif isinstance(event, Appended) and event.message["id"] in gone:
            return True
    return False
