"""The end of a store: what closing does, what can't be asked any more, and what it can't be closed in."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from eventstore import (
    InvalidArgument,
    Sessions,
    StoreClosed,
)
from tests.unit.talk import chain, ids, message


def test_no_use_after_close(path: Path) -> None:
    sessions = Sessions(path)
    session = sessions.session()
    chain(session, "a", "b")
    reading, tree, events = session.history(), session.tree(), sessions.events()
    view = sessions.at(2)
    sessions.close()
    sessions.close()
    for call in (
        lambda: sessions.latest_seq,
        lambda: sessions.list_sessions(),
        lambda: sessions.events(),
        lambda: sessions.poll(),
        lambda: sessions.at(0),
        lambda: sessions.verify(),
        lambda: sessions.rebuild(),
        lambda: sessions.scavenge(),
        lambda: sessions.prune(timedelta()),
        lambda: sessions.prune(timedelta(), dry_run=True),
        lambda: sessions.backup(path.with_name("copy.db")),
        lambda: sessions.transaction().__enter__(),
        lambda: sessions.subscribe(print),
        lambda: sessions.subscribe(print, after=0),
        lambda: session.subscribe(print),
        lambda: session.get_history(),
        lambda: session.history(),
        lambda: session.tree(),
        lambda: session.events(),
        lambda: session.info(),
        lambda: session.get_message("a"),
        lambda: session.append_message(message("c")),
        lambda: next(reading),
        lambda: next(tree),
        lambda: next(events),
        lambda: view.session().get_history(),
        lambda: list(view.list_sessions()),
    ):
        with pytest.raises(StoreClosed, match="closed"):
            call()
    view.close()
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
    with pytest.raises(StoreClosed):
        list(view.list_sessions())


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
