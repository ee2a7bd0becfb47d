"""`eventstore.testing` itself: the strategies draw what they promise, and the checks find what is broken."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.stateful import invariant, run_state_machine_as_test

from eventstore import (
    Appended,
    Cleared,
    Deleted,
    Event,
    Imported,
    Message,
    MessageInfo,
    Session,
    Sessions,
    Updated,
    VerifyReport,
)
from eventstore.testing import (
    SessionMachine,
    Write,
    check_invariants,
    json_text,
    same_json,
    writes,
)

QUICK = settings(max_examples=500, phases=[Phase.generate], suppress_health_check=list(HealthCheck))


def text_of(message: Message) -> str:
    return "".join(part.get("text", "") for part in message["parts"])


class WordCount:
    """A user's projection: words per message, kept by the feed."""

    def __init__(self, session: Session) -> None:
        self.words: dict[str, int] = {}
        self.subscription = session.subscribe(self.on, after=0)

    def on(self, event: Event) -> None:
        match event:
            case Appended(message=message) | Updated(message=message) | Imported(message=message):
                self.words[message["id"]] = len(text_of(message).split())
            case Deleted(message_ids=message_ids):
                for message_id in message_ids:
                    self.words.pop(message_id, None)
            case Cleared():
                self.words.clear()
            case _:
                pass


class ForgetsUpdates(WordCount):
    def on(self, event: Event) -> None:
        if not isinstance(event, Updated):
            super().on(event)


class ForgetsDeletes(WordCount):
    def on(self, event: Event) -> None:
        if not isinstance(event, Deleted):
            super().on(event)


def counted(session: Session) -> dict[str, int]:
    """The same, from the session as it stands."""
    found = {info.id: session.get_message(info.id) for info in session.tree()}
    return {message_id: len(text_of(message).split()) for message_id, message in found.items() if message}


@given(writes())
def test_a_projection_can_be_tested_with_histories(history: list[Write]) -> None:
    with Sessions() as store:
        session = store.session()
        live = WordCount(session)
        for write in history:
            write.apply(session)
        assert live.words == WordCount(session).words == counted(session)
        check_invariants(store, rebuild=True)


class WordCountMachine(SessionMachine):
    projection: type[WordCount] = WordCount

    def setup(self) -> None:
        self.count = self.projection(self.session)

    @invariant()
    def counts_what_is_there(self) -> None:
        assert self.count.words == counted(self.session)


TestWordCount = WordCountMachine.TestCase
TestWordCount.settings = settings(max_examples=15, stateful_step_count=15)


@pytest.mark.parametrize("broken", [ForgetsUpdates, ForgetsDeletes])
def test_a_broken_projection_is_caught(broken: type[WordCount]) -> None:
    machine = type("BrokenMachine", (WordCountMachine,), {"projection": broken})
    tries = settings(max_examples=200, stateful_step_count=15, database=None, phases=[Phase.generate])
    with pytest.raises(AssertionError):
        run_state_machine_as_test(machine, settings=tries)


def test_the_machine_writes_in_every_way() -> None:
    """Each kind of write is a rule, and each of the rules runs."""
    wanted = {"append", "update", "delete", "clear", "import", "select", "metadata", "delete_session"}
    seen: set[str] = set()

    class Watched(SessionMachine):
        def setup(self) -> None:
            self.sessions.subscribe(lambda event: seen.add(event.type))

    for number in range(10):  # until all were seen
        if not seen >= wanted:
            seed(number)(Watched)
            run_state_machine_as_test(Watched, settings=settings(max_examples=5, stateful_step_count=20, database=None))
    assert seen >= wanted


def test_the_machine_closes_its_store_when_setup_fails() -> None:
    opened: list[Sessions] = []

    class Failing(SessionMachine):
        def open(self) -> Sessions:
            opened.append(super().open())
            return opened[-1]

        def setup(self) -> None:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Failing()
    with pytest.raises(RuntimeError):
        opened[0].session().append_message({"id": "a", "role": "user", "parts": []})


# -- equality and invariants ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"), [(1, 1.0), (1, True), (0, False), (0.0, -0.0), ({"a": 1, "b": 2}, {"b": 2, "a": 1}), ("", None)]
)
def test_what_json_tells_apart_is_not_equal(one: Any, other: Any) -> None:
    assert not same_json(one, other)
    assert same_json([one], [one])


def test_json_text_is_compact_and_can_be_encoded() -> None:
    assert json_text({"a": [1, "é", "\ud83d", "\ud83d\ude00"]}) == '{"a":[1,"é","\\ud83d","😀"]}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_text(float("nan"))


def line(store: Sessions) -> Session:
    session = store.session("line")
    session.append_messages(
        [{"id": f"m{i}", "role": "user", "parts": [{"type": "text", "text": "x"}]} for i in range(5)]
    )
    session.append_message({"id": "branch", "role": "user", "parts": []}, parent_id="m1")
    return session


def changed(**fields: Any) -> Callable[[Any], Any]:
    """Lets a read return its result with other fields."""
    return lambda result: attrs.evolve(result, **fields)


LIES: dict[str, tuple[type, str, Callable[[Any], Any], str]] = {
    "history backwards": (Session, "get_history", lambda got: got[::-1], "get_history"),
    "tree in the wrong order": (Session, "tree", lambda got: list(got)[::-1], "parents first"),
    "a message left out of a path": (Session, "get_history", lambda got: got[:1] + got[2:], "get_history"),
    "a branch left out": (Session, "get_branches", lambda got: got[1:], "get_branches"),
    "a leaf left out": (Session, "get_leaves", lambda got: got[1:], "get_leaves"),
    "a window too long": (Session, "get_recent_history", changed(messages=[]), "get_recent_history"),
    "a wrong total": (Session, "get_recent_history", changed(total_content_bytes=1), "total_content_bytes"),
    "stats too short": (Session, "get_history_row_stats", lambda got: got[1:], "get_history_row_stats"),
    "a wrong estimate": (Session, "token_estimate", lambda got: got + 1, "token_estimate"),
    "an event left out": (Session, "events", lambda got: list(got)[1:], "events"),
    "an event twice": (Sessions, "events", lambda got: list(got) * 2, "numbers grow"),
    "a message too many": (Session, "info", changed(messages=7), "info"),
    "a dead active leaf": (Session, "get_latest_leaf", lambda got: {**got, "id": "dead"}, "active leaf"),
    "a batch twice": (Session, "history_batches", lambda got: list(got) * 2, "history"),
    "damage": (Sessions, "verify", lambda _: VerifyReport(False, ("row 3 is damaged",)), "row 3 is damaged"),
}


@pytest.mark.parametrize(("cls", "method", "lie", "told"), LIES.values(), ids=LIES)
def test_a_store_that_lies_is_caught(
    monkeypatch: pytest.MonkeyPatch, cls: type, method: str, lie: Callable[[Any], Any], told: str
) -> None:
    honest = getattr(cls, method)
    with Sessions() as store:
        line(store)
        check_invariants(store, rebuild=True)
        monkeypatch.setattr(cls, method, lambda self, *args, **kwargs: lie(honest(self, *args, **kwargs)))
        with pytest.raises(AssertionError, match=told):
            check_invariants(store)
        monkeypatch.undo()


def test_a_wrong_size_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Session.tree

    def lying(self: Session) -> list[MessageInfo]:
        return [attrs.evolve(info, bytes=info.bytes + 1) for info in honest(self)]

    with Sessions() as store:
        line(store)
        monkeypatch.setattr(Session, "tree", lying)
        with pytest.raises(AssertionError, match="session 'line'"):
            check_invariants(store)
        monkeypatch.undo()


def test_invariants_hold_on_a_read_only_store(tmp_path: Any) -> None:
    with Sessions(tmp_path / "store.db") as store:
        line(store)
    with Sessions(tmp_path / "store.db", read_only=True) as reader:
        check_invariants(reader)


def test_the_core_does_not_import_it() -> None:
    code = (
        "import sys, eventstore, projections;"
        "print([name for name in sys.modules if name.startswith(('hypothesis', 'eventstore.testing'))])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
