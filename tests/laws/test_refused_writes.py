"""Laws of every write verb when it can't be done: our own error, nothing changed, nothing heard."""

from __future__ import annotations

import os
import time
import warnings
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
from tests.laws.support import Stopped, every_verb, reads, types, write_goes_on
from tests.laws.verbs import VERBS, WHEN, Verb, message, prepare
from tests.property.tables import tables

FAILING = {name: verb for name, verb in VERBS.items() if verb.fail is not None}
BEFORE_COMMIT = seams.SEAMS[: seams.SEAMS.index("committed")]


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


@every_verb
def test_failing_inside_changes_and_emits_nothing(
    path: Path, sessions: Sessions, session: Session, verb: Verb, seam: None
) -> None:
    """At each step before its commit; the next is of a store that went on."""
    heard: list[Event] = []
    sessions.subscribe(heard.append)
    for step in BEFORE_COMMIT:

        def stop(name: str, step: str = step) -> None:
            if name == step:
                raise Stopped(step)

        before, rows = reads(sessions), tables(path)
        heard.clear()
        seams.hook = stop
        with pytest.raises(Stopped, match=step):
            verb.perform(session)
        seams.hook = None
        assert (reads(sessions), tables(path), heard) == (before, rows, [])
        write_goes_on(session)
        sessions.delete_session(session.session_id)
        prepare(session)


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
        assert 0.04 < waited < 4  # five seconds is what it waits when nothing is said
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
