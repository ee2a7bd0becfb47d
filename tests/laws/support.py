"""What the laws ask of a store: all of its reads, and that it goes on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pytest

from eventstore import Event, Session, Sessions
from eventstore.testing import check_invariants, json_text
from tests.laws.verbs import VERBS, message

every_verb = pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
TRANSACTIONAL = {name: verb for name, verb in VERBS.items() if verb.in_transaction}
every_transactional_verb = pytest.mark.parametrize("verb", TRANSACTIONAL.values(), ids=TRANSACTIONAL)


class Stopped(Exception):
    """Raised by a test in the middle of a write or of a transaction."""


def reads(sessions: Sessions) -> str:
    """Everything that the public reads say about a store, as one text."""
    return json_text(
        [
            [
                info.to_dict(),
                [each.to_dict() for each in session.tree()],
                [leaf.id for leaf in session.get_leaves()],
                session.get_latest_leaf(),
                [session.get_history(leaf_id=leaf.id) for leaf in session.get_leaves()],
                session.get_recent_history(max_messages=2).to_dict(),
                session.token_estimate(),
            ]
            for info in sessions.list_sessions()
            for session in [sessions.session(info.session_id)]
        ]
    )


def types(events: Iterable[Event]) -> tuple[str, ...]:
    return tuple(event.type for event in events)


@contextmanager
def rolled_back(sessions: Sessions) -> Iterator[None]:
    """A transaction that an exception ends; the exception comes out of it."""
    try:
        with sessions.transaction():
            yield
            raise Stopped
    except Stopped:
        return
    pytest.fail("the transaction swallowed the exception")


def write_goes_on(session: Session) -> None:
    """The store is in order: the next write works, and everything holds."""
    session.append_message(message("the next one"))
    leaf = session.get_latest_leaf()
    assert leaf is not None
    assert leaf["id"] == "the next one"
    check_invariants(session.sessions)
