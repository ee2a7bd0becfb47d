"""Ctrl-C anywhere in a write: the store works on, for every thread and process, and its listeners miss nothing.

CPython raises `KeyboardInterrupt` behind certain instructions only. A trace function raises it here behind each of them
in turn, in our own frames, the entry of each function too; then a timer does, whenever it likes.
"""

from __future__ import annotations

import dis
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain, count, islice
from pathlib import Path
from types import FrameType
from typing import Any, Literal
from unittest.mock import patch

import pytest

import eventstore
from eventstore import LeafChanged, Session, Sessions, UnknownMessage, wal
from tests.unit.talk import Heard, ids, message

OURS = str(Path(eventstore.__file__).parent)
CHECKED = {
    number for name, number in dis.opmap.items() if name in ("CALL", "CALL_FUNCTION_EX", "RESUME") or "BACKWARD" in name
}
"""The instructions after which CPython looks whether a signal has come."""


CALLS_A_LISTENER = {"_call", "receiver"}
"""An interrupt as one of these begins is one as the listener begins: it is not called again."""


class Interrupt:
    """Raises `KeyboardInterrupt` at the place of that number. `passed` counts the places that were passed."""

    def __init__(self, number: int) -> None:
        self.passed = 0
        self._number = number
        self._last: tuple[FrameType, int] | None = None
        sys._getframe().f_trace_opcodes = True  # Python 3.12 tells of none where no frame has wanted them before

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> Any:
        file = frame.f_code.co_filename
        if not file.startswith(OURS) and not file.endswith("contextlib.py"):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            last, self._last = self._last, (frame, frame.f_code.co_code[frame.f_lasti])
            if last is not None and last[0] is frame and last[1] in CHECKED:
                self.passed += 1
                if self.passed == self._number:
                    self._last = None  # a frame kept here would keep what it holds
                    raise KeyboardInterrupt
        elif event == "call":  # a generator that goes on is called, too
            self._last = None if frame.f_code.co_name in CALLS_A_LISTENER else (frame, dis.opmap["RESUME"])
        elif event != "line":  # a return from Python isn't looked at
            self._last = None
        return self


def interrupted(work: Callable[[], object], number: int) -> bool:
    """Runs `work` with an interrupt at the place of that number. False when it has no such place."""
    interrupt = Interrupt(number)
    before = sys.gettrace()
    sys.settrace(interrupt)
    try:
        work()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return interrupt.passed >= number


def append(session: Session) -> None:
    session.append_message(message("new"))


def in_transactions(session: Session) -> None:
    with session.sessions.transaction():
        session.append_message(message("new"))
        with session.sessions.transaction():
            session.update_message(message("new", "changed"))


def refused(session: Session) -> None:
    with suppress(UnknownMessage):
        session.append_message(message("new"), parent_id="nowhere")


def rolled_back(session: Session) -> None:
    with suppress(ZeroDivisionError), session.sessions.transaction():
        session.append_messages([message("new"), message("newer")])
        raise ZeroDivisionError


def rolled_back_inside(session: Session) -> None:
    """The outer transaction goes on behind an interrupt of the inner one."""
    with session.sessions.transaction():
        session.append_message(message("kept"))
        with suppress(ZeroDivisionError, KeyboardInterrupt), session.sessions.transaction():
            session.append_message(message("new"))
            raise ZeroDivisionError
        with suppress(LeafChanged, KeyboardInterrupt):
            session.append_messages([message("kept"), message("newer")], expected_leaf="nowhere")
        session.append_message(message("kept too"))


def check_that_it_works_on(session: Session, path: Path | None, heard: Heard) -> None:
    sessions = session.sessions
    before = sessions.latest_seq
    assert session.append_message(message("after")).seq == before + 1
    thread = threading.Thread(target=session.append_message, args=(message("of a thread"),))
    thread.start()
    thread.join()
    assert ids(session.get_history())[-2:] == ["after", "of a thread"]
    if path is not None:
        with Sessions(path, durability="normal", busy_timeout=0.2) as other:
            assert other.session(session.session_id).get_message("after") is not None
            other.session(session.session_id).append_message(message("of another store"))
    sessions.poll()
    assert heard.seqs == list(range(1, sessions.latest_seq + 1))


TOGETHER = 8
"""Places on one store, each in a session of its own: it works on behind each of them, and is verified at its end."""


def places(
    work: Callable[[Session], None], path: Path | None, step: int, durability: Literal["normal", "full"] = "normal"
) -> Iterator[int]:
    """Interrupts `work` at every so many places, and checks the store after each."""
    numbers = count(1, step)
    found = True
    while found:
        number = next(numbers)
        place = None if path is None else path.with_name(f"{number}.db")
        with Sessions(place or ":memory:", durability=durability, busy_timeout=0.2) as sessions:
            heard = Heard()
            sessions.subscribe(heard)
            for each in chain((number,), islice(numbers, TOGETHER - 1)):
                session = sessions.session(f"{each}")
                session.append_message(message("first"))
                found = interrupted(lambda session=session: work(session), each)  # type: ignore[misc]
                if not found:
                    break
                check_that_it_works_on(session, place, heard)
                yield each
            assert sessions.verify().ok


@pytest.mark.parametrize(
    ("work", "step"), [(append, 1), (in_transactions, 2), (refused, 2), (rolled_back, 2), (rolled_back_inside, 7)]
)
def test_a_store_in_memory_works_on_after_an_interrupt_anywhere(work: Callable[[Session], None], step: int) -> None:
    assert len(list(places(work, None, step))) > 50


@pytest.mark.parametrize("durability", ["normal", "full"])
def test_a_store_on_a_file_works_on_after_an_interrupt_anywhere(
    path: Path, durability: Literal["normal", "full"]
) -> None:
    with patch.multiple(wal, ROOM_BYTES=2**40, AHEAD_BYTES=(1, 1)):  # the WAL's file is looked at in each commit
        assert len(list(places(in_transactions, path, 9, durability))) > 20


@pytest.mark.parametrize("in_memory", [False, True])
def test_a_view_reads_on_after_an_interrupt_anywhere(path: Path, in_memory: bool) -> None:
    """What a replay had written when it was interrupted isn't in its way."""
    with Sessions(":memory:" if in_memory else path) as sessions:
        session = sessions.session()
        session.append_messages([message(each) for each in "abc"])
        session.append_message(message("branch"), parent_id="a")
        session.delete_messages(["b"])
        expected = session.get_history(), session.info()
        number, was_interrupted = 1 + 2 * in_memory, True
        while was_interrupted:
            with sessions.at(sessions.latest_seq) as view:
                past = view.session()
                was_interrupted = interrupted(past.get_history, number)
                assert (past.get_history(), past.info()) == expected
            number += 4
    assert number > 200


def test_what_is_kept_beside_a_file_works_on_after_an_interrupt_anywhere(path: Path) -> None:
    with Sessions(path) as sessions:
        sessions.session().append_message(message("first", "some words"))

    def look(sessions: Sessions) -> None:
        with sessions._store.database.aside() as connection:
            connection.execute("SELECT 1")

    number, was_interrupted = 1, True
    while was_interrupted:
        with Sessions(path, read_only=True) as sessions:
            was_interrupted = interrupted(lambda: look(sessions), number)
            assert [found.id for found in sessions.session().search("words")] == ["first"]
        number += 1
    assert number > 50


def idle_transaction(sessions: Sessions) -> bool:
    """Whether nobody would have to wait for this store."""
    database = sessions._store.database
    assert database._writer is not None
    return not (database.in_transaction() or database._writer.in_transaction)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs setitimer")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of those that a callback swallows
@pytest.mark.parametrize("work", [append, in_transactions, refused])
@pytest.mark.parametrize("kept", [False, True])
def test_interrupts_at_any_moment_leave_no_transaction_open(
    path: Path, work: Callable[[Session], None], kept: bool
) -> None:
    """A write is over when its error comes out, also where somebody keeps the error, and its frames with it."""
    chance = random.Random(0)
    interrupts: list[KeyboardInterrupt] = []
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    with Sessions(path, durability="normal", busy_timeout=0.2) as sessions:
        session = sessions.session()
        try:
            while len(interrupts) < 150:
                try:
                    # Again and again: one that strikes inside a callback of SQLite is told there, and goes no further.
                    signal.setitimer(signal.ITIMER_REAL, chance.uniform(5e-5, 5e-4), 0.1)
                    while True:
                        work(session)
                except KeyboardInterrupt as error:
                    signal.setitimer(signal.ITIMER_REAL, 0)
                    interrupts.append(error if kept and work is append else KeyboardInterrupt())
                assert idle_transaction(sessions)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        last = sessions.latest_seq
        with Sessions(path, durability="normal", busy_timeout=0) as other:
            assert other.latest_seq == last
            other.session().append_message(message("of another"))
        assert sessions.verify().ok
