"""A batch does what its messages do one by one: every row of the file, every event, every answer and every error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from typing import Any
from unittest.mock import patch

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st

from eventstore import (
    LATEST,
    UNCHECKED,
    AppendResult,
    EventStoreError,
    ImportRow,
    Session,
    Sessions,
    Source,
    clock,
    deltas,
    drafting,
    estimate_tokens,
)
from eventstore.testing import json_text
from tests.property.odd_batches import WHEN, Lazy, Number, batches, each_odd_message, one_dict
from tests.unit.talk import Heard, canonical, message

NOW = 1_767_225_600_000_000
LEAF = object()  # expected is the one that is there
ODD_COUNTS: dict[str, Any] = {"true": True, "number": Number(7), "float": 1.5, "none": None, "minus": -1}


class Counter:
    """A `count_tokens` that does something odd at its so-many-th message, once it is begun."""

    def __init__(self, at: int, kind: str) -> None:
        self.calls: list[str] | None = None
        self._at = at
        self._kind = kind

    def __call__(self, given: Any) -> int:
        if self.calls is None or given["id"] in ("outer", "after"):
            return 1
        self.calls.append(json_text(given))
        if len(self.calls) - 1 != self._at:
            return estimate_tokens(given)
        if self._kind == "raises":
            raise KeyError("a counter's own")
        if self._kind == "changes":
            given["parts"].append({"type": "text", "text": "counted"})
            given["id"] = "another"
            return 3
        return ODD_COUNTS[self._kind]  # type: ignore[no-any-return]


def rows_of(sessions: Sessions) -> dict[str, list[Any]]:
    """Every row of every table."""
    with sessions._store.read() as connection:
        tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall()
        return {str(name): connection.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall() for (name,) in tables}


def renamed(given: Any) -> Any:
    return {**given, "prepared": True}


@attrs.frozen
class Case:
    """What a batch finds, and how it is given."""

    before: tuple[str, ...]
    batch: list[Any]
    parent: Any = LATEST
    expected: Any = UNCHECKED
    source: Source = "server"
    counter: tuple[int, str] = (-1, "")
    prepare: Callable[[Any], Any] | None = None
    heard: bool = True
    retain: Any = "current"
    inside: bool = True
    given_as: Callable[[list[Any]], Any] = list


BEFORE = ("chain", "branch", "delete leaf", "delete middle", "update", "select", "clear", "other", "import", "forget")


def prepared(session: Session, steps: Sequence[str]) -> None:
    for step in steps:
        with suppress(EventStoreError):
            match step:
                case "chain":
                    session.append_messages([message("first"), message("b"), message("last")])
                case "branch":
                    session.append_message(message("branch"), parent_id="first")
                case "delete leaf":
                    leaf = session.get_latest_leaf()
                    session.delete_messages([leaf["id"]] if leaf else [])
                case "delete middle":
                    session.delete_messages(["b"])
                case "update":
                    session.update_message(message("first", "changed", metadata={"kept": "mine"}))
                case "select":
                    session.select_leaf("last")
                case "clear":
                    session.clear_messages()
                case "other":
                    session.sessions.session("another").append_message(message("a"))
                case "import":
                    session.import_messages(
                        [ImportRow(message(each), parent_id="first", created_at=WHEN) for each in ("i", "c")]
                    )
                case _:
                    session.sessions.delete_session(session.session_id)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    return Case(
        tuple(draw(st.lists(st.sampled_from(BEFORE), max_size=4))),
        draw(batches()),
        draw(st.sampled_from((*[LATEST] * 6, None, "first", "nowhere"))),
        draw(st.sampled_from((*[UNCHECKED] * 4, LEAF, LEAF, None, "last"))),
        draw(st.sampled_from(("server", "server", "client"))),
        (
            draw(st.sampled_from((*[-1] * 6, 0, 1, 2, 3))),
            draw(st.sampled_from(("raises", "changes", *ODD_COUNTS))),
        ),
        draw(st.sampled_from((None, None, renamed))),
        draw(st.booleans()),
        draw(st.sampled_from(("current", "all"))),
        draw(st.booleans()),
        draw(st.sampled_from((list, list, tuple, iter, Lazy, one_dict))),
    )


def one_by_one(session: Session, case: Case) -> list[AppendResult]:
    """Each message in a call of its own, on the one before."""
    results: list[AppendResult] = []
    parent, expected = case.parent, case.expected
    for each in case.batch:
        result = session.append_message(each, parent_id=parent, expected_leaf=expected, source=case.source)
        results.append(result)
        if result.inserted:
            expected = UNCHECKED
        if result.inserted or not is_overlay(each):
            parent = LATEST if result.inserted else result.message["id"]
    return results


def is_overlay(given: Any) -> bool:
    found: str = dict(given)["id"]
    return found.startswith("compaction_")


def together(session: Session, case: Case) -> list[AppendResult]:
    return session.append_messages(
        case.given_as(case.batch), parent_id=case.parent, expected_leaf=case.expected, source=case.source
    )


def drafted(session: Session, case: Case) -> list[AppendResult]:
    """What its messages raise by themselves: in a batch that comes before anything of the tree."""
    for each in case.batch:
        session.append_message(each, source=case.source)
    return []


def with_leaf(session: Session, case: Case) -> Case:
    leaf = session.get_latest_leaf()
    return attrs.evolve(case, expected=leaf and leaf["id"]) if case.expected is LEAF else case


def outcome(case: Case, work: Callable[[Session, Case], list[AppendResult]]) -> Any:
    counter = Counter(*case.counter)
    with ExitStack() as stack:
        stack.enter_context(patch.object(clock, "now", lambda: NOW))
        stack.enter_context(patch.object(deltas, "SLICE_BYTES", 1_000))
        stack.enter_context(patch.object(drafting, "TOGETHER", 3))
        sessions = stack.enter_context(
            Sessions(reserved_metadata_keys=["kept"], retain=case.retain, count_tokens=counter, prepare=case.prepare)
        )
        session = sessions.session()
        prepared(session, case.before)
        counter.calls = []
        heard = Heard()
        if case.heard:
            sessions.subscribe(heard)
        results: list[AppendResult] = []
        raised = None
        before = sessions.latest_seq
        with suppress(EventStoreError, KeyError), sessions.transaction():
            if case.inside:
                session.append_message({"id": "outer", "role": "user", "parts": []})
            try:
                with sessions.transaction():
                    results = work(session, with_leaf(session, case))
            except (EventStoreError, KeyError) as error:
                raised = type(error), str(error)
                if not case.inside:
                    raise
            session.append_message({"id": "after", "role": "user", "parts": []})
        told = [(each.inserted, canonical(each.message), each.seq) for each in results]
        events = [(each.seq, canonical(each.to_dict())) for each in heard]
        assert raised is None or case.inside or sessions.latest_seq == before
        stored = rows_of(sessions)
        if work is together:
            assert sessions.verify().ok
            if raised is None:
                sessions.rebuild()
                assert rows_of(sessions) == stored
        return told, raised, events, counter.calls, stored


def check(case: Case) -> None:
    batch = outcome(case, together)
    alone = outcome(case, one_by_one)
    if batch[1] is None and alone[1] is None:
        assert batch == alone
        return
    empty = attrs.evolve(case, before=(), parent=LATEST, expected=UNCHECKED, inside=False)
    by_itself = outcome(empty, drafted)
    if by_itself[1] is None:
        assert batch[:3] + batch[4:] == alone[:3] + alone[4:]
    else:
        assert batch[1] == by_itself[1]


@settings(max_examples=5 * settings().max_examples)
@given(cases())
def test_a_batch_is_its_messages_one_by_one(case: Case) -> None:
    check(case)


def test_one_odd_message_among_plain_ones() -> None:
    for odd in each_odd_message():
        batch = [message("x"), message("y", "é"), odd, message("z"), message("last")]
        check(Case(("chain", "branch"), batch))
