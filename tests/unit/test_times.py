"""Times: aware, in UTC on reads, to the microsecond; and no order that hangs on them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventstore import ImportRow, InvalidArgument, Session, Sessions, clock
from eventstore.testing.values import times
from tests.unit.talk import Heard, ids, message

ZONE = timezone(timedelta(hours=5, minutes=45))


class Nowhere(tzinfo):
    """A zone that doesn't know its offset: its times are as good as naive."""

    def __repr__(self) -> str:
        return "Nowhere()"  # part of a test's name, which has to be the same in every process

    def utcoffset(self, when: datetime | None) -> None:
        return None

    def dst(self, when: datetime | None) -> None:
        return None

    def tzname(self, when: datetime | None) -> str:
        return "nowhere"


class Clock:
    """A clock that a test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.microseconds = 1_000_000_000_000_000
        monkeypatch.setattr(clock, "now", lambda: self.microseconds)


@given(times() | st.sampled_from((datetime.min, datetime.max)).map(lambda when: when.replace(tzinfo=UTC)))
def test_a_given_time_comes_back_as_the_same_moment_in_utc(when: datetime) -> None:
    with Sessions() as sessions:
        session = sessions.session()
        heard = Heard()
        sessions.subscribe(heard)
        session.import_message(message("a"), parent_id=None, created_at=when)
        session.import_messages([ImportRow(message("b"), parent_id="a", created_at=when)])
        for info in session.tree():
            assert info.created_at == info.updated_at == when
            assert info.created_at.tzinfo is UTC
        for event in (*heard, *sessions.events()):
            assert event.created_at == when
            assert event.created_at.tzinfo is event.recorded_at.tzinfo is UTC
            assert event.to_dict()["created_at"] == when.astimezone(UTC).isoformat()


@pytest.mark.parametrize(
    "when",
    [
        datetime(2026, 1, 1),
        datetime(2026, 1, 1, tzinfo=Nowhere()),
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))),
        datetime.min.replace(tzinfo=ZONE),
        "2026-01-01T00:00:00Z",
        1_767_225_600,
        None,
    ],
    ids=repr,
)
def test_any_other_time_is_refused(sessions: Sessions, session: Session, when: Any) -> None:
    with pytest.raises(InvalidArgument, match="created_at"):
        session.import_message(message("a"), parent_id=None, created_at=when)
    with pytest.raises(InvalidArgument, match="created_at"):
        session.import_messages([ImportRow(message("a"), parent_id=None, created_at=when)])
    assert sessions.latest_seq == 0


def test_the_stores_own_times_are_now(session: Session) -> None:
    before = datetime.now(UTC)
    session.append_message(message("a"))
    session.update_message(message("a", "new"))
    info = session.get_message_info("a")
    assert info is not None
    assert before <= info.created_at <= info.updated_at <= datetime.now(UTC)
    assert session.info().created_at == info.created_at
    assert session.info().updated_at == info.updated_at


def test_a_clock_that_goes_back_changes_no_order(
    sessions: Sessions, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    time = Clock(monkeypatch)
    heard = Heard()
    sessions.subscribe(heard)
    for number, name in enumerate("abcdef"):
        time.microseconds -= 3_600_000_000
        session.append_message(message(name))
        sessions.session(name).append_message(message(name))
        if number == 3:
            session.append_message(message("branch"), parent_id="a")
    session.select_leaf("e")
    time.microseconds -= 1
    session.update_message(message("a", "new"))
    assert ids(session.get_history()) == ["a", "branch", "e"]
    assert ids(session.get_branches("a")) == ["b", "branch"]
    assert ids(session.get_leaves()) == ["f", "d"]
    assert heard.seqs == list(range(1, sessions.latest_seq + 1))
    assert [info.session_id for info in sessions.list_sessions()] == ["", *"fedcba"]
    info = session.get_message_info("a")
    assert info is not None
    assert info.updated_at < info.created_at
    assert sessions.verify().ok


def test_a_hundred_messages_of_one_moment_keep_their_order(
    sessions: Sessions, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    Clock(monkeypatch)
    names = [f"m{number}" for number in range(100)]
    for name in names:
        session.append_message(message(name))
    assert ids(session.get_history()) == names
    paged: list[str] = []
    before = None
    while found := session.get_recent_history(max_messages=7, before=before).messages:
        paged = ids(found) + paged
        before = found[0]["id"]
        if before == names[0]:
            break
    assert paged == names


def test_given_times_order_nothing(sessions: Sessions, session: Session) -> None:
    """Of the future and of 1970: paths, children and recency follow the writes."""
    far, near = datetime(2999, 1, 1, tzinfo=UTC), datetime(1970, 1, 1, tzinfo=UTC)
    session.import_message(message("root"), parent_id=None, created_at=far)
    session.import_message(message("first"), parent_id="root", created_at=far)
    session.import_message(message("second"), parent_id="root", created_at=near)
    assert ids(session.get_branches("root")) == ["first", "second"]
    assert ids(session.get_history()) == ["root", "second"]
    sessions.session("old").import_message(message("a"), parent_id=None, created_at=near)
    assert [info.session_id for info in sessions.list_sessions()] == ["old", ""]
    assert sessions.session("old").info().updated_at > far - timedelta(days=366 * 1_000)
