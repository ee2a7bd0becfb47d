"""Writers that keep much in memory, with everything that could make it stale, compared with the file at each write.

Several stores on one file in each of several processes, threads on each: every verb, many sessions, transactions and
savepoints that are rolled back, interrupts, refused writes, housekeeping, checkpoints; and processes that are killed.
"""

from __future__ import annotations

import json
import random
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import apsw
import attrs

from eventstore import LeafChanged, Session, Sessions, driver, seams, totals
from eventstore.heads import MOST_KEPT
from eventstore.testing import check_invariants
from tests.crash.kills import Child, fork
from tests.keeping import Uses, watch, watched_places
from tests.processes.races import ACTIONS, LIMIT, Racer, message

FEW = ("s0", "s1", "s2")
MANY = tuple(f"many {number}" for number in range(MOST_KEPT + 30))
INTERRUPTED = 0.003  # of the seams that are passed
SHORT_TAIL = 3  # messages behind which a sum is kept: these sessions are short
CHECKPOINTS = (apsw.SQLITE_CHECKPOINT_PASSIVE, apsw.SQLITE_CHECKPOINT_RESTART, apsw.SQLITE_CHECKPOINT_TRUNCATE)


Work = Callable[[Callable[[str], object]], None]


class Undone(Exception):
    """Ends a transaction that is meant to be rolled back."""


class Keeper(Racer):
    """One thread that writes to a few sessions again and again, and now and then to more than are kept."""

    def __init__(self, sessions: Sessions, name: str, seed: int, place: Path | None) -> None:
        super().__init__(sessions, name, seed)
        self._place = place

    def step(self) -> None:
        done = len(self.journal)
        try:
            self._act(KEEPING, FEW)
        except KeyboardInterrupt:
            del self.journal[done:]  # some of it may be there

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """One that may be undone, by `Undone` too."""
        done = len(self.journal)
        try:
            with self._sessions.transaction():
                yield
        except Undone:
            del self.journal[done:]
        except BaseException:
            del self.journal[done:]
            raise

    def several(self, session: Session) -> None:
        """Writes to one session, of which the first keeps what the next begin with."""
        for _ in range(self._chosen.randrange(2, 6)):
            self._chosen.choice(WRITES)(self, session)

    def sweep(self, _session: Session) -> None:
        """Writes to more sessions than are kept."""
        for name in self._chosen.sample(MANY, self._chosen.choice((5, 5, len(MANY)))):
            self._store(self._sessions.session(name), self._sessions.session(name).append_message(self._new()))

    def undone(self, session: Session) -> None:
        with self._transaction():
            self.append(session)
            self.several(session)
            self._chosen.choice(WRITES)(self, self._sessions.session(self._chosen.choice(FEW)))
            raise Undone

    def undone_in_part(self, session: Session) -> None:
        with self._transaction():
            self.append(session)
            self._undone_savepoint(session, self._chosen.randrange(3))
            self.append(session)
            session.token_estimate()

    def _undone_savepoint(self, session: Session, deeper: int) -> None:
        with self._transaction():
            self.append_many(session)
            session.token_estimate()
            if deeper:
                self._undone_savepoint(session, deeper - 1)
                self.append(session)
            if self._chosen.random() < 0.6:
                raise Undone

    def refuse(self, session: Session) -> None:
        self.append(session)
        with suppress(LeafChanged):
            session.append_messages([self._new(), self._new()], expected_leaf="nobody")
        self.append(session)

    def stream(self, session: Session) -> None:
        """A reply that grows, by itself or undone on the way."""
        reply, text = self._new(), "a reply that grows, of which each version goes on from the one before it. " * 40
        session.append_message(reply)
        for number in range(3):
            text += f"{number} and more of it "
            with self._transaction():
                session.update_message(message(reply["id"], text))
                if self._chosen.random() < 0.3:
                    raise Undone

    def measure(self, session: Session) -> None:
        for _ in range(3):
            session.token_estimate()
            session.get_recent_history(max_messages=3)
            self.append(session)

    def keep_house(self, _session: Session) -> None:
        what = self._chosen.randrange(5)
        if what == 0:
            self._sessions.rebuild()
        elif what == 1:
            self._sessions.scavenge(vacuum=self._chosen.random() < 0.5)
        elif what == 2:
            assert self._sessions.verify().ok
        elif self._place is not None and what == 3:
            target = self._place.with_name(f"{self._name} {self.calls}.db")
            self._sessions.backup(target)
            target.unlink()
        elif self._place is not None:
            self._checkpoint(self._place)

    def _checkpoint(self, place: Path) -> None:
        """By a connection that is no store's: the WAL begins anew, or is gone."""
        with closing(driver.open_writer(str(place), 1.0)) as connection, suppress(apsw.BusyError):
            connection.wal_checkpoint(mode=self._chosen.choice(CHECKPOINTS))


_K = Keeper
WRITES: tuple[Callable[[Any, Session], None], ...] = (
    *(_K.append, _K.append_many, _K.change, _K.upsert, _K.delete, _K.select, _K.describe, _K.import_some, _K.branch),
)
KEEPING: tuple[Callable[[Any, Session], None], ...] = (
    *ACTIONS,
    *(_K.several, _K.undone, _K.undone_in_part, _K.refuse, _K.stream, _K.measure) * 3,
    *(_K.sweep, _K.keep_house),
)


@contextmanager
def interrupts(seed: int, share: float = INTERRUPTED) -> Iterator[Counter[str]]:
    """Raises `KeyboardInterrupt` in whichever thread passes a seam, now and then. Gives at which."""
    chosen = random.Random(seed)
    struck: Counter[str] = Counter()

    def strike(seam: str) -> None:
        if chosen.random() < share:
            struck[seam] += 1
            raise KeyboardInterrupt

    seams.hook = strike
    try:
        yield struck
    finally:
        seams.hook = None


@attrs.define
class Kept:
    """What came of it."""

    calls: int = 0
    written: int = 0  # events
    killed: int = 0  # processes
    uses: Uses = attrs.Factory(Uses)
    struck: Counter[str] = attrs.Factory(Counter)
    """The seams at which interrupts struck."""


def keep(path: Path, seconds: float, *, processes: int = 2, stores: int = 2, threads: int = 2, seed: int = 0) -> Kept:
    """Processes write for so long, and beside them one after the other that is killed. Then the file is checked."""
    until = time.monotonic() + seconds
    chosen = random.Random(seed)
    writers = [fork(_writer(path, f"p{number}", until, stores, threads, seed)) for number in range(processes)]
    kept = Kept()
    while (left := until - time.monotonic()) > 0:
        victim = fork(_writer(path, f"v{kept.killed}", until + LIMIT, 1, 1, seed))
        time.sleep(min(left, chosen.random() * 0.5))
        victim.kill()
        _told(victim, may_be_killed=True)
        kept.killed += 1
    journal: list[tuple[int, str, str]] = []
    for writer in writers:
        told = _told(writer)
        kept.calls += told["calls"]
        kept.struck += Counter(told["struck"])
        for each in told["uses"]:
            _add(kept.uses, Uses(**each))
        journal += [(seq, session_id, message_id) for seq, session_id, message_id in told["journal"]]
    kept.written = _check(path, journal)
    return kept


def _add(uses: Uses, more: Uses) -> None:
    uses.heads += more.heads
    uses.totals += more.totals
    uses.texts += more.texts
    uses.most_heads = max(uses.most_heads, more.most_heads)


def _told(writer: Child, *, may_be_killed: bool = False) -> dict[str, Any]:
    code, lines = writer.end()
    if may_be_killed and code:
        assert not lines, lines
        return {}
    told: dict[str, Any] = json.loads(lines[-1])
    assert not told["wrong"], "\n".join(told["wrong"])
    return told


def _writer(path: Path, name: str, until: float, stores: int, threads: int, seed: int) -> Work:
    """Work for a child: a few stores on the file, some threads on each."""

    def work(tell: Callable[[str], object]) -> None:
        wrong: list[str] = []
        with ExitStack() as opened:
            options: Any = {"durability": "normal", "busy_timeout": LIMIT}
            each = [opened.enter_context(Sessions(path, **options)) for _ in range(stores)]
            uses = [watch(sessions) for sessions in each]
            opened.enter_context(patch.object(totals, "TAIL", SHORT_TAIL))
            opened.enter_context(watched_places())
            struck = opened.enter_context(interrupts(seed))
            keepers = [
                Keeper(sessions, f"{name}.{number}.{thread}", seed, path)
                for number, sessions in enumerate(each)
                for thread in range(threads)
            ]

            def run(keeper: Keeper) -> None:
                try:
                    keeper.run(until)
                except BaseException:  # noqa: BLE001
                    wrong.append(traceback.format_exc()[-3_000:])

            running = [threading.Thread(target=run, args=(keeper,)) for keeper in keepers]
            for thread in running:
                thread.start()
            for thread in running:
                thread.join()
        told = {
            "wrong": wrong,
            "calls": sum(keeper.calls for keeper in keepers),
            "struck": struck,
            "uses": [attrs.asdict(use) for use in uses],
            "journal": [entry for keeper in keepers for entry in keeper.journal],
        }
        tell(json.dumps(told))

    return work


def _check(path: Path, journal: list[tuple[int, str, str]]) -> int:
    """All that returned is there, nothing twice, and the file is whole. Gives how many events it has."""
    with Sessions(path, durability="normal") as sessions:
        report = sessions.verify()
        assert report.ok, report.problems
        log: dict[int, Any] = {event.seq: event for event in sessions.events()}
        assert list(log) == list(range(1, len(log) + 1)), "the log has a gap"
        assert len({seq for seq, _, _ in journal}) == len(journal), "a number was given twice"
        for seq, session_id, message_id in journal:
            event = log[seq]
            assert (event.session_id, event.message["id"]) == (session_id, message_id), f"event {seq} was lost"
        check_invariants(sessions)
    return len(log)
