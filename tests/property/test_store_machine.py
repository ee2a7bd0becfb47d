"""Every write verb, in any order, against the oracle: results, errors, reads, log, past, mirrors and tables."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import nullcontext, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import attrs
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from eventstore import (
    LATEST,
    Event,
    ImportRow,
    Message,
    Session,
    Sessions,
    Subscription,
)
from eventstore.testing import Write, check_invariants, conversations, messages
from eventstore.testing.values import times
from eventstore.testing.writes import writes
from projections import mirror
from tests.property.limits import small_limits
from tests.property.model import ModelStore
from tests.property.observed import Infos, check_event, check_past, check_session, check_store, infos_of, reduced, same
from tests.property.steps import ANY_SESSION, NAMES, WRITES, Nested, RolledBack, nested, outcome
from tests.property.tables import tables

RESERVED = ("model", "turn")

client_metadata = st.fixed_dictionaries(
    {}, optional={"model": st.integers(0, 2), "keep": st.integers(0, 2), "turn": st.integers(0, 2)}
)


class StoreMachine(RuleBasedStateMachine):
    """One file, its store, a second store on it, and the oracle."""

    @initialize(retain=st.sampled_from(("current", "all")), small=st.booleans())
    def start(self, retain: str, small: bool) -> None:
        """A new file. `small` makes every window, slice and threshold so small that these few messages pass it."""
        self.limits = small_limits() if small else nullcontext()
        self.limits.__enter__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "store.db"
        self.model = ModelStore(frozenset(RESERVED), retain)
        self.received: list[Event] = []
        self.recorded: dict[int, Infos] = {}  # what tree() gave after each step, by seq
        self.mirrored: dict[str, list[Message]] = {name: [] for name in NAMES}
        self.sessions = self.open(retain)
        self.second = self.open()
        self.attach()

    def open(self, retain: Any = None) -> Sessions:
        return Sessions(self.path, retain=retain, durability="normal", reserved_metadata_keys=RESERVED)

    def attach(self) -> None:
        """Listens from now on; what was emitted before was heard by the store before."""
        self.sessions.subscribe(self.received.append)
        self.mirrors: list[Subscription] = [mirror(self.sessions.session(name), self.mirrored[name]) for name in NAMES]

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.sessions.close()
            self.second.close()
            self.folder.cleanup()
            self.limits.__exit__(None, None, None)

    def both(self, name: str, action: Callable[[Session], Any], store: Sessions | None = None) -> None:
        """Does the same to a session and to its model; they agree."""
        session = (store or self.sessions).session(name)
        found = outcome(lambda: action(session))
        expected = outcome(lambda: action(cast(Session, self.model.session(name))))
        same("outcome", expected, found)

    # -- rules ----------------------------------------------------------------------------------------------------

    @rule(name=ANY_SESSION, history=writes(min_size=1, max_size=3))
    def write(self, name: str, history: list[Write]) -> None:
        for write in history:
            self.both(name, write.apply)

    @rule(name=ANY_SESSION, batch=st.lists(messages(), max_size=4), right=st.booleans(), data=st.data())
    def append_expecting(self, name: str, batch: list[Message], right: bool, data: st.DataObject) -> None:
        state = self.model.state(name)
        if not batch or batch[0]["id"] in state.nodes:
            return
        leaf = state.active()
        expected = (leaf.id if leaf else None) if right else data.draw(st.sampled_from([None, "nobody", *state.nodes]))
        parent: Any = data.draw(st.sampled_from([LATEST, None, *state.nodes]))
        if len(batch) == 1:
            self.both(name, lambda s: s.append_message(batch[0], parent_id=parent, expected_leaf=expected))
        else:
            self.both(name, lambda s: s.append_messages(batch, parent_id=parent, expected_leaf=expected))

    @rule(name=ANY_SESSION, message=messages(), verb=st.integers(0, 5))
    def name_nobody(self, name: str, message: Message, verb: int) -> None:
        """Ids that no message has: an error of ours, or nothing."""
        calls: list[Callable[[Session], Any]] = [
            lambda s: s.append_message(message, parent_id="nobody"),
            lambda s: s.append_messages([message, message], parent_id="nobody"),
            lambda s: s.upsert_message(message, parent_id="nobody"),
            lambda s: s.select_leaf("nobody"),
            lambda s: s.delete_branch("nobody"),
            lambda s: s.delete_messages(["nobody", "no one"]),
        ]
        self.both(name, calls[verb])

    @rule(name=ANY_SESSION, message=messages())
    def post_back_overlay(self, name: str, message: Message) -> None:
        """A summary that a client posts back is stored by nothing but an import."""
        overlay: Message = {**message, "id": f"compaction_{message['id']}"}
        self.both(name, lambda s: [s.append_message(overlay), *s.append_messages([overlay]), s.upsert_message(overlay)])
        self.both(name, lambda s: s.update_message(overlay))

    @rule(
        name=ANY_SESSION,
        number=st.integers(1, 3),
        metadata=client_metadata,
        verb=st.sampled_from(("append_message", "update_message", "upsert_message")),
        source=st.sampled_from(("client", "client", "server")),
    )
    def post(self, name: str, number: int, metadata: dict[str, Any], verb: str, source: str) -> None:
        """Clients and the server write the same few messages, with reserved keys."""
        message = {"id": f"posted-{number}", "role": "user", "parts": [], "metadata": metadata}
        self.both(name, lambda s: getattr(s, verb)(message, source=source))

    @rule(name=ANY_SESSION, number=st.integers(0, 10))
    def echo(self, name: str, number: int) -> None:
        """A client's echo of what is stored changes nothing."""
        nodes = self.model.state(name).by_age()
        before = self.model.latest_seq
        if nodes and number < len(nodes) and nodes[number].id.startswith("posted-"):
            stored = nodes[number].message
            self.both(name, lambda s: s.update_message(stored, source="client"))
            assert self.model.latest_seq == before == self.sessions.latest_seq

    @rule(name=ANY_SESSION, conversation=conversations(max_size=6).flatmap(st.permutations), when=times())
    def import_shuffled(self, name: str, conversation: list[tuple[Message, str | None]], when: datetime) -> None:
        """In any order: a child waits for its parent."""
        rows = [ImportRow(message, parent_id=parent, created_at=when) for message, parent in conversation]
        self.both(name, lambda s: s.import_messages(rows))

    @rule(name=ANY_SESSION, message=messages(), when=times())
    def import_orphan(self, name: str, message: Message, when: datetime) -> None:
        """A row whose parent never comes is named; the others stay."""
        first = ImportRow(message, parent_id=None, created_at=when)
        orphan = ImportRow({**message, "id": "orphan"}, parent_id="nobody", created_at=when)
        self.both(name, lambda s: s.import_messages([orphan, first]))

    @rule(name=ANY_SESSION)
    def delete_session(self, name: str) -> None:
        self.sessions.delete_session(name)
        self.model.delete_session(name)

    @rule(tree=nested())
    def transaction(self, tree: Nested) -> None:
        """Nested transactions, kept and rolled back; nothing is heard before the end."""
        heard = len(self.received)
        self.perform(tree, heard)

    def perform(self, tree: Nested, heard: int) -> None:
        saved = self.model.saved()
        with suppress(RolledBack), self.sessions.transaction():
            for step in tree.steps:
                if isinstance(step, Nested):
                    self.perform(step, heard)
                else:
                    self.both(step[0], step[1].apply)
                assert len(self.received) == heard, "an event went out before the commit"
            if not tree.kept:
                self.model.restore(saved)
                raise RolledBack

    @rule(name=ANY_SESSION, foreign=WRITES, own=WRITES, polled=st.booleans())
    def write_elsewhere(self, name: str, foreign: Write, own: Write, polled: bool) -> None:
        """Another store writes, and this one's next write comes after it, on the state that it left."""
        before, heard = self.model.latest_seq, len(self.model.emitted)
        self.both(name, foreign.apply, self.second)
        self.model.emitted[heard:] = self.model.log[before:]  # a repeated append is told where it happened
        if polled:
            assert self.sessions.poll() == self.model.latest_seq - before
        self.both(name, own.apply)
        self.sessions.poll()  # what changed nothing has told nothing

    @rule(source=ANY_SESSION, number=st.none() | st.integers(0, 20))
    def copy_within(self, source: str, number: int | None) -> None:
        """The whole of a session, or one path, into another of the store: from then on compared like any other."""
        target = NAMES[1 - NAMES.index(source)]
        nodes = self.model.state(source).by_age()
        leaf_id = None if number is None or not nodes else nodes[number % len(nodes)].id
        if self.model.state(target).metadata_version and not self.model.state(source).metadata_version:
            return
        found = outcome(lambda: self.sessions.session(source).copy_to(self.sessions.session(target), leaf_id=leaf_id))
        expected = outcome(lambda: self.model.session(source).copy_to(self.model.session(target), leaf_id=leaf_id))
        same("copy", expected, found)

    @rule(source=ANY_SESSION)
    def copy_out(self, source: str) -> None:
        """A copy in another store reads the same in all but its numbers."""
        with Sessions() as elsewhere:
            copied = elsewhere.session("copied")
            self.sessions.session(source).copy_to(copied)
            state = self.model.state(source)
            same(
                "age", [node.id for node in state.by_age()], [i.id for i in sorted(copied.tree(), key=lambda i: i.seq)]
            )
            numbers = {info.id: info.seq for info in copied.tree()}
            nodes = {name: attrs.evolve(node, born=numbers[name]) for name, node in state.nodes.items()}
            check_session(copied, attrs.evolve(state, nodes=nodes))
            check_invariants(elsewhere, rebuild=True)

    @rule()
    def all_reads_agree(self) -> None:
        check_invariants(self.second)

    @rule()
    def reopen(self) -> None:
        self.sessions.close()
        self.sessions = self.open()
        self.attach()

    @rule()
    def rebuild(self) -> None:
        before = tables(self.path)
        self.sessions.rebuild()
        assert tables(self.path) == before

    @precondition(lambda self: self.model.latest_seq)
    @rule(data=st.data())
    def look_back(self, data: st.DataObject) -> None:
        seq = data.draw(st.integers(0, self.model.latest_seq), label="seq")
        with self.sessions.at(seq) as view:
            check_past(view, self.model, seq)
            if seq in self.recorded:
                assert infos_of(view) == self.recorded[seq]

    # -- what holds after every step ------------------------------------------------------------------------------

    @invariant()
    def everything_agrees(self) -> None:
        """One invariant, so that a failing run prints as its steps."""
        assert self.sessions.latest_seq == self.model.latest_seq
        check_store(self.sessions, self.model.sessions)
        check_store(self.second, self.model.sessions)
        self.check_log()
        self.check_heard()
        for name in NAMES:
            same(f"mirror of {name!r}", reduced(self.model.emitted, name), self.mirrored[name])
        report = self.sessions.verify()
        assert report.ok, report.problems
        self.recorded[self.model.latest_seq] = infos_of(self.sessions)

    def check_log(self) -> None:
        """The log is complete, and reads by the rule of retention."""
        events = list(self.sessions.events(0))
        assert len(events) == len(self.model.log)
        for event, entry in zip(events, self.model.log, strict=True):
            check_event(event, entry, self.model)

    def check_heard(self) -> None:
        """Every event once, in order; a repeated append with the number of the one before it."""
        heard = [[event.type, event.seq, event.session_id, getattr(event, "inserted", True)] for event in self.received]
        emitted = [[entry.type, entry.seq, entry.session_id, entry.inserted] for entry in self.model.emitted]
        same("heard", emitted, heard)


TestStore = StoreMachine.TestCase
