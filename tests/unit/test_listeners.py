"""Listeners of one store: kept alive, heard in order, each for itself, whatever another does."""

from __future__ import annotations

import gc
import logging
from contextlib import suppress
from typing import Any

import pytest

from eventstore import Appended, Event, MetadataChanged, Session, Sessions, Subscription, Updated
from eventstore.testing import same_json
from tests.unit.talk import Heard, chain, ids, message


class Collecting:
    """An object whose method listens, and that nobody else holds."""

    def __init__(self, into: list[int]) -> None:
        self._into = into

    def take(self, event: Event) -> None:
        self._into.append(event.seq)


def test_a_lambda_a_closure_and_a_bound_method_stay_alive(sessions: Sessions, session: Session) -> None:
    heard: list[int] = []

    def subscribe_inside() -> None:
        def closure(event: Event) -> None:
            heard.append(event.seq)

        sessions.subscribe(lambda event: heard.append(event.seq))
        sessions.subscribe(closure)
        session.subscribe(Collecting(heard).take)

    subscribe_inside()
    gc.collect()
    session.append_message(message("a"))
    assert heard == [1, 1, 1]


def test_the_same_listener_twice_hears_twice_and_each_handle_ends_one(sessions: Sessions, session: Session) -> None:
    heard = Heard()
    first, _second = sessions.subscribe(heard), sessions.subscribe(heard)
    session.append_message(message("a"))
    assert heard.seqs == [1, 1]
    first.close()
    first()  # ending it again is no error
    session.append_message(message("b"))
    assert heard.seqs == [1, 1, 2]


def test_a_subscription_ends_by_call_by_close_and_with_its_block(sessions: Sessions, session: Session) -> None:
    heard = Heard()
    sessions.subscribe(heard)()
    sessions.subscribe(heard).close()
    with sessions.subscribe(heard):
        session.append_message(message("a"))
    session.append_message(message("b"))
    assert heard.seqs == [1]


def test_listeners_of_a_session_hear_it_alone(sessions: Sessions) -> None:
    one, two, all_of_them = Heard(), Heard(), Heard()
    sessions.session("one").subscribe(one)
    sessions.session("two").subscribe(two)
    sessions.subscribe(all_of_them)
    for name in ("one", "two", "three", "one"):
        sessions.session(name).append_message(message(f"{name}{sessions.latest_seq}"))
    assert (one.seqs, two.seqs, all_of_them.seqs) == ([1, 4], [2], [1, 2, 3, 4])


def test_listeners_are_called_in_the_order_of_their_coming(sessions: Sessions, session: Session) -> None:
    order: list[str] = []
    subscriptions = [sessions.subscribe(lambda _event, n=n: order.append(n)) for n in "fedcba"]  # type: ignore[misc]
    session.append_message(message("a"))
    assert order == list("fedcba")
    subscriptions[1].close()
    session.append_message(message("b"))
    assert order[6:] == list("fdcba")


# ---- one that raises, one that spoils, one that interrupts


def test_one_that_raises_is_logged_and_the_others_hear(
    sessions: Sessions, session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    before, after = Heard(), Heard()

    def failing(event: Event) -> None:
        raise LookupError(f"no use for {event.type}")

    sessions.subscribe(before)
    sessions.subscribe(failing)
    sessions.subscribe(after)
    with caplog.at_level(logging.ERROR, "eventstore"):
        result = session.append_message(message("a"))
        session.append_message(message("b"))
    assert result.inserted
    assert before.seqs == after.seqs == [1, 2]
    assert [record.name for record in caplog.records] == ["eventstore"] * 2
    assert "no use for append" in (caplog.records[0].exc_text or "")


def body(event: Event) -> Any:
    """What an event tells, as it is: a listener's own to change."""
    if isinstance(event, MetadataChanged):
        return event.metadata
    assert isinstance(event, (Appended, Updated))
    return event.message


def test_no_listener_can_spoil_what_another_gets(sessions: Sessions, session: Session) -> None:
    """Each has a copy of its own: not the writer's, not the others', not what is stored."""
    heard = Heard()

    def spoil(event: Event) -> None:
        told = body(event)
        told["spoilt"] = {1, 2}
        told.pop("parts", None)

    sessions.subscribe(spoil)
    sessions.subscribe(heard)
    session.subscribe(spoil)
    session.subscribe(heard)
    given = message("a", "as given", metadata={"n": [1]})
    returned = session.append_message(given).message
    updated = session.update_message(message("a", "updated"))
    session.set_metadata({"title": "given"})
    assert same_json(given, message("a", "as given", metadata={"n": [1]}))
    assert same_json(returned, given)
    assert same_json(updated, message("a", "updated"))
    assert same_json(session.get_history(), [message("a", "updated")])
    assert same_json(session.get_metadata(), {"title": "given"})
    bodies = [event.metadata if isinstance(event, MetadataChanged) else event.message for event in heard]  # type: ignore[attr-defined]
    assert same_json(
        bodies, [given, given, message("a", "updated"), message("a", "updated"), *[{"title": "given"}] * 2]
    )


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_inside_one_reaches_the_writer_and_costs_the_others_nothing(
    sessions: Sessions, session: Session, interrupt: type[BaseException]
) -> None:
    before, after = Heard(), Heard()

    def interrupted(event: Event) -> None:
        if event.seq in (2, 4):
            raise interrupt

    for listener in (before, interrupted, after):
        sessions.subscribe(listener)
    session.append_message(message("a"))
    with pytest.raises(interrupt):
        session.append_message(message("b"))
    assert after.seqs == [1, 2]
    session.append_message(message("c"))
    with pytest.raises(interrupt), sessions.transaction():
        chain(session, "d", "e", "f")
    assert ids(session.tree()) == list("abcdef")  # what it interrupted was committed
    sessions.poll()
    assert before.seqs == after.seqs == [1, 2, 3, 4, 5, 6]


# ---- one that changes who listens


def test_one_that_ends_itself_hears_that_event_last(sessions: Sessions, session: Session) -> None:
    heard, others = Heard(), Heard()

    def once(event: Event) -> None:
        heard(event)
        subscription.close()

    subscription = sessions.subscribe(once)
    sessions.subscribe(others)
    chain(session, "a", "b")
    assert (heard.seqs, others.seqs) == ([1], [1, 2])


def test_one_that_ends_another_keeps_the_event_from_it(sessions: Sessions, session: Session) -> None:
    """No event comes after a subscription was closed, not even the one that is being delivered."""
    heard, others = Heard(), Heard()
    sessions.subscribe(lambda _event: victim.close())
    victim: Subscription = sessions.subscribe(heard)
    sessions.subscribe(others)
    session.append_message(message("a"))
    assert (heard.seqs, others.seqs) == ([], [1])


def test_one_that_subscribes_another_gives_it_what_comes_after(sessions: Sessions, session: Session) -> None:
    heard = Heard()

    def recruit(event: Event) -> None:
        if event.seq == 2:
            sessions.subscribe(heard)

    sessions.subscribe(recruit)
    chain(session, "a", "b", "c", "d")
    assert heard.seqs == [3, 4]


def test_one_that_subscribes_another_with_a_cursor_gives_it_all(sessions: Sessions, session: Session) -> None:
    heard = Heard()

    def recruit(event: Event) -> None:
        if event.seq == 3:
            sessions.subscribe(heard, after=1)

    sessions.subscribe(recruit)
    chain(session, "a", "b", "c", "d", "e")
    session.append_message(message("f"))
    assert heard.seqs == [2, 3, 4, 5, 6]


# ---- one that writes


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
