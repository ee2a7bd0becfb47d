"""The feed and the log: cursors, transactions, and other stores of the same file. None lost, none twice, in order."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventstore import Appended, Event, ImportRow, InvalidArgument, Session, Sessions
from eventstore.testing import same_json
from tests.unit.talk import Heard, chain, ids, message

# ---- cursors


def test_a_subscription_begins_at_the_logs_head(sessions: Sessions, session: Session) -> None:
    chain(session, "a", "b")
    heard, replayed = Heard(), Heard()
    sessions.subscribe(heard)
    session.append_message(message("c"))
    sessions.subscribe(replayed, after=1)
    session.append_message(message("d"))
    assert heard.seqs == [3, 4]
    assert replayed.seqs == [2, 3, 4]
    assert same_json([event.to_dict() for event in replayed[1:]], [event.to_dict() for event in heard])


def test_every_cursor_gives_the_rest_of_the_log(sessions: Sessions) -> None:
    one, two = sessions.session("one"), sessions.session("two")
    for n in range(300):  # more than a window
        (one if n % 3 else two).append_message(message(f"m{n}"))
    of_one = [seq for seq in range(1, 301) if (seq - 1) % 3]
    for after in (0, 1, 2, 150, 255, 256, 257, 299, 300):
        assert [event.seq for event in sessions.events(after)] == list(range(after + 1, 301))
        assert [event.seq for event in one.events(after)] == [seq for seq in of_one if seq > after]
        everything, mine = Heard(), Heard()
        sessions.subscribe(everything, after=after)()
        one.subscribe(mine, after=after)()
        assert everything.seqs == list(range(after + 1, 301))
        assert mine.seqs == [seq for seq in of_one if seq > after]


@pytest.mark.parametrize("wrong", [-1, True, 1.5, "1", None])
def test_what_is_no_cursor_is_refused(sessions: Sessions, session: Session, wrong: Any) -> None:
    with pytest.raises(InvalidArgument, match="after"):
        sessions.events(wrong)
    with pytest.raises(InvalidArgument, match="after"):
        session.events(wrong)
    if wrong is not None:
        for subscribe in (sessions.subscribe, session.subscribe):
            with pytest.raises(InvalidArgument, match="after"):
                subscribe(Heard(), after=wrong)
    assert not sessions.changed.receivers


def test_events_are_read_up_to_the_newest_at_the_call(sessions: Sessions, session: Session) -> None:
    chain(session, "a", "b")
    reading, of_session = sessions.events(), session.events()
    seqs = []
    for event in reading:
        seqs.append(event.seq)
        session.append_message(message(f"m{event.seq}"))
    assert seqs == [1, 2]
    assert [event.seq for event in of_session] == [1, 2]
    assert sessions.latest_seq == 4


def test_the_log_of_what_was_erased(sessions: Sessions, session: Session) -> None:
    """Superseded bodies are told as the message stands, those of deleted messages as erased; nothing is left out."""
    session.append_messages([message("a", "one"), message("b", "one")])
    session.update_message(message("a", "two"))
    session.set_metadata({"title": "one"})
    session.set_metadata({"title": "two"})
    session.delete_messages(["b"])
    session.append_message(message("b", "another"))
    erased = {"id": "b", "role": "user", "parts": [{"type": "erased"}]}
    told: list[Any] = list(sessions.events())
    assert [event.type for event in told] == ["append", "append", "update", "metadata", "metadata", "delete", "append"]
    assert [event.erased for event in told] == [False, True, False, False, False, False, False]
    assert same_json(told[0].message, message("a", "two"))
    assert same_json(told[1].message, erased)
    assert told[3].metadata == {"title": "two"}
    assert same_json(told[6].message, message("b", "another"))
    sessions.delete_session("")
    told = list(session.events())
    assert [event.seq for event in told] == list(range(1, 9))
    assert [event.type for event in told if event.erased] == [
        "append",
        "append",
        "update",
        "metadata",
        "metadata",
        "append",
    ]
    assert told[3].metadata == {}
    assert same_json(told[6].message, erased)  # the id, not the words


def test_the_log_is_read_in_windows_of_bounded_bytes(sessions: Sessions, session: Session) -> None:
    session.append_messages([message(f"m{n}", "x" * 1_500_000) for n in range(8)])
    heard = Heard()
    sessions.subscribe(heard, after=0)
    assert heard.seqs == [event.seq for event in sessions.events()] == list(range(1, 9))


# ---- transactions


def test_events_of_a_transaction_come_after_it_in_order(sessions: Sessions, session: Session) -> None:
    heard, others = Heard(), sessions.session("other")
    sessions.subscribe(heard)
    with sessions.transaction():
        chain(session, "a", "b")
        others.append_message(message("x"))
        with sessions.transaction():
            session.update_message(message("a", "new"))
            session.delete_messages(["b"])
        session.set_metadata({"title": "t"})
        assert heard == []
        assert sessions.poll() == 0
        assert sessions.latest_seq == 6  # its own writes, to itself
    assert heard.types == ["append", "append", "append", "update", "delete", "metadata"]
    assert heard.seqs == [1, 2, 3, 4, 5, 6]
    told = heard[0]
    assert isinstance(told, Appended)
    assert told.message == message("a")  # as it was appended, though it was updated before anybody heard
    assert not heard[1].erased
    assert same_json([event.to_dict() for event in heard[2:]], [event.to_dict() for event in sessions.events(2)])


STEPS = st.recursive(
    st.sampled_from(("append", "many", "repeat", "update")),
    lambda inner: st.tuples(st.booleans(), st.lists(inner, max_size=4)),
    max_leaves=14,
)
"""A write, or a transaction (kept or not) of such steps."""


@settings(max_examples=60)
@given(st.lists(STEPS, max_size=5), st.booleans())
def test_after_nested_rollbacks_the_log_is_what_was_heard(steps: list[Any], listening_early: bool) -> None:
    with Sessions() as sessions:
        session = sessions.session()
        heard = Heard()
        if listening_early:
            sessions.subscribe(heard)
        names = iter(range(10_000))

        def take(step: Any) -> None:
            if step == "append":
                session.append_message(message(f"m{next(names)}"))
            elif step == "many":
                session.append_messages([message(f"m{next(names)}") for _ in range(3)])
            elif step == "repeat" and (leaf := session.get_latest_leaf()) is not None:
                session.append_message(leaf)
            elif step == "update" and (leaf := session.get_latest_leaf()) is not None:
                session.update_message(message(leaf["id"], f"text {next(names)}"))
            elif isinstance(step, tuple):
                kept, inner = step
                with suppress(ZeroDivisionError), sessions.transaction():
                    for each in inner:
                        take(each)
                    if not kept:
                        raise ZeroDivisionError

        for step in steps:
            take(step)
        written = [event for event in heard if not isinstance(event, Appended) or event.inserted]
        if listening_early:
            assert [event.seq for event in written] == [event.seq for event in sessions.events()]
            appended = [event.message["id"] for event in written if isinstance(event, Appended)]
            assert appended == ids(session.tree())
        assert [event.seq for event in sessions.events()] == list(range(1, sessions.latest_seq + 1))
        assert heard.seqs == sorted(heard.seqs)
        assert sessions.verify().ok


def test_a_transaction_of_more_events_than_are_held_in_memory(sessions: Sessions, session: Session) -> None:
    heard = Heard()
    sessions.subscribe(heard)
    with sessions.transaction():
        for n in range(700):
            session.append_message(message(f"m{n}"))
            if n in (100, 400, 600):
                session.append_message(message("m0"))
    repeated = [event for event in heard if isinstance(event, Appended) and not event.inserted]
    assert [event.seq for event in heard if event not in repeated] == list(range(1, 701))
    assert heard.seqs == sorted(heard.seqs)
    assert len(repeated) == 3


def test_subscribing_inside_a_transaction_hears_its_events_after_it(sessions: Sessions, session: Session) -> None:
    late, replayed = Heard(), Heard()
    session.append_message(message("a"))
    with sessions.transaction():
        session.append_message(message("b"))
        sessions.subscribe(late)
        session.subscribe(replayed, after=0)
        assert replayed.seqs == [1]
        session.append_message(message("c"))
    assert late.seqs == [2, 3]
    assert replayed.seqs == [1, 2, 3]
    session.append_message(message("d"))
    assert late.seqs == [2, 3, 4]
    assert replayed.seqs == [1, 2, 3, 4]


@contextmanager
def delivering(sessions: Sessions) -> Iterator[threading.Event]:
    """Another thread appends "a", and its listener answers once the event that is given is set."""
    inside, go_on = threading.Event(), threading.Event()

    def answer(event: Event) -> None:
        if event.session_id == "other" and not inside.is_set():
            inside.set()
            assert go_on.wait(10)
            sessions.session("answers").append_message(message("answer"))

    with sessions.subscribe(answer):
        thread = threading.Thread(target=sessions.session("other").append_message, args=(message("a"),))
        thread.start()
        assert inside.wait(10)
        try:
            yield go_on
        finally:
            go_on.set()
            thread.join()


@pytest.mark.parametrize("after", [None, 0, 1])
@pytest.mark.parametrize("kept", [True, False])
def test_a_transaction_does_not_wait_for_listeners_that_wait_for_it(
    sessions: Sessions, session: Session, after: int | None, kept: bool
) -> None:
    """A listener in another thread waits to write: subscribing inside a transaction waits for no delivery."""
    heard, closed = Heard(), Heard()
    session.append_message(message("before"))
    with delivering(sessions) as go_on, suppress(ZeroDivisionError), sessions.transaction():
        session.append_message(message("b"))
        go_on.set()
        subscription = sessions.subscribe(heard, after=after)
        sessions.subscribe(closed, after=after).close()
        assert sessions.poll() == 0
        assert heard == []
        session.append_message(message("c"))
        if not kept:
            raise ZeroDivisionError
    sessions.poll()
    written = ["before", "a", "b", "c", "answer"] if kept else ["before", "a", "answer"]
    assert [event.message["id"] for event in sessions.events() if isinstance(event, Appended)] == written
    seqs = list(range(1, len(written) + 1))
    assert heard.seqs == seqs[2 if after is None else after :]
    assert closed == []
    subscription.close()
    session.append_message(message("unheard"))
    assert len(heard) == len(seqs[2 if after is None else after :])


def test_subscribing_inside_a_transaction_that_fails_hears_nothing_of_it(sessions: Sessions, session: Session) -> None:
    heard = Heard()
    with suppress(ZeroDivisionError), sessions.transaction():
        session.append_message(message("a"))
        sessions.subscribe(heard, after=0)
        session.append_message(message("b"))
        raise ZeroDivisionError
    assert heard == []
    session.append_message(message("c"))
    assert heard.seqs == [1]


def test_batches_of_an_import_are_heard_as_they_are_committed(sessions: Sessions, session: Session) -> None:
    heard = Heard()
    sessions.subscribe(heard)
    counts: list[int] = []
    rows = (
        ImportRow(message(f"m{n}"), parent_id=f"m{n - 1}" if n else None, created_at=datetime(2026, 1, 1, tzinfo=UTC))
        for n in range(2_500)
    )
    session.import_messages(rows, progress=lambda _done, _total: counts.append(len(heard)))
    assert counts == [1_000, 2_000, 2_500]
    assert heard.seqs == list(range(1, 2_501))
    assert {event.type for event in heard} == {"import"}
