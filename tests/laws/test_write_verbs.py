"""Laws of every write verb: what it logs, that it lasts, that it is one with its transaction, who hears of it."""

from __future__ import annotations

import gc
import inspect
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from eventstore import (
    Event,
    Session,
    Sessions,
)
from eventstore.testing import check_invariants
from tests.laws.support import every_transactional_verb, every_verb, reads, rolled_back, types, write_goes_on
from tests.laws.verbs import READS, REPLAYS, VERBS, Verb, message, prepare
from tests.property.tables import tables

ROOT = Path(__file__).parents[2]


def public_methods(cls: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(cls, inspect.isfunction) if not name.startswith("_")}


@pytest.mark.parametrize("cls", [Session, Sessions], ids=lambda cls: cls.__name__)
def test_every_public_write_verb_is_in_the_table(cls: type) -> None:
    in_table = {verb.method.split(".")[1] for verb in VERBS.values() if verb.method.startswith(f"{cls.__name__}.")}
    assert public_methods(cls) - READS[cls.__name__] - REPLAYS[cls.__name__] == in_table


@every_verb
def test_logs_its_events_in_order(sessions: Sessions, session: Session, verb: Verb) -> None:
    head = sessions.latest_seq
    verb.perform(session)
    events = list(sessions.events(head))
    assert types(events) == verb.events
    assert [event.seq for event in events] == sorted({event.seq for event in events})
    check_invariants(sessions)


@every_verb
def test_leaves_nothing_to_the_garbage_collector(sessions: Sessions, session: Session, verb: Verb) -> None:
    verb.perform(prepare(sessions.session("loads what comes with first use")))
    gc.collect()
    gc.disable()
    try:
        verb.perform(session)
        assert gc.collect() == 0  # objects that only each other know
    finally:
        gc.enable()


@every_verb
def test_is_durable_after_close_and_reopen(path: Path, sessions: Sessions, session: Session, verb: Verb) -> None:
    verb.perform(session)
    written = reads(sessions)
    sessions.close()
    with Sessions(path) as again:
        assert reads(again) == written
        check_invariants(again)


@every_verb
def test_replay_gives_the_same_tables(path: Path, sessions: Sessions, session: Session, verb: Verb) -> None:
    verb.perform(session)
    written, before = reads(sessions), tables(path)
    sessions.rebuild()
    assert tables(path) == before
    assert reads(sessions) == written


@every_transactional_verb
def test_is_rolled_back_whole_with_its_transaction(
    path: Path, sessions: Sessions, session: Session, verb: Verb
) -> None:
    heard: list[Event] = []
    sessions.subscribe(heard.append)
    before, rows = reads(sessions), tables(path)
    with rolled_back(sessions):
        verb.perform(session)
    assert (reads(sessions), tables(path), heard) == (before, rows, [])
    write_goes_on(session)


@every_transactional_verb
def test_is_rolled_back_whole_with_an_inner_transaction(sessions: Sessions, session: Session, verb: Verb) -> None:
    heard: list[Event] = []
    sessions.subscribe(heard.append)
    with sessions.transaction():
        session.append_message(message("outer"), parent_id="m1")
        session.select_leaf("m3")
        before = reads(sessions)
        with rolled_back(sessions):
            verb.perform(session)
        assert reads(sessions) == before
    assert reads(sessions) == before
    assert types(heard) == ("append", "select")
    write_goes_on(session)


@every_transactional_verb
def test_is_kept_with_its_transaction_and_heard_after_it(
    path: Path, sessions: Sessions, session: Session, verb: Verb
) -> None:
    heard: list[Event] = []
    sessions.subscribe(heard.append)
    with Sessions(path) as other:
        with sessions.transaction():
            verb.perform(session)
            session.append_message(message("after it"))
            assert heard == []
            seen_by_others = other.latest_seq
        assert types(heard) == (*verb.events, "append")
        assert seen_by_others == heard[0].seq - 1
        assert reads(other) == reads(sessions)


@every_verb
def test_events_come_in_order_after_the_commit(path: Path, sessions: Sessions, session: Session, verb: Verb) -> None:
    heard: list[Event] = []
    seen: list[bool] = []

    with Sessions(path) as other:

        def listener(event: Event) -> None:
            heard.append(event)
            seen.append(event.seq in [logged.seq for logged in other.events(event.seq - 1)])

        sessions.subscribe(listener)
        verb.perform(session)
    assert types(heard) == verb.events
    assert all(seen), "a listener heard of a write that another store didn't see yet"
    assert [event.seq for event in heard] == sorted({event.seq for event in heard})


@every_verb
def test_a_second_store_catches_up(path: Path, sessions: Sessions, session: Session, verb: Verb) -> None:
    with Sessions(path) as other:
        heard: list[Event] = []
        other.subscribe(heard.append)
        reads(other)  # whatever it keeps in memory is of before
        verb.perform(session)
        assert reads(other) == reads(sessions)
        assert other.poll() == len(verb.events)
        assert types(heard) == verb.events
        assert other.poll() == 0
        write_goes_on(other.session("main"))


def test_another_process_is_heard_in_order(path: Path, sessions: Sessions) -> None:
    heard: list[Event] = []
    sessions.subscribe(heard.append)
    subprocess.run([sys.executable, "-m", "tests.laws.verbs", str(path)], cwd=ROOT, check=True, timeout=60)
    assert sessions.poll() == len(heard)
    prepared = ("append",) * 4 + ("select", "metadata")
    assert types(heard) == tuple(each for verb in VERBS.values() for each in (*prepared, *verb.events))
    assert [event.seq for event in heard] == [event.seq for event in sessions.events(0)]
    check_invariants(sessions)


@every_verb
def test_looks_no_id_up_twice(sessions: Sessions, session: Session, verb: Verb) -> None:
    looked_up: list[object] = []

    def note(_cursor: object, sql: str, bindings: Sequence[object]) -> bool:
        if "e.id = ?" in sql:
            looked_up.append(bindings[-1])
        return True

    writer = sessions._store.database._writer
    assert writer is not None
    writer.exec_trace = note  # type: ignore[assignment]
    verb.perform(session)
    assert len(looked_up) == len(set(looked_up))
