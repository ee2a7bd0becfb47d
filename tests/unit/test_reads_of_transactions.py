"""Iterators begun inside a transaction: rolled back, they give nothing more; the numbers they hold are others' then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from eventstore import InvalidArgument, Session, Sessions, reading
from eventstore import sessions as store_module
from tests.unit.talk import message

READS: dict[str, Callable[[Session], Iterator[Any]]] = {
    "history": lambda session: session.history_batches(batch_size=1),
    "newest first": lambda session: session.history_batches(batch_size=1, newest_first=True),
    "tree": lambda session: session.tree(),
    "events": lambda session: session.sessions.events(),
    "events of a session": lambda session: session.events(),
    "list_sessions": lambda session: session.sessions.list_sessions(),
}
every_read = pytest.mark.parametrize("read", READS.values(), ids=READS)


class Undone(Exception):
    """What ends a transaction."""


@contextmanager
def undone(sessions: Sessions) -> Iterator[None]:
    with suppress(Undone), sessions.transaction():
        yield
        raise Undone


@pytest.fixture(autouse=True)
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "TREE_WINDOW", 1)
    monkeypatch.setattr(store_module, "LIST_WINDOW", 1)
    monkeypatch.setattr("eventstore.replay.WINDOW_BYTES", 1)


def write(session: Session) -> None:
    """Five messages, and three sessions more."""
    session.append_messages([message(f"{session.session_id} {number}") for number in range(5)])
    for number in range(3):
        session.sessions.session(f"{session.session_id} {number}").append_message(message("m"))


def begun(session: Session, read: Any) -> Iterator[Any]:
    """A read of what is written here, of which one step is done."""
    write(session)
    reading_on: Iterator[Any] = read(session)
    next(reading_on)
    return reading_on


def gives_nothing_more(sessions: Sessions, reading_on: Iterator[Any]) -> None:
    """Also where another session has the numbers of what was undone."""
    write(sessions.session("of others"))
    with pytest.raises(InvalidArgument, match="rolled back since: begin it again"):
        next(reading_on)
    assert sessions.verify().ok


@every_read
def test_a_read_of_what_was_rolled_back_gives_nothing_more(sessions: Sessions, read: Any) -> None:
    with undone(sessions):
        reading_on = begun(sessions.session("mine"), read)
    gives_nothing_more(sessions, reading_on)


@every_read
def test_a_read_of_an_inner_transaction_that_was_rolled_back_gives_nothing_more(sessions: Sessions, read: Any) -> None:
    with sessions.transaction():
        sessions.session("before").append_message(message("m"))
        with undone(sessions):
            reading_on = begun(sessions.session("mine"), read)
    gives_nothing_more(sessions, reading_on)


@every_read
def test_a_read_of_an_inner_transaction_falls_with_the_outer_one(sessions: Sessions, read: Any) -> None:
    with undone(sessions):
        with sessions.transaction():
            reading_on = begun(sessions.session("mine"), read)
        with sessions.transaction():
            pass
    gives_nothing_more(sessions, reading_on)


@every_read
def test_a_read_of_what_was_committed_goes_on(sessions: Sessions, read: Any) -> None:
    with sessions.transaction():
        write(sessions.session("mine"))
        expected = list(read(sessions.session("mine")))
        outer = read(sessions.session("mine"))
        given = [next(outer)]
        with undone(sessions):
            write(sessions.session("not kept"))
        with sessions.transaction():
            inner = read(sessions.session("mine"))
            next(inner)
        with undone(sessions):
            write(sessions.session("not kept either"))
    assert [*given, *outer] == expected
    assert list(inner) == expected[1:]


@every_read
def test_a_read_from_before_goes_on(sessions: Sessions, read: Any) -> None:
    write(sessions.session("mine"))
    expected = list(read(sessions.session("mine")))
    reading_on = read(sessions.session("mine"))
    given = [next(reading_on)]
    with undone(sessions):
        write(sessions.session("not kept"))
        given.append(next(reading_on))
    assert [*given, *reading_on] == expected
