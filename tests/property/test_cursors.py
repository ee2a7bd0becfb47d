"""Readers with a cursor of their own: killed anywhere, behind by any number of events, and over whatever was purged."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventstore import (
    Appended,
    Cleared,
    Deleted,
    Event,
    Imported,
    Message,
    Session,
    SessionDeleted,
    Sessions,
    Updated,
)
from eventstore.testing import Write, json_text, writes
from projections import mirror
from tests.unit.talk import Heard

FILE = st.sampled_from(["current", "all"])
PURGES = st.sampled_from(["clear", "delete_session", "prune", "scavenge", "nothing"])


class Reader:
    """Keeps the messages by their ids, and its cursor, which is noted after what an event says is done."""

    def __init__(self) -> None:
        self.rows: dict[str, Message] = {}
        self.cursor = 0

    def read(self, session: Session, *, killed_at: int | None) -> None:
        """Reads on, up to the event behind which it is killed before it could note it (`None`: to the end)."""
        for event in session.events(after=self.cursor):
            self._do(event)
            if killed_at is not None and event.seq >= killed_at:
                return
            self.cursor = event.seq

    def _do(self, event: Event) -> None:
        match event:
            case Appended() | Imported() | Updated() if not event.erased:
                self.rows[event.message["id"]] = event.message
            case Deleted(message_ids=message_ids):
                for message_id in message_ids:
                    self.rows.pop(message_id, None)
            case Cleared() | SessionDeleted():
                self.rows.clear()
            case _:
                pass


@given(history=st.lists(st.tuples(writes(max_size=5), st.integers(0, 20)), max_size=4), retain=FILE)
def test_killed_before_it_notes_its_cursor_it_ends_with_what_is_there(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[list[Write], int]], retain: Any
) -> None:
    path = tmp_path_factory.mktemp("killed") / "store.db"
    with Sessions(path, durability="normal", retain=retain) as sessions:
        session, reader = sessions.session(), Reader()
        for written, killed_at in history:
            for write in written:
                write.apply(session)
            reader.read(session, killed_at=reader.cursor + killed_at)
        reader.read(session, killed_at=None)
        there = {info.id: session.get_message(info.id) for info in session.tree()}
        assert {key: json_text(row) for key, row in reader.rows.items()} == {
            key: json_text(each) for key, each in there.items()
        }


@given(before=writes(max_size=8), purge=PURGES, later=writes(max_size=4), retain=FILE)
def test_whatever_was_purged_every_cursor_gives_the_rest_of_the_log(
    tmp_path_factory: pytest.TempPathFactory, before: list[Write], purge: str, later: list[Write], retain: Any
) -> None:
    path = tmp_path_factory.mktemp("purged") / "store.db"
    with Sessions(path, durability="normal", retain=retain) as sessions:
        session = sessions.session()
        saved: list[tuple[int, list[Message]]] = [(0, [])]  # a list and its cursor, noted together
        rows: list[Message] = []
        mirror(session, rows)
        for write in before:
            write.apply(session)
            saved.append((sessions.latest_seq, list(rows)))
        _purge(sessions, session, purge)
        for write in later:
            write.apply(session)
        for cursor in range(sessions.latest_seq + 1):
            heard, rest = Heard(), list(range(cursor + 1, sessions.latest_seq + 1))
            sessions.subscribe(heard, after=cursor).close()
            assert heard.seqs == rest
            assert [event.seq for event in sessions.events(after=cursor)] == rest
            assert [event.seq for event in sessions.tail(after=cursor, timeout=0)] == rest
        for cursor, old in saved:
            mirror(session, old, after=cursor)
            assert json_text(old) == json_text(rows)


def _purge(sessions: Sessions, session: Session, how: str) -> None:
    match how:
        case "clear":
            session.clear_messages()
        case "delete_session":
            sessions.delete_session("")
        case "prune":
            sessions.prune(timedelta())
        case "scavenge":
            sessions.delete_session("")
            sessions.scavenge(vacuum=True)
        case _:
            pass
