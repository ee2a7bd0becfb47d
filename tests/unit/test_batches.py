"""Batches: what `append_messages` does is what its messages do one by one, each on the one before."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventstore import LATEST, EventStoreError, Session, Sessions, log
from eventstore.identities import TOGETHER
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


@pytest.mark.parametrize("size", [1, TOGETHER - 1, TOGETHER, TOGETHER + 1, 3 * TOGETHER, 3 * TOGETHER + 2])
def test_every_id_of_a_batch_is_in_the_index(size: int, sessions: Sessions, session: Session) -> None:
    batch = [message(f"m{n}") for n in range(size)]
    session.append_message(message("first"))
    session.append_messages(batch)
    assert [session.get_message(each["id"]) for each in batch] == batch
    assert [each.inserted for each in session.append_messages(batch)] == [False] * size
    assert sessions.verify().ok  # what it compares with goes in one by one


@pytest.mark.parametrize("column", [name for name in log.Run._fields if name != "begin"])
def test_a_short_column_loses_no_message_in_silence(
    sessions: Sessions, session: Session, monkeypatch: pytest.MonkeyPatch, column: str
) -> None:
    append_run = log.append_run

    def append_short(connection: Any, run: log.Run) -> None:
        append_run(connection, run._replace(**{column: getattr(run, column)[:-1]}))

    session.append_message(message("first"))
    monkeypatch.setattr(log, "append_run", append_short)
    with pytest.raises(RuntimeError, match="columns of"):
        session.append_messages([message("a"), message("b"), message("c")])
    assert sessions.latest_seq == 1
    assert sessions.verify().ok


def test_a_short_column_of_hashes_leaves_no_message_unfound(
    sessions: Sessions, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.append_message(message("first"))
    hash_ids = log.hash_ids
    monkeypatch.setattr(log, "hash_ids", lambda key, ids: hash_ids(key, ids)[:-1])
    with pytest.raises(RuntimeError, match="2 ids were hashed of 3"):
        session.append_messages([message("a"), message("b"), message("c")])
    assert sessions.latest_seq == 1


def test_a_refused_id_takes_its_batch_with_it(sessions: Sessions, session: Session) -> None:
    session.append_message(message("first"))
    batch = [message(f"m{n}") for n in range(3 * TOGETHER)]
    refused = TOGETHER + 5
    with sessions._store.transaction() as connection:  # damage: the id of an event that isn't there yet
        hashed = log.hash_id(1, batch[refused]["id"])
        connection.execute("INSERT INTO identity VALUES (?, ?, 1)", (hashed, sessions.latest_seq + 1 + refused))
    before = ids_and_events(sessions)
    with sessions.transaction():
        with pytest.raises(EventStoreError):
            session.append_messages([message("new"), *batch[1:]])
        session.append_message(message("kept"))
    assert ids_and_events(sessions) == [number + 1 for number in before]


def ids_and_events(sessions: Sessions) -> list[Any]:
    """How many rows the index of ids and the log have."""
    with sessions._store.read() as connection:
        tables = [connection.execute(f"SELECT count(*) FROM {table}").fetchall() for table in ("identity", "event")]
        return [number for ((number,),) in tables]


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
