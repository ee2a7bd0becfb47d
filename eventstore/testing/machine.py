"""`SessionMachine`: every write verb as a rule, for a state machine with invariants of one's own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

import eventstore.testing.writes as kinds
from eventstore import Session, Sessions
from eventstore.testing.writes import Write, any_write, write_kinds, writes

_KINDS = write_kinds()


class _RolledBack(Exception):
    """Ends a transaction that is meant to leave nothing."""


def _rule_of(kind: type[Write], name: str) -> Callable[[SessionMachine, Write], None]:
    """A rule that applies one kind of write to the machine's session. `name` is what a failing run prints."""

    def apply(self: SessionMachine, write: Write) -> None:
        write.apply(self.session)

    apply.__name__ = name
    return rule(write=_KINDS[kind])(apply)


class SessionMachine(RuleBasedStateMachine):
    """Writes to a session of a fresh store, in every way that there is.

    Subclass it, make in `setup()` what is tested, and say with hypothesis's `@invariant()` what must hold after every
    write; the subclass's attribute `TestCase` is a `unittest.TestCase` for pytest to collect:

        class CountMachine(SessionMachine):
            def setup(self):
                self.count = Count(self.session)

            @invariant()
            def right(self):
                assert self.count.value == len(list(self.session.tree()))

        TestCount = CountMachine.TestCase

    `self.session` is the session written to, `self.elsewhere` another one of the same store, written to now and then,
    and `self.sessions` the store: in memory, unless `open()` is overridden.
    """

    sessions: Sessions
    session: Session
    elsewhere: Session

    def __init__(self) -> None:
        super().__init__()
        self.sessions = self.open()
        try:
            self.session = self.sessions.session()
            self.elsewhere = self.sessions.session("elsewhere")
            self.setup()
        except BaseException:
            self.sessions.close()
            raise

    def open(self) -> Sessions:
        """A new, empty store. Override it for a file, or for other settings."""
        return Sessions()

    def setup(self) -> None:
        """Called once for each run, before its first write."""

    def teardown(self) -> None:
        """Closes the store. An override calls it."""
        self.sessions.close()

    add_compaction = _rule_of(kinds.AddCompaction, "add_compaction")
    append = _rule_of(kinds.Append, "append")
    append_many = _rule_of(kinds.AppendMany, "append_many")
    repeat_append = _rule_of(kinds.RepeatAppend, "repeat_append")
    update = _rule_of(kinds.Update, "update")
    grow = _rule_of(kinds.Grow, "grow")
    upsert = _rule_of(kinds.Upsert, "upsert")
    delete = _rule_of(kinds.Delete, "delete")
    delete_branch = _rule_of(kinds.DeleteBranch, "delete_branch")
    clear = _rule_of(kinds.Clear, "clear")
    select_leaf = _rule_of(kinds.SelectLeaf, "select_leaf")
    set_metadata = _rule_of(kinds.SetMetadata, "set_metadata")
    import_one = _rule_of(kinds.Import, "import_one")
    import_many = _rule_of(kinds.ImportMany, "import_many")

    @rule(history=writes(max_size=4), kept=st.booleans())
    def transaction(self, history: list[Write], kept: bool) -> None:
        """Several writes as one, kept or rolled back."""
        with suppress(_RolledBack), self.sessions.transaction():
            for write in history:
                write.apply(self.session)
            if not kept:
                raise _RolledBack

    @rule(write=any_write())
    def write_elsewhere(self, write: Write) -> None:
        """A write to another session of the store."""
        write.apply(self.elsewhere)

    @rule()
    def copy_elsewhere(self) -> None:
        """Copies the session over the other one, which is deleted first."""
        self.sessions.delete_session(self.elsewhere.session_id)
        self.session.copy_to(self.elsewhere)
