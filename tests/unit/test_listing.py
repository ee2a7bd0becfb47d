"""Listing sessions in windows while they change, and totals that need no sum."""

from __future__ import annotations

from eventstore import Session, Sessions
from eventstore.sessions import LIST_WINDOW
from tests.unit.talk import chain, message


def test_a_session_that_is_written_to_between_two_windows_is_listed_once(sessions: Sessions) -> None:
    names = [f"s{number}" for number in range(LIST_WINDOW + 2)]
    for name in names:
        sessions.session(name).append_message(message("a"))
    listing = sessions.list_sessions()
    listed = [next(listing).session_id for _ in range(LIST_WINDOW)]
    sessions.session(names[0]).append_message(message("b"))
    sessions.delete_session(names[1])
    listed += [info.session_id for info in listing]
    assert listed == [name for name in reversed(names) if name != names[1]]


def test_the_total_of_a_path_leaves_out_what_is_not_on_it(session: Session) -> None:
    chain(session, "a", "b", "c")  # all of one size
    whole = session.get_recent_history().total_content_bytes
    assert whole == session.info().bytes
    assert session.get_recent_history(leaf_id="b").total_content_bytes == whole * 2 // 3
    session.select_leaf("b")
    assert session.get_recent_history().total_content_bytes == whole * 2 // 3
    session.append_message(message("d"))
    assert session.get_recent_history().total_content_bytes == whole
    assert session.info().bytes == whole * 4 // 3
