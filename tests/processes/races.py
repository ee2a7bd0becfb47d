"""Processes of many threads that do everything at once to the same few sessions, and what must hold afterwards.

Every thread keeps a journal of what its writes returned; every process listens. At the end each journal is held against
the log: nothing that returned is missing, no number was given twice.
"""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs

from eventstore import (
    CompactResult,
    Event,
    ImportRow,
    InvalidArgument,
    InvalidCompaction,
    LeafChanged,
    Message,
    Session,
    Sessions,
    UnknownMessage,
)
from eventstore.testing import check_invariants

EXPECTED = (UnknownMessage, LeafChanged, InvalidCompaction, InvalidArgument)
"""What a call may be refused with because others were quicker."""
SHARED = ("s0", "s1", "s2")
MOST = 120  # messages, above which a session is cut back
LIMIT = 120.0  # seconds beyond its time, after which a process ends itself


@attrs.define
class Raced:
    """What came of a race."""

    calls: int = 0
    refused: Counter[str] = attrs.Factory(Counter)
    written: int = 0  # events
    largest_wal: int = 0  # bytes


def message(message_id: str, text: str) -> Message:
    return {"id": message_id, "role": "user", "parts": [{"type": "text", "text": text}]}


class Racer:
    """One thread of one process."""

    def __init__(self, sessions: Sessions, name: str, seed: int) -> None:
        self.calls = 0
        self.increments = 0
        self.refused: Counter[str] = Counter()
        self.journal: list[tuple[int, str, str]] = []  # (seq, session, id) of what it stored
        self._sessions = sessions
        self._name = name
        self._chosen = random.Random(f"{seed} {name}")
        self._number = 0

    def run(self, until: float) -> None:
        """Does one thing after the other. Raises what nobody may raise."""
        while time.monotonic() < until:
            self.step()

    def step(self) -> None:
        """Does one thing."""
        self._act(ACTIONS, SHARED)

    def _act(self, actions: Sequence[Callable[[Any, Session], None]], names: Sequence[str]) -> None:
        """Does one of some actions, to one of some sessions."""
        self.calls += 1
        try:
            self._chosen.choice(actions)(self, self._sessions.session(self._chosen.choice(names)))
        except EXPECTED as error:
            self.refused[type(error).__name__] += 1

    def _new(self) -> Message:
        self._number += 1
        return message(f"{self._name}.{self._number}", "some words of it. " * self._chosen.choice((1, 5, 300)))

    def _any(self, session: Session) -> str:
        found = [info.id for info in session.tree()]
        if not found:
            raise UnknownMessage(["any"], session.session_id)
        return self._chosen.choice(found)

    def _store(self, session: Session, result: Any) -> None:
        if result.inserted:
            self.journal.append((result.seq, session.session_id, result.message["id"]))

    def append(self, session: Session) -> None:
        self._store(session, session.append_message(self._new()))

    def append_on_what_was_read(self, session: Session) -> None:
        leaf = session.get_latest_leaf()
        self._store(session, session.append_message(self._new(), expected_leaf=None if leaf is None else leaf["id"]))

    def branch(self, session: Session) -> None:
        self._store(session, session.append_message(self._new(), parent_id=self._any(session)))

    def append_many(self, session: Session) -> None:
        for result in session.append_messages([self._new() for _ in range(3)]):
            self._store(session, result)

    def change(self, session: Session) -> None:
        found = session.get_message(self._any(session))
        if found is not None:
            session.update_message(message(found["id"], found["parts"][0].get("text", "") + " and more"))

    def upsert(self, session: Session) -> None:
        self._store(session, session.upsert_message(self._new()))
        session.upsert_message(message(self._any(session), "upserted"))

    def delete(self, session: Session) -> None:
        session.delete_messages([self._any(session), self._any(session)])

    def cut_back(self, session: Session) -> None:
        if session.info().messages > MOST:
            session.delete_branch(self._any(session)) if self._chosen.random() < 0.7 else session.clear_messages()

    def select(self, session: Session) -> None:
        session.select_leaf(self._any(session))

    def describe(self, session: Session) -> None:
        session.set_metadata({"by": self._name, "n": self._number})

    def import_some(self, session: Session) -> None:
        one, other = self._new(), self._new()
        parent_id, when = self._any(session), datetime.now(UTC)
        rows = [
            ImportRow(other, parent_id=one["id"], created_at=when),
            ImportRow(one, parent_id=parent_id, created_at=when),
        ]
        session.import_messages(rows)
        self._store(session, session.import_message(self._new(), parent_id=parent_id, created_at=when))

    def compact(self, session: Session) -> None:
        shown = [each["id"] for each in session.get_history()]
        if len(shown) > 4:
            if self._chosen.random() < 0.5:
                session.add_compaction("a summary", shown[1], shown[3])
            else:
                session.on_compaction(  # somebody may have emptied it meanwhile
                    lambda given: CompactResult(given[0]["id"], given[-1]["id"], "a summary") if given else None
                )
                session.compact()

    def together(self, session: Session) -> None:
        """A read, and a write on it, that nobody may come between."""
        counter = self._sessions.session("counter")
        with self._sessions.transaction():
            counted = counter.get_metadata().get("n", 0)
            self._store(session, session.append_message(self._new()))
            counter.set_metadata({"n": counted + 1})
        self.increments += 1

    def copy(self, session: Session) -> None:
        copied = self._sessions.session(f"copy {self._chosen.randrange(3)}")
        if self._chosen.random() < 0.5:
            self._sessions.delete_session(copied.session_id)
        else:
            session.copy_to(copied)

    def search(self, session: Session) -> None:
        for result in session.search("words of it", limit=5):
            assert "words" in result.content

    def read(self, session: Session) -> None:
        session.get_recent_history(max_messages=5)
        for _ in zip(session.history(newest_first=True), range(60), strict=False):
            pass
        list(self._sessions.list_sessions())
        session.token_estimate()

    def look_back(self, _session: Session) -> None:
        latest = self._sessions.latest_seq
        with self._sessions.at(self._chosen.randint(max(0, latest - 50), latest)) as view:
            view.session("s0").get_leaves()
        events = [event.seq for event in self._sessions.events(max(0, latest - 40))]
        assert events == list(range(max(0, latest - 40) + 1, events[-1] + 1 if events else 1))

    def poll(self, _session: Session) -> None:
        self._sessions.poll()


_R = Racer
ACTIONS: tuple[Callable[[Racer, Session], None], ...] = (
    *(_R.append, _R.append_on_what_was_read, _R.branch, _R.append_many, _R.change, _R.upsert, _R.delete) * 2,
    *(_R.cut_back,) * 3,
    *(_R.select, _R.describe, _R.import_some, _R.compact, _R.together, _R.copy),
    *(_R.search, _R.read, _R.look_back, _R.poll),
)


def _one_process(path: Path, name: str, until: float, threads: int, seed: int) -> dict[str, Any]:
    heard: list[int] = []

    def listen(event: Event) -> None:
        if getattr(event, "inserted", True):
            heard.append(event.seq)

    wrong: list[str] = []
    with Sessions(path, durability="normal", busy_timeout=LIMIT) as sessions:
        sessions.subscribe(listen)
        racers = [Racer(sessions, f"{name}.{number}", seed) for number in range(threads)]

        def run(racer: Racer) -> None:
            try:
                racer.run(until)
            except BaseException:  # noqa: BLE001
                wrong.append(traceback.format_exc()[-3_000:])

        running = [threading.Thread(target=run, args=(racer,)) for racer in racers]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        sessions.poll()
    first = heard[0] if heard else 1  # a machine with much to do may let a process do nothing in its time
    if heard != list(range(first, first + len(heard))):
        wrong.append(f"a listener heard events out of order, twice, or not at all: {heard[:50]} …")
    return {
        "wrong": wrong,
        "calls": sum(racer.calls for racer in racers),
        "increments": sum(racer.increments for racer in racers),
        "refused": dict(sum((racer.refused for racer in racers), Counter())),
        "journal": [entry for racer in racers for entry in racer.journal],
    }


def race(path: Path, seconds: float, *, processes: int = 4, threads: int = 8, seed: int = 0) -> Raced:
    """Runs a race on a new file, and checks it."""
    until = time.monotonic() + seconds
    pipes: list[int] = []
    pids: list[int] = []
    for number in range(processes):
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:  # pragma: no cover
            signal.alarm(int(seconds + LIMIT))
            try:
                told = _one_process(path, f"p{number}", until, threads, seed)
            except BaseException:  # noqa: BLE001
                told = {"wrong": [traceback.format_exc()]}
            with os.fdopen(writing, "w") as pipe:
                json.dump(told, pipe)
            os._exit(0)
        os.close(writing)
        pipes.append(reading)
        pids.append(pid)
    raced = Raced()
    wal = path.with_name(f"{path.name}-wal")
    while time.monotonic() < until:
        time.sleep(0.02)
        raced.largest_wal = max(raced.largest_wal, wal.stat().st_size if wal.exists() else 0)
    everybody = [_hear(pipe, pid) for pipe, pid in zip(pipes, pids, strict=True)]
    _check(path, everybody, raced)
    return raced


def _hear(pipe: int, pid: int) -> dict[str, Any]:
    with os.fdopen(pipe) as lines:
        told = lines.read()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code == 0, f"a process ended with {code}"
    found: dict[str, Any] = json.loads(told)
    assert not found["wrong"], "\n".join(found["wrong"])
    return found


def _check(path: Path, told: list[dict[str, Any]], raced: Raced) -> None:
    journal = [tuple(entry) for each in told for entry in each["journal"]]
    with Sessions(path, durability="normal") as sessions:
        log = {event.seq: event for event in sessions.events()}
        assert list(log) == list(range(1, len(log) + 1)), "the log has a gap"
        assert len({seq for seq, _, _ in journal}) == len(journal), "a number was given twice"
        for seq, session_id, message_id in journal:
            event: Any = log[seq]
            assert (event.session_id, event.message["id"]) == (session_id, message_id), f"event {seq} was lost"
        counted = sessions.session("counter").get_metadata().get("n", 0)
        assert counted == sum(each["increments"] for each in told), "a transaction was lost"
        check_invariants(sessions)
    raced.calls = sum(each["calls"] for each in told)
    raced.refused = sum((Counter(each["refused"]) for each in told), Counter())
    raced.written = len(log)
