"""Ids that meet in the index: all of them share one hash here, as an attacker could make two of them do."""

from __future__ import annotations

import pytest

from eventstore import Session, Sessions, heads, log
from eventstore.testing import check_invariants
from tests.unit.talk import chain, ids, message


@pytest.fixture(autouse=True)
def _one_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    def id_bits(message_id: str) -> int:
        return 7

    monkeypatch.setattr(log, "id_bits", id_bits)
    monkeypatch.setattr(log, "hash_each", lambda _, texts: [bytes([0, 0, 0, 0, 7]) for _ in texts])
    monkeypatch.setattr(heads, "id_bits", id_bits)
    monkeypatch.setattr(heads, "_FOR_WRITE", heads._FOR_WRITE.replace(f"& {log.SESSION_BITS}", "& 0"))
    monkeypatch.setattr(log, "SESSION_BITS", 0)


def test_every_verb_tells_them_apart(sessions: Sessions, session: Session) -> None:
    other = sessions.session("other")
    chain(session, "a", "b", "c")
    chain(other, "c", "b", "a")
    session.append_message(message("d"), parent_id="a")
    results = session.append_messages([message(each) for each in ("b", "e", "a", "f", "e")])
    assert [result.inserted for result in results] == [False, True, False, True, False]
    session.update_message(message("b", "new"))
    session.delete_messages(["c", "nope", "e"])
    assert {info.id: info.parent_id for info in session.tree()} == {"a": None, "b": "a", "d": "a", "f": "a"}
    assert session.get_message("b") == message("b", "new")
    assert other.get_message("b") == message("b")
    assert ids(other.get_history()) == ["c", "b", "a"]
    session.clear_messages()
    assert list(session.tree()) == []
    chain(session, "c")
    assert ids(other.get_history()) == ["c", "b", "a"]
    check_invariants(sessions)
    assert sessions.verify().ok


def test_a_batch_of_known_ids_stores_none_again(session: Session) -> None:
    chain(session, *"abcdef")
    assert not any(result.inserted for result in session.append_messages([message(each) for each in "fedcba"]))
    assert ids(session.tree()) == list("abcdef")
