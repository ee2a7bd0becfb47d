"""Writers that are killed: at a seam of a write, at a call into the file system, at any moment.

Children are forked before they open anything, so that one interpreter gives hundreds. A child tells through a pipe what
has returned; what it leaves is held against the courses of its works.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs

from eventstore import Sessions, seams
from tests.crash.disk import Disk
from tests.crash.faults import go_on
from tests.crash.works import WORKS, Course, course, do, small_files, state_of
from tests.keeping import watch
from tests.laws.verbs import message, prepare

LONGEST_LIFE = 60  # seconds, after which a child that nobody killed ends itself


@attrs.frozen
class Child:
    """A forked process, and the pipe that it tells through."""

    pid: int
    pipe: int
    told: bytearray = attrs.Factory(bytearray)

    def wait_for(self, lines: int) -> None:
        """Waits until it has told so many lines, or is at its end."""
        while self.told.count(b"\n") < lines:
            more = os.read(self.pipe, 65_536)
            if not more:
                return
            self.told.extend(more)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def end(self) -> tuple[int, list[str]]:
        """Waits for its end. Gives its exit code (-9: killed), and the lines that it told."""
        with os.fdopen(self.pipe, "rb") as pipe:
            told = (bytes(self.told) + pipe.read()).decode()
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        assert code in (0, -signal.SIGKILL), told
        return code, told.splitlines()


def fork(work: Callable[[Callable[[str], object]], object]) -> Child:
    """Runs `work(tell)` in a child."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:  # pragma: no cover
        code = 1
        os.close(reading)
        sys.settrace(None)
        signal.alarm(LONGEST_LIFE)
        try:
            work(lambda line: os.write(writing, f"{line}\n".encode()))
            code = 0
        except BaseException:  # noqa: BLE001
            os.write(writing, traceback.format_exc().encode())
        os._exit(code)
    os.close(writing)
    return Child(pid, reading)


def die() -> None:
    """Ends this process as it is."""
    os.kill(os.getpid(), signal.SIGKILL)


def check_file(path: Path, states: dict[str, set[str]], *, returned: int = 0) -> None:
    """Each session is in one of its states; all up to event `returned` is there; it works on."""
    with Sessions(path, durability="normal") as sessions:
        report = sessions.verify()
        assert report.ok, report.problems
        seqs = [event.seq for event in sessions.events()]
        assert seqs == list(range(1, len(seqs) + 1)), "the feed has a gap"
        assert sessions.latest_seq == len(seqs) >= returned, f"{returned} events had returned, {len(seqs)} are there"
        for name, allowed in states.items():
            found = state_of(sessions, name)
            assert found in allowed, f"session {name!r} is half done: {found[:2_000]}"
        heard: list[int] = []
        sessions.subscribe(lambda event: heard.append(event.seq))
        sessions.session("after").append_message(message(f"after {len(seqs)}"))
        assert heard == [len(seqs) + 1]


# ---- at a seam


def at_a_passage(path: Path, name: str, number: int) -> None:
    """Kills a writer as it passes its seam of that number, and checks what is there."""
    done = course(name)
    session_id = f"{name} {number}"

    def work(tell: Callable[[str], object]) -> None:
        sessions = Sessions(path, durability="normal")
        session = prepare(sessions.session(session_id))
        left = number

        def count(seam: str) -> None:
            nonlocal left
            if left == 0:
                tell(seam)
                die()
            left -= 1

        seams.hook = count
        WORKS[name].perform(session)

    with small_files():
        code, told = fork(work).end()
    seam, state = done.passages[number]
    assert (code, told) == (-signal.SIGKILL, [seam]), (name, number, code, told, seam)
    check_file(path, {session_id: {done.states[state]}})


def passages() -> Iterator[tuple[str, int]]:
    """(work, number) of every seam that any work passes."""
    for name in WORKS:
        yield from ((name, number) for number in range(len(course(name).passages)))


# ---- at a call into the file system


def die_at(number: int) -> Callable[[str, str], None]:
    """For a disk to call before each call: ends this process at that of this number."""
    left = number

    def count(_operation: str, _file: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            die()

    return count


def at_a_call(path: Path, name: str, number: int) -> bool:
    """Kills a writer before its call of that number, from opening to closing. False when it has no such call."""
    done = course(name)
    session_id = f"{name} {number}"

    def work(tell: Callable[[str], object]) -> None:
        with Disk() as disk:
            disk.before = die_at(number)
            with Sessions(path) as sessions:
                do(WORKS[name], sessions.session(session_id))
                tell("returned")

    with small_files():
        code, told = fork(work).end()
    check_file(path, {session_id: {done.last} if told else set(done.states)})
    return code != 0


def beside_another(path: Path, name: str, number: int) -> bool:
    """As `at_a_call`, of the work alone, while a store that has prepared the session stays open: it writes on, with
    what it keeps of it. The child is there before that store: SQLite's memory must not be forked."""
    done = course(name)
    session_id = f"{name} {number}"
    waiting, going = os.pipe()

    def work(tell: Callable[[str], object]) -> None:
        os.read(waiting, 1)
        with Disk() as disk, Sessions(path, durability="normal") as sessions:
            disk.before = die_at(number)
            WORKS[name].perform(sessions.session(session_id))
            disk.before = None
            tell("returned")

    with small_files():
        child = fork(work)
        with Sessions(path, durability="normal") as sessions:
            watch(sessions)
            session = prepare(sessions.session(session_id))
            os.write(going, b"!")
            os.close(going)
            os.close(waiting)
            code, told = child.end()
            assert state_of(sessions, session_id) in ({done.last} if told else set(done.states[done.prepared :]))
            go_on(session, sessions)
            assert sessions.verify().ok
    return code != 0


# ---- at any moment


@attrs.frozen
class Random:
    """One writer, killed at a random moment."""

    written: int
    """Works that had returned."""
    states: dict[str, set[str]]
    """What its sessions may be."""
    returned: int
    """The last event that had returned."""


def works_of(seed: int) -> Iterator[str]:
    """The works that a random writer does, one after the other."""
    chosen, names = random.Random(seed), [name for name in WORKS if name != "prune"]  # it takes the sessions of others
    while True:
        yield chosen.choice(names)


def write_for_ever(path: Path, seed: int, durability: str) -> Callable[[Callable[[str], object]], None]:
    """Work for a child: works on sessions of their own, telling after each."""

    def work(tell: Callable[[str], object]) -> None:
        sessions = Sessions(path, durability=durability, busy_timeout=30)  # type: ignore[arg-type]
        for number, name in enumerate(works_of(seed)):
            do(WORKS[name], sessions.session(f"{seed}.{number}"))
            tell(str(sessions.latest_seq))
            if number % 7 == 6:
                sessions.close()
                sessions = Sessions(path, durability=durability, busy_timeout=30)  # type: ignore[arg-type]

    return work


def at_any_moment(path: Path, seed: int, longest: float, *, others: int = 0) -> Random:
    """Kills a writer at a moment drawn by `seed`: up to `longest` seconds after a few works, or as it begins. `others`
    write to the file meanwhile: they go on, and are killed a little later."""
    chosen = random.Random(seed)
    with small_files():
        seeds = [seed * 10 + number for number in range(1 + others)]
        children = [fork(write_for_ever(path, each, chosen.choice(("full", "normal")))) for each in seeds]
    children[0].wait_for(chosen.randrange(6))
    time.sleep(chosen.random() * longest)
    states: dict[str, set[str]] = {}
    written = returned = 0
    for each, child in zip(seeds, children, strict=True):
        child.kill()
        lines = child.end()[1]
        done = len(lines)
        for number, name in zip(range(done + 1), works_of(each), strict=False):
            states[f"{each}.{number}"] = _states(course(name), whole=number < done)
        written += done
        returned = max(returned, int(lines[-1]) if lines else 0)
        if others and child is not children[-1]:
            time.sleep(chosen.random() * longest / 4)
    return Random(written, states, returned)


def _states(done: Course, *, whole: bool) -> set[str]:
    return {done.last} if whole else set(done.states)


def prepare_courses() -> None:
    """Every course is known before anything forks."""
    for name in WORKS:
        course(name)
