"""The end of a store: what closing does, what can't be asked any more, and what it can't be closed in."""

from __future__ import annotations

from pathlib import Path

import pytest

from eventstore import InvalidArgument, Sessions, StoreClosed
from tests.unit.every_call import every_call
from tests.unit.talk import chain, ids, message


def test_no_use_after_close(path: Path) -> None:
    sessions = Sessions(path)
    chain(sessions.session(), "a", "b")
    calls = every_call(sessions, path.with_name("copy.db"))
    sessions.close()
    sessions.close()
    for call in calls:
        with pytest.raises(StoreClosed, match="closed"):
            call()
    with Sessions(path) as again:
        assert ids(again.session().get_history()) == ["a", "b"]


def test_a_store_in_memory_is_closed_too() -> None:
    sessions = Sessions()
    session = sessions.session()
    chain(session, "a")
    sessions.close()
    sessions.close()
    for call in (session.get_history, lambda: session.append_message(message("b")), lambda: sessions.at(1)):
        with pytest.raises(StoreClosed):
            call()


def test_closing_inside_a_transaction_is_refused(sessions: Sessions) -> None:
    with sessions.transaction():
        sessions.session().append_message(message("a"))
        with pytest.raises(InvalidArgument, match="transaction"):
            sessions.close()
    assert ids(sessions.session().get_history()) == ["a"]


def test_closing_leaves_an_open_view_its_own_end(path: Path) -> None:
    with Sessions(path) as sessions:
        chain(sessions.session(), "a")
        view = sessions.at(1)
        reading = sessions.session().history()
    with pytest.raises(StoreClosed):
        view.session().get_history()
    with pytest.raises(StoreClosed):
        next(reading)
    view.close()
    view.close()


def test_no_use_of_a_closed_view(sessions: Sessions) -> None:
    with sessions.at(0) as view:
        pass
    for call in (view.__enter__, view.list_sessions, view.session().get_history):
        with pytest.raises(StoreClosed, match="view was closed"):
            call()


def test_views_and_checks_are_refused_inside_a_transaction(sessions: Sessions) -> None:
    """They read what is committed: a view of an event that isn't yet would be wrong without a word."""
    session = sessions.session()
    chain(session, "a")
    with sessions.transaction():
        chain(session, "b")
        for call in (lambda: sessions.at(2), lambda: sessions.at(1), sessions.verify, sessions.scavenge):
            with pytest.raises(InvalidArgument, match="transaction"):
                call()
    with sessions.at(2) as view:
        assert ids(view.session().get_history()) == ids(session.get_history())
    assert sessions.verify().ok
