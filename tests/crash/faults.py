"""Calls into the file system that fail, each in its turn: what a store does then, and after.

A work is done again and again, each time on a session of its own, and each time the next of its calls fails, until one
has so few that none did. The session is prepared through another store, so that the writer has nothing in its cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import chain, count
from pathlib import Path
from typing import Any, Protocol

import apsw
import attrs

from eventstore import Event, EventStoreError, Session, Sessions, StoreView
from tests.crash.disk import Disk, Short, Torn
from tests.crash.syscalls import Syscalls
from tests.crash.works import WORKS, course, small_files, state_of
from tests.keeping import watch
from tests.laws.verbs import LONG, message, prepare

BROKEN: dict[str, tuple[Callable[[], Exception], ...]] = {
    "open": (lambda: apsw.exception_for(apsw.SQLITE_CANTOPEN),),
    "read": (lambda: apsw.exception_for(apsw.SQLITE_IOERR_READ), Short),
    "write": (
        lambda: apsw.exception_for(apsw.SQLITE_IOERR_WRITE),
        lambda: apsw.exception_for(apsw.SQLITE_FULL),
        Torn,
    ),
    "sync": (lambda: apsw.exception_for(apsw.SQLITE_IOERR_FSYNC), lambda: apsw.exception_for(apsw.SQLITE_FULL)),
    "truncate": (lambda: apsw.exception_for(apsw.SQLITE_IOERR_TRUNCATE),),
    "size": (lambda: apsw.exception_for(apsw.SQLITE_IOERR_FSTAT),),
    "delete": (lambda: apsw.exception_for(apsw.SQLITE_IOERR_DELETE),),
    "access": (lambda: apsw.exception_for(apsw.SQLITE_IOERR_ACCESS),),
}
"""How each operation may fail. At a short read the file seems to end, a torn write leaves a part of itself."""
WAYS = max(map(len, BROKEN.values()))


class Failing(Protocol):
    """Something whose calls can be made to fail."""

    def fail(self, number: int, way: int, *, lasting: bool) -> object:
        """The call of that number fails from now on; with `lasting` all after it too."""

    def mend(self) -> bool:
        """Nothing fails any more. Whether anything did."""


class FailingDisk:
    """Makes calls into a `Disk` fail."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._hit = False

    def fail(self, number: int, way: int, *, lasting: bool) -> None:
        left = number

        def count_down(operation: str, _file: str) -> None:
            nonlocal left
            left -= 1
            if left == 0 or (lasting and left < 0):
                self._hit = True
                ways = BROKEN[operation]
                raise ways[way % len(ways)]()

        self._disk.before = count_down

    def mend(self) -> bool:
        self._disk.before = None
        hit, self._hit = self._hit, False
        return hit


@attrs.frozen
class Outcome:
    """What came of a call: what it gave, or our error."""

    value: Any = None
    error: EventStoreError | None = None


def outcome(call: Callable[[], Any]) -> Outcome:
    """Any other error is a defect, and goes on."""
    try:
        return Outcome(value=call())
    except EventStoreError as error:
        return Outcome(error=error)


@contextmanager
def failing_stores(path: Path) -> Iterator[tuple[Failing, Sessions, Sessions]]:
    """(a disk, a store on it, another that prepares and looks).

    Nothing is checkpointed but by `close`: SQLite passes over what fails in a checkpoint behind a commit, and a file
    layer of Python doesn't.
    """
    with small_files(wal_pages=1_000_000), Sessions(path, busy_timeout=0.02) as other, Disk() as disk:
        failing = FailingDisk(disk)
        with Sessions(path, busy_timeout=0.02) as sessions:
            watch(sessions)
            try:
                yield failing, sessions, other
            finally:
                failing.mend()


@contextmanager
def stores_over_calls(path: Path) -> Iterator[tuple[Failing, Sessions, Sessions]]:
    """As `failing_stores`, with what fails below SQLite's own file layer, and many checkpoints."""
    quick: Any = {"durability": "normal", "busy_timeout": 0.02}
    with small_files(), Syscalls() as calls, Sessions(path, **quick) as other, Sessions(path, **quick) as sessions:
        watch(sessions)
        try:
            yield calls, sessions, other
        finally:
            calls.mend()


Stores = Callable[[Path], AbstractContextManager[tuple[Failing, Sessions, Sessions]]]
OF_THE_WHOLE_FILE = ("prune", "search", "rebuild")
"""Works whose calls grow with the file: each try has one of its own."""


def every_write(
    folder: Path,
    name: str,
    way: int,
    *,
    lasting: bool = False,
    kept: bool = False,
    start: int = 1,
    step: int = 1,
    stores: Stores = failing_stores,
) -> int:
    """Each call of a work fails in its turn, or every so many. Gives how many it has. `kept`: the store itself has
    prepared the session, so that its pages are in the cache, and its head is kept."""
    numbers = count(start, step)
    while True:
        first = next(numbers)
        with stores(folder / f"{name} {first}.db") as (failing, sessions, other):
            for number in (first,) if name in OF_THE_WHOLE_FILE else chain((first,), numbers):
                if not one_write(failing, sessions, other, name, number, way, lasting=lasting, kept=kept):
                    assert other.verify().ok
                    return number - 1


def one_write(
    failing: Failing,
    sessions: Sessions,
    other: Sessions,
    name: str,
    number: int,
    way: int,
    *,
    lasting: bool,
    kept: bool,
) -> bool:
    """Does a work while one of its calls fails. False when it has no such call."""
    done = course(name)
    session_id = f"{name} {number}"
    session = sessions.session(session_id)
    prepare(session if kept else other.session(session_id))
    sessions.poll()
    heard: list[Event] = []
    with sessions.subscribe(heard.append):
        before = other.latest_seq
        failing.fail(number, way, lasting=lasting)
        found = outcome(lambda: WORKS[name].perform(session))
        hit = failing.mend()
        state = state_of(other, session_id)
        if found.error is None:
            assert state in done.states[done.prepared + 1 :] or state == done.last, "it returned, and isn't there"
        else:
            assert state in done.states[done.prepared : -1], f"it raised {found.error!r}, and it is there"
        go_on(session, other)
        sessions.poll()
        logged = {(event.seq, event.type) for event in other.events(before)}
        told = [(event.seq, event.type) for event in heard]
        assert set(told) == logged, f"heard {told}, logged {logged}"
        assert [seq for seq, _ in told] == sorted({seq for seq, _ in told})
    return hit


def go_on(session: Session, other: Sessions) -> None:
    """Writes to the session on the same store: each gets its place, and another store sees it."""
    session.on_compaction(None)
    latest, shown = other.latest_seq, other.session(session.session_id).get_history()
    assert session.append_message(message("on 1")).seq == latest + 1
    assert [result.seq for result in session.append_messages([message("on 2"), message("on 3")])] == [
        latest + 2,
        latest + 3,
    ]
    for number in range(2):
        session.update_message(message("on 3", LONG + "more " * number))
    session.delete_messages(["on 2"])
    ids = [each["id"] for each in other.session(session.session_id).get_history()]
    assert ids == [*(each["id"] for each in shown), "on 1", "on 3"]
    assert other.session(session.session_id).get_message("on 3") == message("on 3", LONG + "more ")
    assert [event.seq for event in other.events(latest)] == list(range(latest + 1, latest + 7))


READS: dict[str, Callable[[Session], Any]] = {
    "history": lambda s: s.get_history(),
    "streamed": lambda s: [list(s.history_batches(batch_size=1)), list(s.history(newest_first=True))],
    "recent": lambda s: s.get_recent_history(max_messages=2).to_dict()["messages"],
    "tree": lambda s: [(info.id, info.parent_id) for info in s.tree()],
    "leaves": lambda s: [leaf.id for leaf in s.get_leaves()],
    "search": lambda s: sorted(result.id for result in s.search("hello")),
    "events": lambda s: [event.type for event in s.events()],
    "replayed": lambda s: _replayed(s),
    "the past": lambda s: s.sessions.at(4).session(s.session_id).get_history(),
    "listed": lambda s: [info.session_id for info in s.sessions.list_sessions()],
    "verify": lambda s: s.sessions.verify().ok or None,
}
"""What is read. `None` stands for an answer that says that something is wrong."""


def _replayed(session: Session) -> list[int]:
    heard: list[int] = []
    session.subscribe(lambda event: heard.append(event.seq), after=0).close()
    return heard


def every_read(path: Path, name: str, way: int, *, read_only: bool, lasting: bool = False, step: int = 1) -> int:
    """Each call of a read fails in its turn, in a store that has just been opened: it raises our error, or is right."""
    with small_files():
        if not path.exists():
            with Sessions(path) as sessions:
                prepare(sessions.session("a")).search("hello")
        with Sessions(path, read_only=True) as sessions:
            expected = READS[name](sessions.session("a"))
        with Disk() as disk:
            failing = FailingDisk(disk)
            for number in count(1, step):
                with Sessions(path, read_only=read_only) as sessions:
                    failing.fail(number, way, lasting=lasting)
                    found = outcome(lambda: READS[name](sessions.session("a")))
                    hit = failing.mend()
                    assert found.error is not None or found.value in (expected, None), found.value
                    assert READS[name](sessions.session("a")) == expected, "it doesn't read on"
                if not hit:
                    return number - 1
    raise AssertionError("unreachable")


def every_look_back(path: Path, way: int, *, lasting: bool = False, step: int = 1) -> int:
    """Each call of a view's reads fails in its turn: it raises our error, or is right, and the same view reads on."""
    with small_files(), Sessions(path) as sessions, Disk() as disk:
        for name in ("a", "b"):
            prepare(sessions.session(name)).append_messages([message(f"m{n}", LONG) for n in range(60)])
        failing = FailingDisk(disk)
        with sessions.at(sessions.latest_seq - 1) as view:
            expected = _look_back(view)
        for number in count(1, step):
            with Sessions(path) as reading, reading.at(view.seq) as view:
                failing.fail(number, way, lasting=lasting)
                found = outcome(lambda: _look_back(view))
                hit = failing.mend()
                assert found.error is not None or found.value == expected, found.value
                assert _look_back(view) == expected, "it doesn't read on"
            if not hit:
                return number - 1
    raise AssertionError("unreachable")


def _look_back(view: StoreView) -> list[Any]:
    return [(info, view.session(info.session_id).get_history()) for info in view.list_sessions()]


def every_opening(folder: Path, way: int, *, lasting: bool = False, step: int = 1) -> int:
    """Each call of opening a new file and closing it fails in its turn: the next opening finds it whole, or new."""
    with Disk() as disk:
        failing = FailingDisk(disk)
        for number in count(1, step):
            path = folder / f"{number}.db"
            failing.fail(number, way, lasting=lasting)
            written = outcome(lambda: _open_write_close(path))  # noqa: B023
            hit = failing.mend()
            with Sessions(path) as sessions:
                there = [each["id"] for each in sessions.session().get_history()]
                assert there == ["a"] if written.error is None else there in ([], ["a"])
                assert sessions.verify().ok
            if not hit:
                return number - 1
    raise AssertionError("unreachable")


def _open_write_close(path: Path) -> None:
    sessions = Sessions(path, busy_timeout=0.02)
    try:
        sessions.session().append_message({"id": "a", "role": "user", "parts": []})
    except BaseException:
        with suppress(EventStoreError):
            sessions.close()
        raise
    sessions.close()
