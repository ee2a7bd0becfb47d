"""`follow` in sessions with many summaries, whose messages die, and whose ids come back."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventstore import Message, Session, Sessions
from tests.property.test_follow import follow_all

IDS = 14  # so few that they come again
NUMBERS = st.integers(0, 12)
Step: TypeAlias = tuple[Any, ...]

STEPS: Any = st.one_of(
    st.tuples(st.just("append"), st.none() | NUMBERS),
    st.tuples(st.just("delete"), st.lists(NUMBERS, min_size=1, max_size=4)),
    st.tuples(st.just("compact"), NUMBERS, st.integers(0, 5)),
    st.tuples(st.just("compact"), NUMBERS, st.integers(0, 5)),
    st.tuples(st.just("select"), NUMBERS),
    st.tuples(st.just("update"), NUMBERS),
    st.tuples(st.just("delete branch"), NUMBERS),
)


def message(message_id: str, turn: int) -> Message:
    return {"id": message_id, "role": "user", "parts": [{"type": "data", "data": turn}]}


def perform(session: Session, step: Step, turn: int) -> None:
    """One step, on whichever messages its numbers mean by now."""
    known = [info.id for info in session.tree()]
    match step:
        case ("append", int(number)) if known:
            session.append_message(message(f"m{turn % IDS}", turn), parent_id=known[number % len(known)])
        case ("append", _):
            session.append_message(message(f"m{turn % IDS}", turn))
        case _ if not known:
            pass
        case ("delete", numbers):
            session.delete_messages([known[number % len(known)] for number in numbers])
        case ("delete branch", number):
            session.delete_branch(known[number % len(known)])
        case ("select", number):
            session.select_leaf(known[number % len(known)])
        case ("update", number):
            session.update_message(message(known[number % len(known)], turn))
        case (_, number, length):
            shown = [each["id"] for each in session.get_history()]
            first = number % len(shown)
            session.add_compaction(f"summary {turn}", shown[first], shown[min(first + length, len(shown) - 1)])


@settings(max_examples=35)
@given(steps=st.lists(STEPS, min_size=8, max_size=40), polls=st.sets(st.integers(6, 46)))
def test_lists_are_the_history(tmp_path_factory: pytest.TempPathFactory, steps: list[Step], polls: set[int]) -> None:
    path: Path = tmp_path_factory.mktemp("overlays") / "store.db"
    with Sessions(path, durability="normal") as writer, Sessions(path) as reader:
        session = writer.session()
        session.append_messages([message(f"m{turn}", turn) for turn in range(6)])
        here, there = follow_all(session), follow_all(reader.session())
        for turn, step in enumerate(steps, 6):
            perform(session, step, turn)
            for each in here:
                each.check()
            if turn in polls:
                reader.poll()
                for each in there:
                    each.check()
        reader.poll()
        for each in there:
            each.check()
