"""What the parts of one store share: its database, its feed, its settings and what it keeps in memory.

Everything kept in memory is one more projection: it is checked against the log where it is used, and dropped whole when
a transaction is rolled back, since its seqs are then given out again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING

from eventstore import feed, log
from eventstore.bodies import Growing
from eventstore.database import Database
from eventstore.drafting import Drafting
from eventstore.driver import Connection
from eventstore.errors import InvalidArgument
from eventstore.feed import Feed
from eventstore.heads import KeptHeads
from eventstore.history import Read
from eventstore.totals import PathTotals

if TYPE_CHECKING:
    from eventstore.events import Event
    from eventstore.tailing import Watcher

GROWING_MESSAGES = 8  # texts of streamed replies kept to compare the next update with
GROWING_CHARACTERS = 16 * 1024 * 1024  # of all of them, media too


class GrowingTexts:
    """The last texts of messages that were updated, by (message, version). Only used under the write lock.

    A version is (seq, time of recording): where an older state of the file was put back, another has its seq.
    """

    def __init__(self) -> None:
        self._texts: dict[int, tuple[tuple[int, int], Growing]] = {}

    def get(self, message: int, version: tuple[int, int]) -> Growing | None:
        """The text of a version, if it is kept."""
        kept = self._texts.get(message)
        return kept[1] if kept is not None and kept[0] == version else None

    def put(self, message: int, version: tuple[int, int], growing: Growing) -> None:
        """Keeps a text, and lets the oldest go."""
        self._texts.pop(message, None)
        self._texts[message] = (version, growing)
        sizes = {message: kept.size for message, (_, kept) in self._texts.items()}
        while len(self._texts) > GROWING_MESSAGES or sum(map(sizes.__getitem__, self._texts)) > GROWING_CHARACTERS:
            del self._texts[next(iter(self._texts))]

    def forget(self) -> None:
        """Drops them all."""
        self._texts.clear()


class Scope:
    """An open transaction, or savepoint, in which a read began that goes on in steps."""

    def __init__(self, outer: Scope | None) -> None:
        self._outer = outer
        self.undone = False

    def is_undone(self) -> bool:
        """Whether it was rolled back, or one that it was released into."""
        return self.undone or (self._outer is not None and self._outer.is_undone())


class Store:
    """One open store, inside. `Sessions` is its face."""

    def __init__(
        self,
        database: Database,
        drafting: Drafting,
        sender: Callable[[str], object],
    ) -> None:
        self.database = database
        self.end = database.end
        """Ends what `begin` opened; events go out when the outermost is over."""
        self.drafting = drafting
        self.heads = KeptHeads()
        self.totals = PathTotals()
        self.growing = GrowingTexts()
        self._pending: list[Event | int] = []  # what the open transaction will emit
        self._marks: list[tuple[int, int]] = []  # (events pending, newest logged) that each open savepoint found
        self._scopes: list[Scope] = []  # of the open transactions, as far as a read that goes on began in them
        self._logged = 0  # the newest seq that the open transaction logged
        self.at_work = 0  # how deep in the open transaction a write is at work; 0: none is
        self.impatient: int | None = None  # the thread whose writes don't wait for others
        self._settled = False  # whether the last transaction was committed, as far as what is kept in memory knows
        self.feed = Feed(self._read_log, self.committed_seq, sender, database.in_transaction)
        database.commit_hook = self._committed
        self.compacting: set[str] = set()  # the sessions that are compacted when they have grown enough
        self.due_hook: Callable[[str], object] = lambda _name: None  # called when one of them grew, with no lock held
        self._growing: dict[str, None] = {}  # those that the open transaction made longer
        self._grown = threading.local()  # and those that what this thread committed did
        database.release_hook = self._released
        database.rollback_hook = self._rolled_back
        self.watchers: list[Watcher] = []
        database.closing_hook = self._close_watchers

    def read(self) -> AbstractContextManager[Connection]:
        """A connection that shows one state."""
        return self.database.read()

    def lasting_read(self, _name: str = "") -> Read:
        """`read`, for what is read in steps. Where the transaction that it begins in is rolled back, it raises
        `InvalidArgument` from then on: the numbers that it would go on with may be given to others by then."""
        depth = self.database.depth
        if not depth:
            return self.read
        while len(self._scopes) < depth:
            self._scopes.append(Scope(self._scopes[-1] if self._scopes else None))
        return partial(self._read_on, self._scopes[depth - 1])

    def _read_on(self, scope: Scope) -> AbstractContextManager[Connection]:
        if scope.is_undone():
            raise InvalidArgument(
                "this iterator was begun inside a transaction() that was rolled back since: begin it again"
            )
        return self.read()

    def read_session(self, name: str) -> AbstractContextManager[Connection]:
        """As `read`: the file holds every session."""
        return self.database.read()

    def position(self, connection: Connection) -> int:
        """The seq that a connection's state is of."""
        return log.latest_seq(connection)

    def check_idle(self) -> None:
        """Raises `InvalidArgument` inside a write of this thread's: what it decides on must not change under it."""
        if self.at_work and self.database.depth:
            raise InvalidArgument(
                "count_tokens or progress, called by a write, can't write to the same store: keep what it has to say, "
                "and write that when the call has returned"
            )

    def begin(self, patience: float | None = None) -> Connection:
        """Opens one transaction, or a savepoint in the one that is open. `end` must follow. It waits for others
        `patience` seconds at most, and `busy_timeout` where none are given."""
        outer = self.database.depth
        if outer:
            del self._scopes[outer:]  # of savepoints that are over
            self._marks[outer - 1 :] = [(len(self._pending), self._logged)]  # in place of those that are over
            return self.database.begin(patience)
        if self.impatient is not None and self.impatient == threading.get_ident():
            patience = 0.0
        connection = self.database.begin(patience)
        if not self._settled:  # an interrupted write may have left something
            self._rolled_back(0)
        self._settled = False
        return connection

    @contextmanager
    def transaction(self, patience: float | None = None) -> Iterator[Connection]:
        """`begin` and `end` around a block.

        An interrupt (Ctrl-C) may have struck as the `__exit__` of a block inside began: what that one left open is
        rolled back here. Where it strikes as the outermost begins, this is closed once the error is let go.
        """
        outer, number = self.database.depth, None
        try:
            try:
                connection = self.begin(patience)
                number = self.database.number
                yield connection
                self.end(None)
            except BaseException as error:
                self._give_up(outer, number, error)
                raise
        except BaseException as error:  # an interrupt may have come in the midst of that
            self._give_up(outer, number, error)
            raise

    def _give_up(self, outer: int, number: int | None, error: BaseException) -> None:
        if number in (None, self.database.number):
            self.end_all(outer, error)

    def end_all(self, outer: int, error: BaseException) -> None:
        """Rolls back all that is open beyond the depth `outer`."""
        while self.database.depth > outer:
            self.end(error)

    def _close_watchers(self) -> None:
        for watcher in list(self.watchers):
            watcher.close()

    # ---- the feed's view

    def committed_seq(self) -> int:
        """The newest seq that is durable: inside a transaction, the one that listeners know."""
        if self.database.in_transaction():
            return self.feed.cursor
        return self.database.read_once(log.latest_seq)

    def _read_log(self, after: int, upto: int) -> list[Event]:
        from eventstore import replay

        with self.read() as connection:
            return replay.read_window(connection, after, upto)

    def logged(self, seq: int) -> None:
        """Notes the newest event of the open transaction."""
        self._logged = seq

    def emit(self, event: Event | int) -> None:
        """Queues an event (an int: all of the log up to it) for after the commit."""
        self._pending.append(event)

    def can_queue(self) -> bool:
        """Whether an event should be built now; else it is read from the log when its turn comes."""
        return len(self._pending) < feed.WINDOW_EVENTS

    def _committed(self) -> None:
        if self._logged or self._pending:
            self.feed.committed(self._pending, self._logged)
            self._pending, self._logged = [], 0
        if self._growing:
            self._grown.__dict__.setdefault("names", {}).update(self._growing)
            self._growing.clear()
        self._scopes.clear()
        self._settled = True

    def grew(self, name: str) -> None:
        """Notes that a session has new messages: whether it is to be compacted is asked once they are delivered."""
        if name in self.compacting:
            self._growing[name] = None

    def _released(self) -> None:
        self.feed.deliver()
        if self.compacting:
            self.compact_due()

    def compact_due(self) -> None:
        """Compacts what this thread's writes made due. Inside a listener nothing: the outer write goes on to it."""
        names = self._grown.__dict__.get("names")
        while names and not self.feed.is_delivering() and not self.database.in_transaction():
            self.due_hook(names.popitem()[0])

    def _rolled_back(self, depth: int) -> None:
        if self.at_work > depth:
            self.at_work = 0
        pending, self._logged = self._marks[depth - 1] if 0 < depth <= len(self._marks) else (0, 0)
        del self._pending[pending:]
        for scope in self._scopes[depth:]:
            scope.undone = True
        del self._scopes[depth:]
        self.heads.forget()
        self.totals.roll_back()
        self.growing.forget()
        if depth == 0:
            self._growing.clear()
