"""A caller that goes on inside a transaction in which a call failed: all of it is there in the end, or nothing is.

SQLite rolls a whole transaction back by itself when a read in it fails, or the rollback of a savepoint. What comes
behind that must not become a transaction of its own, nor begin with what was kept of the one that is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path

from eventstore import Session, Sessions
from eventstore.testing import json_text
from tests.crash.faults import Failing, Stores, failing_stores, go_on, outcome
from tests.laws.verbs import LONG, message

LARGE = 60  # messages: more than SQLite keeps of a savepoint in memory, and than it reads in one call


class Undone(Exception):
    """Ends a savepoint."""


def _append(session: Session) -> list[str]:
    session.append_message(message("one"))
    return ["one"]


def _read(session: Session) -> list[str]:
    session.sessions.session("large").get_history()
    return []


def _append_many(session: Session) -> list[str]:
    session.append_messages([message("two"), message("three")])
    return ["two", "three"]


def _change(session: Session) -> list[str]:
    session.sessions.session("large").set_metadata({"title": "changed"})
    with session.sessions.transaction():
        session.update_message(message("first", LONG + "and more"))
        session.append_message(message("four"))
    return ["four"]


def _undo(session: Session) -> list[str]:
    large = session.sessions.session("large")
    for number in range(LARGE):
        large.update_message(message(f"m{number}", "changed" + LONG))
    with suppress(Undone), session.sessions.transaction():
        for number in range(LARGE):
            large.update_message(message(f"m{number}", "undone" + LONG))
        raise Undone
    return []


def _append_last(session: Session) -> list[str]:
    session.append_message(message("five"))
    return ["five"]


STEPS: tuple[Callable[[Session], list[str]], ...] = (_append, _read, _append_many, _change, _undo, _append_last)


def every_call(
    path: Path, way: int, *, lasting: bool = False, first: int = 1, step: int = 1, stores: Stores = failing_stores
) -> int:
    """Each call of the transaction fails in its turn. Gives how many did."""
    with stores(path) as (failing, sessions, other):
        other.session("large").append_messages([message(f"m{number}", LONG) for number in range(LARGE)])
        for number in count(first, step):
            other.session(f"{number}").append_message(message("first", LONG))  # nothing is in the store's cache
            if not _one_transaction(failing, sessions.session(f"{number}"), other, number, way, lasting=lasting):
                assert other.verify().ok
                return number - 1
    raise AssertionError("unreachable")


def _one_transaction(
    failing: Failing, session: Session, other: Sessions, number: int, way: int, *, lasting: bool
) -> bool:
    expected = ["first"]

    def stubborn() -> None:
        with session.sessions.transaction():
            for each in STEPS:
                expected.extend(outcome(lambda: each(session)).value or [])  # noqa: B023

    failing.fail(number, way, lasting=lasting)
    found = outcome(stubborn)
    hit = failing.mend()
    there = [each["id"] for each in other.session(session.session_id).get_history()]
    assert there == (expected if found.error is None else ["first"]), (there, expected, found)
    assert "undone" not in json_text(other.session("large").get_history())
    go_on(session, other)
    return hit
