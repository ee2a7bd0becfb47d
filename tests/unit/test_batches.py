"""Batches: what `append_messages` does is what its messages do one by one, each on the one before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from eventstore import LATEST, Session, Sessions
from eventstore.types import ParentId
from tests.unit.talk import message

IDS = st.sampled_from(["a", "b", "c", "d", "e", "compaction_f"])


@given(st.lists(st.lists(IDS, max_size=6), max_size=8))
def test_batches_of_new_and_known_ids_are_their_appends(batches: list[list[str]]) -> None:
    with Sessions() as store:
        together, alone = store.session("together"), store.session("alone")
        for batch in batches:
            results = together.append_messages([message(each) for each in batch])
            assert [each.inserted for each in results] == one_by_one(alone, batch)
            assert parents(together) == parents(alone)
        known = {each for batch in batches for each in batch if not each.startswith("compaction_")}
        assert set(parents(together)) == known
        for each in sorted(known):
            assert together.get_message(each) == message(each)
            assert not together.append_message(message(each, "said otherwise")).inserted
        assert store.verify().ok


def one_by_one(session: Session, batch: list[str]) -> list[bool]:
    """Appends a batch's messages in calls of their own, and says which were new."""
    inserted = []
    parent: ParentId = LATEST
    for each in batch:
        result = session.append_message(message(each), parent_id=parent)
        inserted.append(result.inserted)
        if not each.startswith("compaction_"):
            parent = each
    return inserted


def parents(session: Session) -> dict[str, str | None]:
    return {info.id: info.parent_id for info in session.tree()}
