"""Laws of every place where a caller's code runs: what it raises comes out as it is, what it does breaks nothing."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType

import apsw
import pytest

from eventstore import DamagedStore, EventStoreError, InvalidArgument, StoreClosed
from eventstore.testing import check_invariants
from tests.laws.callers import World
from tests.laws.places import FEW, ITERATORS, PLACES, Place
from tests.laws.support import reads
from tests.laws.verbs import message
from tests.property.tables import tables

SECONDS = 10


class Struck(BaseException):
    """As a caller's framework stops a task with."""


class TooLong(BaseException):
    """A call that doesn't end."""


RAISED: tuple[type[BaseException], ...] = (
    *(ValueError, TypeError, LookupError, KeyError, AttributeError, AssertionError, StopIteration, RecursionError),
    *(KeyboardInterrupt, Struck),
)
every_place = pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table's functions are called for few things already."""
    for module, name in FEW.items():
        monkeypatch.setattr(module, name, 2)


@pytest.fixture(autouse=True)
def watchdog() -> Iterator[None]:
    def strike(_number: int, _frame: FrameType | None) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, strike)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def world_of(place: Place, folder: Path) -> Iterator[World]:
    world = World(folder, place.options)
    try:
        yield world
    finally:
        world.sessions.close()


def others_can_write(path: Path) -> None:
    """No lock is left."""
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    other.execute("ROLLBACK")
    other.close()


def goes_on(world: World) -> None:
    """The next write works, and the feed told all that there is, once and in order."""
    world.arm(None)
    others_can_write(world.path)
    new = world.new()
    world.session.append_message(message(new), parent_id=None)
    assert world.session.get_message(new) is not None
    logged = [event.seq for event in world.sessions.events(world.first)]
    assert logged == list(range(world.first + 1, world.sessions.latest_seq + 1))
    assert [event.seq for event in world.heard if getattr(event, "inserted", True)] == logged
    world.first = logged[-1]
    world.heard.clear()


def raising(error: BaseException) -> Callable[[], object]:
    def act() -> None:
        raise error

    return act


@every_place
def test_what_a_callers_code_raises_comes_out_as_it_is(tmp_path: Path, place: Place) -> None:
    with world_of(place, tmp_path) as world:
        place.run(world)
        calls = world.calls
        assert calls, "no code of the caller's ran"
        shown, before = reads(world.sessions), tables(world.path)
        for kind in RAISED:
            for at in sorted({1, calls}):
                raised = kind("by the caller")
                world.arm(raising(raised), at)
                if place.reported and isinstance(raised, Exception):
                    place.run(world)
                else:
                    with pytest.raises((kind, RuntimeError)) as caught:
                        place.run(world)
                    assert raised in (caught.value, caught.value.__cause__)
                    assert caught.value is raised or (kind is StopIteration and type(caught.value) is RuntimeError)
                assert world.calls >= at
                world.arm(None)
                assert place.keeps or tables(world.path) == before
                others_can_write(world.path)
        assert place.keeps or reads(world.sessions) == shown
        place.run(world)
        goes_on(world)
        check_invariants(world.sessions)
        assert world.sessions.verify().ok


def read_all(world: World) -> None:
    world.session.get_recent_history(max_messages=3)
    list(world.session.tree())
    list(world.session.events())
    list(world.session.history())
    world.sessions.search("hello")


def write_in_transaction(world: World) -> None:
    with world.sessions.transaction():
        world.other().append_message(message("in"))
        world.session.append_message(message(world.new("in")))


ACTS: dict[str, Callable[[World], object]] = {
    "rebuilds": lambda w: w.sessions.rebuild(),  # first: it would mend what another one did
    "reads": read_all,
    "verifies": lambda w: w.sessions.verify(),
    "writes": lambda w: w.session.append_message(message(w.new("by hook"))),
    "updates": lambda w: w.session.update_message(message("m2", w.new("by hook"))),
    "deletes": lambda w: w.session.delete_messages(["m4", "m3"]),
    "writes elsewhere": lambda w: w.other().append_message(message("by hook")),
    "begins a transaction": write_in_transaction,
    "scavenges": lambda w: w.sessions.scavenge(),
    "deletes the session": lambda w: w.sessions.delete_session(w.session.session_id),
    "copies": lambda w: w.session.copy_to(w.other()),
    "polls": lambda w: w.sessions.poll(),
    "subscribes": lambda w: w.sessions.subscribe(lambda _: None, after=0).close(),
    "closes": lambda w: w.sessions.close(),
}
"""What a caller's code may do with the store whose call it is in."""


@every_place
@pytest.mark.parametrize("bears_it", [True, False], ids=["and bears what is refused", ""])
def test_what_a_callers_code_does_breaks_nothing(tmp_path: Path, place: Place, bears_it: bool) -> None:
    with world_of(place, tmp_path) as world:
        place.run(world)
        at = 1 if bears_it else world.calls
        for act in ACTS.values():
            world.begin_anew()
            refused: list[EventStoreError] = []
            world.arm(partial(_do, act, world, refused, bears_it), at)
            try:
                place.run(world)
            except EventStoreError as error:
                refused.append(error)
            assert DamagedStore not in map(type, refused), act
            if act is ACTS["closes"]:
                world.sessions.close()
                world.open()
            goes_on(world)
        assert world.sessions.verify().ok


def _do(act: Callable[[World], object], world: World, refused: list[EventStoreError], bears_it: bool) -> None:
    try:
        act(world)
    except EventStoreError as error:
        refused.append(error)
        if not bears_it:
            raise


@every_place
def test_a_transaction_goes_on_without_what_raised_in_it(tmp_path: Path, place: Place) -> None:
    with world_of(place, tmp_path) as world:
        place.run(world)
        calls = world.calls
        for kind in (ValueError, LookupError, StopIteration, Struck):
            for at in sorted({1, calls}):
                before = reads(world.sessions)
                world.arm(raising(kind("by the caller")), at)
                with (
                    suppress(ValueError, LookupError, StopIteration, RuntimeError, Struck),
                    world.sessions.transaction(),
                ):
                    with suppress(kind, RuntimeError, InvalidArgument):
                        place.run(world)
                    assert place.keeps or reads(world.sessions) == before
                assert place.keeps or reads(world.sessions) == before
                goes_on(world)
        assert world.sessions.verify().ok


@pytest.mark.parametrize("name", ITERATORS)
def test_a_loop_that_does_anything_at_each_thing_ends(tmp_path: Path, name: str) -> None:
    with world_of(PLACES["heard: subscribe"], tmp_path) as world:
        for act in ACTS.values():
            world.begin_anew()
            steps, most = 0, 50 + world.sessions.latest_seq
            with suppress(StoreClosed):
                for _ in ITERATORS[name](world):
                    steps += 1
                    assert steps <= most, "what the loop wrote is among what it is given"
                    with suppress(InvalidArgument):
                        act(world)
            if act is ACTS["closes"]:
                world.open()
            assert steps
            goes_on(world)
        assert world.sessions.verify().ok
