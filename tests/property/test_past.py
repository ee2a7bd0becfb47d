"""The past as it was seen: what was recorded when an event was the newest is what `at()` shows of it for ever.

With retention "all" to the letter; with "current" in the same shape, where each text is as it was or reads as erased.
The clock goes back, jumps and stands still meanwhile: no order may hang on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from eventstore import Session, Sessions, clock
from eventstore.reading import ReadableSession
from eventstore.testing import Write, json_text, writes

NAMES = ("", "other")
HISTORIES = st.lists(st.tuples(st.sampled_from(NAMES), writes(min_size=1, max_size=3)), min_size=1, max_size=5)
LEAPS = st.sampled_from((0, 0, 1, -1, 10**6, -(10**6), 10**14, -(10**14)))
ERASED = {"type": "erased"}
HALF = settings(max_examples=settings().max_examples // 3)  # each compares all of its past


@contextmanager
def leaping_clock(leaps: Iterator[int]) -> Iterator[None]:
    """A clock that moves by the next leap whenever it is asked."""
    now = 1_700_000_000_000_000

    def tell() -> int:
        nonlocal now
        now += next(leaps, 0)
        return now

    with patch.object(clock, "now", tell):
        yield


def seen(session: Session | ReadableSession, *, times: bool = True) -> Any:
    """What a session's reads say."""
    infos = [info.to_dict() for info in session.tree()]
    if not times:
        infos = [{key: value for key, value in info.items() if not key.endswith("_at")} for info in infos]
    return [
        infos,
        [leaf.id for leaf in session.get_leaves()],
        [session.get_history(leaf_id=leaf.id, compacted=False) for leaf in session.get_leaves()],
        [message["id"].partition("_")[0] for message in session.get_history()],
        [message["id"] for message in session.get_branches(None)],
        session.get_metadata(),
    ]


def apply(sessions: Sessions, history: list[tuple[str, list[Write]]]) -> Iterator[int]:
    """Performs a history; gives the newest event after each write."""
    for name, steps in history:
        for write in steps:
            write.apply(sessions.session(name))
            yield sessions.latest_seq


def placed(state: Any) -> Any:
    """A state without its texts."""
    infos, leaves, paths, shown, roots, _metadata = state
    return [infos, leaves, [[message["id"] for message in path] for path in paths], shown, roots]


@HALF
@given(st.sampled_from(("current", "all")), HISTORIES, st.lists(LEAPS, max_size=30))
def test_the_past_is_what_was_recorded_then(retain: Any, history: Any, leaps: list[int]) -> None:
    recorded: dict[int, dict[str, Any]] = {}
    with leaping_clock(iter(leaps)), Sessions(retain=retain) as sessions:
        for seq in apply(sessions, history):
            recorded[seq] = {name: seen(sessions.session(name)) for name in NAMES}
        for seq, states in recorded.items():
            with sessions.at(seq) as view:
                for name, state in states.items():
                    found = seen(view.session(name))
                    if retain == "all":
                        assert json_text(found) == json_text(state)
                        continue
                    assert json_text(placed(found)) == json_text(placed(state))
                    for path, was in zip(found[2], state[2], strict=True):
                        for message, before in zip(path, was, strict=True):
                            assert json_text(message) == json_text(before) or message["parts"] == [ERASED]
        assert sessions.verify().ok


@HALF
@given(HISTORIES, st.lists(LEAPS, min_size=1, max_size=30))
def test_no_clock_changes_what_is_read(history: Any, leaps: list[int]) -> None:
    """The same writes under a clock that stands still and under one that leaps read the same, apart from the times."""
    found = []
    for each in ([], leaps):
        with leaping_clock(iter(each)), Sessions() as sessions:
            list(apply(sessions, history))
            events = [[event.seq, event.type, event.session_id] for event in sessions.events()]
            listed = [info.session_id for info in sessions.list_sessions()]
            found.append(json_text([[seen(sessions.session(name), times=False) for name in NAMES], events, listed]))
            assert sessions.verify().ok
    assert found[0] == found[1]
