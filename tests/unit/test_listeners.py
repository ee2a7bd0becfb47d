"""Listeners of one store: kept alive, heard in order, each for itself, whatever another does."""

from __future__ import annotations

import gc
import logging
from datetime import UTC, datetime
from typing import Any

import pytest

from eventstore import Appended, Event, MetadataChanged, Session, Sessions, Subscription, Updated
from eventstore.testing import json_text, same_json
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


def test_no_writer_can_spoil_what_a_listener_got(sessions: Sessions, session: Session) -> None:
    """What a call returns is the caller's, who may change it: a lone listener, too, has heard something else."""
    heard = Heard()
    sessions.subscribe(heard)
    now = datetime.now(UTC)
    given = [message(each, picture=[{"type": "file", "mediaType": "image/png", "data": "AAAA"}]) for each in "abcdef"]
    returned: list[Any] = [
        *(result.message for result in session.append_messages(given[:3])),
        session.append_message(given[3]).message,
        session.upsert_message(given[4]).message,
        session.import_message(given[5], parent_id=None, created_at=now).message,
        session.append_message(given[0]).message,  # as it is stored
        session.update_message({**given[0], "more": True}),
    ]
    before = [json_text(each) for each in returned]
    for each in returned:
        each["picture"].clear()
        each["parts"].append("spoilt")
    assert [json_text(event.to_dict()["message"]) for event in heard] == before


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
