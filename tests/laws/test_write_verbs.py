"""Laws that hold for every write verb."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from eventstore import (
    Event,
    ReadOnlyStore,
    Session,
    Sessions,
    StoreBusy,
    StoreClosed,
    StoreForked,
    seams,
)
from eventstore.testing import check_invariants, json_text
from tests.laws.verbs import READS, REPLAYS, VERBS, WHEN, Verb, message, prepare
from tests.property.tables import tables

ROOT = Path(__file__).parents[2]
FAILING = {name: verb for name, verb in VERBS.items() if verb.fail is not None}
BEFORE_COMMIT = seams.SEAMS[: seams.SEAMS.index("committed")]

every_verb = pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
TRANSACTIONAL = {name: verb for name, verb in VERBS.items() if verb.in_transaction}
every_transactional_verb = pytest.mark.parametrize("verb", TRANSACTIONAL.values(), ids=TRANSACTIONAL)


class Stopped(Exception):
    """Raised by a test in the middle of a write or of a transaction."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def sessions(path: Path) -> Iterator[Sessions]:
    with Sessions(path) as store:
        yield store


@pytest.fixture
def session(sessions: Sessions) -> Session:
    return prepare(sessions.session("main"))


@pytest.fixture
def seam() -> Iterator[None]:
    """The process's hook is given back."""
    yield
    seams.hook = None


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


def types(events: Any) -> tuple[str, ...]:
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
        session.append_message(message("outer"))
        before = reads(sessions)
        with rolled_back(sessions):
            verb.perform(session)
        assert reads(sessions) == before
    assert reads(sessions) == before
    assert types(heard) == ("append",)
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


@pytest.mark.parametrize("verb", FAILING.values(), ids=FAILING)
def test_refused_writes_change_and_emit_nothing(path: Path, sessions: Sessions, session: Session, verb: Verb) -> None:
    assert verb.fail is not None
    heard: list[Event] = []
    sessions.subscribe(heard.append)
    before, rows = reads(sessions), tables(path)
    with pytest.raises(verb.error):
        verb.fail(session)
    assert (reads(sessions), tables(path), heard) == (before, rows, [])
    write_goes_on(session)


@pytest.mark.parametrize("step", BEFORE_COMMIT)
@every_verb
def test_failing_inside_changes_and_emits_nothing(
    path: Path, sessions: Sessions, session: Session, verb: Verb, step: str, seam: None
) -> None:
    def stop(name: str) -> None:
        if name == step:
            raise Stopped(step)

    heard: list[Event] = []
    sessions.subscribe(heard.append)
    before, rows = reads(sessions), tables(path)
    seams.hook = stop
    with pytest.raises(Stopped):
        verb.perform(session)
    seams.hook = None
    assert (reads(sessions), tables(path), heard) == (before, rows, [])
    write_goes_on(session)


@every_verb
def test_is_refused_on_a_closed_store(path: Path, sessions: Sessions, session: Session, verb: Verb) -> None:
    sessions.close()
    rows = tables(path)
    with pytest.raises(StoreClosed):
        verb.perform(session)
    assert tables(path) == rows


@every_verb
def test_is_refused_on_a_read_only_store(path: Path, sessions: Sessions, session: Session, verb: Verb) -> None:
    before, rows = reads(sessions), tables(path)
    with Sessions(path, read_only=True) as reader:
        with pytest.raises(ReadOnlyStore):
            verb.perform(reader.session("main"))
        assert reads(reader) == before
    assert tables(path) == rows


@every_verb
def test_is_refused_when_another_writer_stays(path: Path, sessions: Sessions, session: Session, verb: Verb) -> None:
    rows = tables(path)
    blocker = apsw.Connection(str(path))
    with Sessions(path, busy_timeout=0.05) as impatient:
        heard: list[Event] = []
        impatient.subscribe(heard.append)
        blocker.execute("BEGIN IMMEDIATE")
        started = time.monotonic()
        with pytest.raises(StoreBusy):
            verb.perform(impatient.session("main"))
        waited = time.monotonic() - started
        blocker.execute("ROLLBACK")
        blocker.close()
        assert 0.04 < waited < 2
        assert (tables(path), heard) == (rows, [])
        verb.perform(impatient.session("main"))
        assert types(heard) == verb.events


@every_verb
def test_is_refused_in_a_forked_child(path: Path, sessions: Sessions, session: Session, verb: Verb) -> None:
    rows = tables(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking beside threads is what is tested
        child = os.fork()
    if child == 0:
        code = 1
        try:
            verb.perform(session)
            code = 2
        except StoreForked:
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, "1: another error, 2: it wrote"
    assert tables(path) == rows
    write_goes_on(session)


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


NO_WRITES = {
    "append of a known id": lambda s: s.append_message(message("m2", "another text")),
    "append of known ids": lambda s: s.append_messages([message("m1"), message("m3")]),
    "append of an overlay": lambda s: s.append_message(message("compaction_1")),
    "update of an unknown id": lambda s: s.update_message(message("nobody")),
    "update to the same": lambda s: s.update_message(message("m2", role="assistant")),
    "update of an overlay": lambda s: s.update_message(message("compaction_1")),
    "upsert of the same": lambda s: s.upsert_message(message("m2", role="assistant")),
    "upsert of an overlay": lambda s: s.upsert_message(message("compaction_1")),
    "delete of nobody": lambda s: s.delete_messages(["nobody"]),
    "delete of nothing": lambda s: s.delete_messages([]),
    "select of the active leaf": lambda s: s.select_leaf("m3"),
    "import of a known id": lambda s: s.import_message(message("m2", "another text"), parent_id=None, created_at=WHEN),
    "import of nothing": lambda s: s.import_messages([]),
    "append of nothing": lambda s: s.append_messages([]),
}


@pytest.mark.parametrize("call", NO_WRITES.values(), ids=NO_WRITES)
def test_what_changes_nothing_is_not_logged(path: Path, sessions: Sessions, session: Session, call: Any) -> None:
    before, rows = reads(sessions), tables(path)
    heard: list[Event] = []
    sessions.subscribe(heard.append)
    call(session)
    assert (reads(sessions), tables(path)) == (before, rows)
    assert [event for event in heard if getattr(event, "inserted", True)] == []
