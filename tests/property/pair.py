"""A store on a file, a second store on it, and the oracle: what is done to one is done to all, and compared."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import attrs

from eventstore import Event, Message, Session, Sessions, Subscription
from eventstore.testing import Write, check_invariants
from projections import mirror
from tests.property.limits import small_limits
from tests.property.model import ModelStore
from tests.property.observed import (
    Infos,
    check_event,
    check_past,
    check_session,
    check_store,
    infos_of,
    reduced,
    same,
)
from tests.property.search_oracle import has_all, text_of
from tests.property.steps import NAMES, RESERVED, Nested, outcome
from tests.property.tables import tables


class RolledBack(Exception):
    """Ends a transaction that is to leave nothing."""


class Pair:
    """What is written goes through `both()`, to the store and to the oracle. Close it when done.

    `small` makes every window, slice and threshold of the store so small that a few messages pass it.
    """

    def __init__(self, retain: str, *, small: bool) -> None:
        self._stack = ExitStack()
        if small:
            self._stack.enter_context(small_limits())
        self.path = Path(self._stack.enter_context(tempfile.TemporaryDirectory())) / "store.db"
        self.model = ModelStore(frozenset(RESERVED), retain)
        self.received: list[Event] = []
        self.recorded: dict[int, Infos] = {}  # what tree() gave after each check, by seq
        self.mirrored: dict[str, list[Message]] = {name: [] for name in NAMES}
        self.sessions = self._open(retain)
        self._stack.callback(lambda: self.sessions.close())
        self.second = self._stack.enter_context(self._open())
        self.reader = self._stack.enter_context(Sessions(self.path, read_only=True))
        self._attach()

    def close(self) -> None:
        self._stack.close()

    def _open(self, retain: Any = None) -> Sessions:
        return Sessions(self.path, retain=retain, durability="normal", reserved_metadata_keys=RESERVED)

    def _attach(self) -> None:
        """Listens from now on; what was emitted before was heard by the store before."""
        self.sessions.subscribe(self.received.append)
        self.mirrors: list[Subscription] = [mirror(self.sessions.session(name), self.mirrored[name]) for name in NAMES]

    def reopen(self) -> None:
        self.sessions.close()
        self.sessions = self._open()
        self._attach()

    # -- writing

    def both(self, name: str, action: Callable[[Session], Any], store: Sessions | None = None) -> None:
        """Does the same to a session and to its model; they agree on what comes of it."""
        session = (store or self.sessions).session(name)
        found = outcome(lambda: action(session))
        expected = outcome(lambda: action(cast(Session, self.model.session(name))))
        same("outcome", expected, found)

    def apply(self, name: str, history: Iterable[Write]) -> None:
        for write in history:
            self.both(name, write.apply)

    def plant(self, seeds: list[int]) -> None:
        """A tree of plain messages: each of the `seeds` is the number of one's parent."""
        for number, seed in enumerate(seeds):
            text = {"type": "text", "text": f"seed {number}"}
            message: Message = {"id": f"seed-{number}", "role": "user", "parts": [text]}
            parent_id = f"seed-{seed % number}" if number else None
            self.both("", lambda s, m=message, p=parent_id: s.append_message(m, parent_id=p))  # type: ignore[misc]

    def delete_session(self, name: str) -> None:
        self.sessions.delete_session(name)
        self.model.delete_session(name)

    def copy(self, source: str, target: str, leaf_id: str | None) -> None:
        found = outcome(lambda: self.sessions.session(source).copy_to(self.sessions.session(target), leaf_id=leaf_id))
        expected = outcome(lambda: self.model.session(source).copy_to(self.model.session(target), leaf_id=leaf_id))
        same("copy", expected, found)

    def write_elsewhere(self, name: str, write: Write) -> None:
        """Another store writes. A repeated append is told where it happened, and nowhere else."""
        before, heard = self.model.latest_seq, len(self.model.emitted)
        self.both(name, write.apply, self.second)
        self.model.emitted[heard:] = self.model.log[before:]

    @contextmanager
    def rolled_back(self) -> Iterator[None]:
        """A transaction that leaves nothing."""
        saved = self.model.saved()
        with suppress(RolledBack), self.sessions.transaction():
            yield
            raise RolledBack
        self.model.restore(saved)

    def perform(self, tree: Nested) -> None:
        """A transaction with what is nested in it. It sees its own writes, and nobody hears of them before its end."""
        heard = len(self.received)
        with self.sessions.transaction() if tree.kept else self.rolled_back():
            for step in tree.steps:
                if isinstance(step, Nested):
                    self.perform(step)
                else:
                    name, write = step
                    self.both(name, write.apply)
                    check_session(self.sessions.session(name), self.model.state(name))
                assert len(self.received) == heard, "an event went out before the commit"

    # -- what must agree

    def check(self) -> None:
        """Reads, log, listeners, mirrors, tables; the second store too."""
        self.check_store()
        self.check_file()

    def check_store(self) -> None:
        """What the store that writes says, and has told."""
        assert self.sessions.latest_seq == self.model.latest_seq
        check_store(self.sessions, self.model.sessions)
        self._check_log()
        self._check_heard()
        for name in NAMES:
            same(f"mirror of {name!r}", reduced(self.model.emitted, name), self.mirrored[name])
        self.recorded[self.model.latest_seq] = infos_of(self.sessions)

    def check_file(self) -> None:
        """What a second store says, which has read before, and whether the tables are those of the log."""
        check_store(self.second, self.model.sessions)
        report = self.sessions.verify()
        assert report.ok, report.problems

    def _check_log(self) -> None:
        """The log is complete, and reads by the rule of retention."""
        events = list(self.sessions.events(0))
        assert len(events) == len(self.model.log)
        for event, entry in zip(events, self.model.log, strict=True):
            check_event(event, entry, self.model)

    def _check_heard(self) -> None:
        """Every event once, in order; a repeated append with the number of the one before it."""
        heard = [[event.type, event.seq, event.session_id, getattr(event, "inserted", True)] for event in self.received]
        emitted = [[entry.type, entry.seq, entry.session_id, entry.inserted] for entry in self.model.emitted]
        same("heard", emitted, heard)

    def check_past(self, seq: int) -> None:
        """The store as it was after event `seq`."""
        with self.sessions.at(seq) as view:
            check_past(view, self.model, seq)
            if seq in self.recorded:
                assert infos_of(view) == self.recorded[seq]

    def check_replay(self) -> None:
        """Dropping the read tables and replaying the log gives the same tables, row for row."""
        before = tables(self.path)
        self.sessions.rebuild()
        assert tables(self.path) == before

    def check_search(self, typed: str, where: str) -> None:
        """What is found by one of the stores that have the file open: in all sessions, and in each of them."""
        store = {"here": self.sessions, "second": self.second, "read-only": self.reader}[where]
        expected = [
            (name, node.id)
            for name, state in self.model.sessions.items()
            for node in state.nodes.values()
            if has_all(text_of(node.message), typed)
        ]
        results = store.search(typed, limit=None)
        found = [(result.session_id, result.id) for result in results]
        same("found", sorted(expected), sorted(found))
        born = {
            (name, id): node.born for name, state in self.model.sessions.items() for id, node in state.nodes.items()
        }
        order = [(-result.score, -born[pair]) for result, pair in zip(results, found, strict=True)]
        same("best first, of equal ones the newest", sorted(order), order)
        for name in NAMES:
            here = [pair for pair in found if pair[0] == name]
            same(
                "found in a session",
                sorted(here),
                sorted((name, r.id) for r in store.session(name).search(typed, limit=None)),
            )

    def check_copy(self, source: str) -> None:
        """A copy in another store reads the same in all but its numbers."""
        with Sessions() as elsewhere:
            copied = elsewhere.session("copied")
            self.sessions.session(source).copy_to(copied)
            state = self.model.state(source)
            numbers = {info.id: info.seq for info in sorted(copied.tree(), key=lambda info: info.seq)}
            same("age", [node.id for node in state.by_age()], list(numbers))
            nodes = {name: attrs.evolve(node, born=numbers[name]) for name, node in state.nodes.items()}
            check_session(copied, attrs.evolve(state, nodes=nodes))
            check_invariants(elsewhere, rebuild=True)
