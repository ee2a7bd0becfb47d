"""Listeners that write: their events follow, need no stack, and a repeated append is told but not logged."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from eventstore import Appended, Event, Session, Sessions
from tests.unit.talk import Heard, chain, ids, message


def test_what_a_listener_writes_follows_once_all_have_heard(sessions: Sessions, session: Session) -> None:
    first, last = Heard(), Heard()

    def answer(event: Event) -> None:
        if isinstance(event, Appended) and event.message["role"] == "user":
            reply: Any = message(f"re {event.message['id']}") | {"role": "assistant"}
            session.append_message(reply, parent_id=event.message["id"])

    sessions.subscribe(first)
    sessions.subscribe(answer)
    sessions.subscribe(last)
    session.append_message(message("a"))
    with sessions.transaction():
        session.append_message(message("b"))
        session.append_message(message("c"))
    assert first.seqs == last.seqs == [1, 2, 3, 4, 5, 6]
    assert [event.message["id"] for event in last if isinstance(event, Appended)] == [
        "a", "re a", "b", "c", "re b", "re c",
    ]  # fmt: skip


def test_a_chain_of_two_thousand_writes_in_listeners_needs_no_stack(sessions: Sessions, session: Session) -> None:
    heard = Heard()

    def go_on(event: Event) -> None:
        if event.seq < 2_000:
            session.append_message(message(str(event.seq + 1)))

    sessions.subscribe(go_on)
    sessions.subscribe(heard)
    session.append_message(message("1"))
    assert heard.seqs == list(range(1, 2_001))
    assert ids(session.get_history()) == [str(n) for n in range(1, 2_001)]


def test_a_listener_may_read_and_open_a_transaction(sessions: Sessions, session: Session) -> None:
    seen: list[list[str]] = []

    def listener(event: Event) -> None:
        seen.append(ids(session.get_history()))
        if event.seq == 1:
            with sessions.transaction():
                session.append_message(message("b"))
                assert sessions.poll() == 0
                session.append_message(message("c"))

    sessions.subscribe(listener)
    session.append_message(message("a"))
    assert seen == [["a"], ["a", "b", "c"], ["a", "b", "c"]]


def test_a_listener_that_polls_gets_nothing_and_ends(sessions: Sessions, session: Session) -> None:
    """What it would wait for is its own delivery, which goes on when it returns."""
    polled: list[int] = []
    heard = Heard()
    sessions.subscribe(lambda _event: polled.append(sessions.poll()))
    sessions.subscribe(heard)
    chain(session, "a", "b")
    assert polled == [0, 0]
    assert heard.seqs == [1, 2]


def test_a_listener_whose_own_write_is_rolled_back_is_told_nothing_of_it(sessions: Sessions, session: Session) -> None:
    heard = Heard()

    def listener(event: Event) -> None:
        heard(event)
        if event.seq == 1:
            with suppress(ZeroDivisionError), sessions.transaction():
                session.append_message(message("never"))
                raise ZeroDivisionError

    sessions.subscribe(listener)
    session.append_message(message("a"))
    session.append_message(message("b"))
    assert heard.seqs == [1, 2]
    assert ids(session.get_history()) == ["a", "b"]


def test_a_listener_that_closes_the_store_ends_it_quietly(place: str) -> None:
    sessions = Sessions(place)
    heard = Heard()
    sessions.subscribe(lambda _event: sessions.close())
    sessions.subscribe(heard)
    assert sessions.session().append_message(message("a")).inserted
    assert heard.seqs == [1]


# ---- a repeated append


def test_a_repeated_append_is_told_with_the_last_seq_and_is_in_no_log(sessions: Sessions, session: Session) -> None:
    heard = Heard()
    chain(session, "a", "b")
    sessions.subscribe(heard)
    session.append_message(message("c"))
    repeated = session.append_message(message("a", "another text"))
    assert (repeated.inserted, repeated.seq, repeated.message) == (False, None, message("a"))
    told = heard[-1]
    assert isinstance(told, Appended)
    assert (told.seq, told.inserted, told.message, told.parent_id) == (3, False, message("a"), None)
    session.append_message(message("d"))
    assert heard.seqs == [3, 3, 4]
    assert [event.seq for event in sessions.events()] == [1, 2, 3, 4]


def test_repeated_appends_in_a_transaction_come_behind_what_was_written_before_them(
    sessions: Sessions, session: Session
) -> None:
    heard = Heard()
    sessions.subscribe(heard)
    with sessions.transaction():
        session.append_message(message("a"))
        session.append_message(message("a"))
        session.append_message(message("b"))
        session.append_messages([message("a"), message("c"), message("c")])
    assert [(event.seq, getattr(event, "inserted", None)) for event in heard] == [
        (1, True), (1, False), (2, True), (2, False), (3, True), (3, False),
    ]  # fmt: skip
