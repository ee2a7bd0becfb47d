"""`changed`, the store's own blinker signal: senders, mutes, weak receivers, and one store apart from another."""

from __future__ import annotations

import gc
from typing import Any

from blinker import ANY, Signal

from eventstore import Event, Session, Sessions
from tests.unit.talk import Heard, chain, message


class Receiver:
    """What blinker calls: the sessions and events that it was called with."""

    def __init__(self) -> None:
        self.senders: list[Session] = []
        self.events: list[Event] = []

    def take(self, sender: Session, *, event: Event) -> None:
        self.senders.append(sender)
        self.events.append(event)

    @property
    def seqs(self) -> list[int]:
        return [event.seq for event in self.events]


def test_it_is_a_signal_of_the_stores_own(sessions: Sessions) -> None:
    assert isinstance(sessions.changed, Signal)
    assert sessions.changed is sessions.changed
    with Sessions() as other:
        assert sessions.changed is not other.changed
        receiver = Receiver()
        other.changed.connect(receiver.take)
        sessions.session().append_message(message("a"))
        assert receiver.events == []


def test_receivers_are_called_with_the_session_and_the_event(sessions: Sessions) -> None:
    receiver = Receiver()
    sessions.changed.connect(receiver.take)
    one, two = sessions.session("one"), sessions.session("two")
    one.append_message(message("a"))
    two.append_message(message("a"))
    assert receiver.seqs == [1, 2]
    assert receiver.senders[0] is one
    assert receiver.senders[1] is two


def test_receivers_of_one_sender_hear_that_session(sessions: Sessions) -> None:
    one, two = sessions.session("one"), sessions.session("two")
    of_one, of_both, of_any = Receiver(), Receiver(), Receiver()
    sessions.changed.connect(of_one.take, sender=one)
    sessions.changed.connect(of_both.take, sender=one)
    sessions.changed.connect(of_both.take, sender=two)
    sessions.changed.connect(of_any.take, sender=ANY)
    for session in (one, two, sessions.session("three"), one):
        session.append_message(message(f"m{sessions.latest_seq}"))
    assert of_one.seqs == [1, 4]
    assert of_both.seqs == [1, 2, 4]
    assert of_any.seqs == [1, 2, 3, 4]
    sessions.changed.disconnect(of_both.take, sender=one)
    sessions.changed.disconnect(of_any.take)
    one.append_message(message("later"))
    two.append_message(message("later"))
    assert (of_one.seqs[-1], of_both.seqs[-1], of_any.seqs[-1]) == (5, 6, 4)


def test_a_decorated_function_hears_its_sender(sessions: Sessions, session: Session) -> None:
    heard: list[int] = []

    @sessions.changed.connect_via(session)
    def receiver(_sender: Session, *, event: Event) -> None:
        heard.append(event.seq)

    chain(session, "a", "b")
    sessions.session("other").append_message(message("a"))
    assert heard == [1, 2]


def test_a_weak_receiver_goes_with_its_owner_as_blinker_has_it(sessions: Sessions, session: Session) -> None:
    heard: list[int] = []

    def weak(_sender: Session, *, event: Event) -> None:
        heard.append(event.seq)

    sessions.changed.connect(weak)
    session.append_message(message("a"))
    del weak
    gc.collect()
    session.append_message(message("b"))
    assert heard == [1]


def test_nobody_hears_what_is_muted_and_it_does_not_come_later(sessions: Sessions, session: Session) -> None:
    receiver, heard = Receiver(), Heard()
    sessions.changed.connect(receiver.take)
    sessions.subscribe(heard)
    session.append_message(message("a"))
    with sessions.changed.muted():
        chain(session, "b", "c")
    session.append_message(message("d"))
    assert receiver.seqs == heard.seqs == [1, 4]
    assert [event.seq for event in sessions.events()] == [1, 2, 3, 4]


def test_receivers_connected_for_a_block_hear_what_is_written_in_it(sessions: Sessions, session: Session) -> None:
    receiver = Receiver()
    session.append_message(message("a"))
    with sessions.changed.connected_to(receiver.take, sender=session):
        session.append_message(message("b"))
    session.append_message(message("c"))
    assert receiver.seqs == [2]


def test_a_receiver_that_raises_or_leaves_stops_nobody(sessions: Sessions, session: Session) -> None:
    before, after = Receiver(), Receiver()

    def failing(_sender: Session, **_rest: Any) -> None:
        sessions.changed.disconnect(failing)
        raise ZeroDivisionError

    sessions.changed.connect(before.take)
    sessions.changed.connect(failing)
    sessions.changed.connect(after.take)
    chain(session, "a", "b")
    assert before.seqs == after.seqs == [1, 2]


def test_receivers_and_listeners_share_one_order(sessions: Sessions, session: Session) -> None:
    order: list[str] = []
    receivers: list[Any] = [lambda _sender, *, event, name=name: order.append(name) for name in "ac"]
    sessions.changed.connect(receivers[0])
    sessions.subscribe(lambda _event: order.append("b"))
    sessions.changed.connect(receivers[1])
    session.append_message(message("a"))
    assert order == ["a", "b", "c"]
