"""`prune()`: sessions that nobody has written to for long go, by their last write and by nothing else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from eventstore import InvalidArgument, ReadOnlyStore, Sessions, clock
from tests.laws.support import rolled_back
from tests.unit.talk import Heard, message

DAY = timedelta(days=1)
LONG_AGO = datetime(2001, 1, 1, tzinfo=UTC)


@pytest.fixture
def days(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The present, in days from an hour ago on: tests move it."""
    passed, start = [0], clock.now()
    monkeypatch.setattr(clock, "now", lambda: start + passed[0] * 86_400_000_000)
    return passed


def _names(found: Any) -> list[str]:
    return [info.session_id for info in found]


def test_the_longest_idle_go_first_and_are_told(sessions: Sessions, days: list[int]) -> None:
    for day, name in enumerate(("old", "older than it looks", "young")):
        days[0] = day
        sessions.session(name).append_message(message("a"))
    days[0] = 10
    sessions.session("old").set_metadata({"title": "written to again"})
    heard = Heard()
    sessions.subscribe(heard)
    expected = sessions.session("older than it looks").info(), sessions.session("young").info()
    assert sessions.prune(8 * DAY, dry_run=True) == [expected[0]]
    assert sessions.prune(7 * DAY, dry_run=True) == list(expected)
    assert heard == []
    assert tuple(sessions.prune(7 * DAY)) == expected
    assert [(event.type, event.session_id) for event in heard] == [
        ("delete_session", "older than it looks"),
        ("delete_session", "young"),
    ]
    assert _names(sessions.list_sessions()) == ["old"]
    assert sessions.prune(7 * DAY) == []
    assert sessions.verify().ok


def test_what_was_just_imported_stays(sessions: Sessions, days: list[int]) -> None:
    sessions.session().import_message(message("a"), parent_id=None, created_at=LONG_AGO)
    days[0] = 1
    assert sessions.prune(DAY) == [], "idle for as long isn't idle for longer"
    assert _names(sessions.prune(DAY - timedelta(microseconds=1))) == [""]


def test_all_of_it_is_one_with_a_transaction(sessions: Sessions, days: list[int]) -> None:
    sessions.session("a").append_message(message("a"))
    days[0] = 2
    with rolled_back(sessions):
        assert _names(sessions.prune(DAY)) == ["a"]
        assert _names(sessions.list_sessions()) == []
    assert _names(sessions.list_sessions()) == ["a"]


def test_one_that_is_written_to_meanwhile_stays(path: Path, days: list[int]) -> None:
    with Sessions(path) as sessions, Sessions(path) as other:
        for name in "abc":
            sessions.session(name).append_message(message("a"))
        days[0] = 2

        def listener(event: Any) -> None:
            if event.session_id == "a":
                other.session("b").append_message(message("b"))

        sessions.subscribe(listener)
        assert _names(sessions.prune(DAY)) == ["a", "c"]
        assert _names(sessions.list_sessions()) == ["b"]


@pytest.mark.parametrize("wrong", [timedelta(microseconds=-1), 5, None, "90d"])
def test_what_is_no_length_of_time_is_refused(sessions: Sessions, wrong: Any) -> None:
    with pytest.raises(InvalidArgument, match="timedelta"):
        sessions.prune(wrong)


def test_the_longest_length_of_time_is_one(sessions: Sessions) -> None:
    sessions.session().append_message(message("a"))
    assert sessions.prune(timedelta.max) == []


def test_a_read_only_store_tells_and_deletes_nothing(store: Path) -> None:
    with Sessions(store, read_only=True) as sessions:
        assert _names(sessions.prune(timedelta(), dry_run=True)) == [""]
        with pytest.raises(ReadOnlyStore):
            sessions.prune(timedelta.max)
