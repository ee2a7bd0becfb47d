"""A disk that fails, at each call in its turn: one error of ours and nothing changed, or it is done; and it works on.

`python -m tests.soak faults` takes every call, every way to fail, and disks that stay broken.
"""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest

from eventstore import Sessions
from tests.crash import faults
from tests.crash.faults import BROKEN, READS
from tests.crash.syscalls import SUPPORTED, Syscalls
from tests.crash.works import WORKS

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
WAYS_TO_READ = len(BROKEN["read"])
needs_linux = pytest.mark.skipif(not SUPPORTED, reason="replaces SQLite's system calls, as 64-bit Linux lays them out")


NUMBERS = {name: number for number, name in enumerate(WORKS)}


def fail(folder: Path, name: str, step: int, **given: Any) -> int:
    """Fails every so many calls of a work: each in another way than the work before it, and other calls."""
    number = NUMBERS[name]
    return faults.every_write(folder, name, number % faults.WAYS, start=1 + number % step, step=step, **given)


@pytest.mark.parametrize("name", WORKS)
def test_a_write_at_which_a_call_fails(tmp_path: Path, name: str) -> None:
    assert fail(tmp_path, name, 7) > 5


@pytest.mark.parametrize("name", WORKS)
def test_a_write_that_begins_with_what_is_kept(tmp_path: Path, name: str) -> None:
    """The store has prepared the session itself: few calls are left to fail."""
    assert fail(tmp_path, name, 11, kept=True) >= 3


@needs_linux
@pytest.mark.parametrize("name", WORKS)
def test_a_write_at_which_a_call_below_fails(tmp_path: Path, name: str) -> None:
    """Locks, shared memory and checkpoints too."""
    assert fail(tmp_path, name, 13, stores=faults.stores_over_calls) > 5


@needs_linux
def test_no_garbage_is_collected_inside_a_call(tmp_path: Path) -> None:
    """A connection that ends there would wait for the mutex of SQLite's file layer that its own thread holds."""
    ended: list[str] = []
    with Syscalls():
        gc.callbacks.append(watch := lambda phase, _about: ended.append(phase))
        try:
            for number in range(20):
                with Sessions(tmp_path / f"{number}.db") as store:
                    garbage: list[object] = [[] for _ in range(2_000)]
                    garbage.append(garbage)
                    store.session().append_message({"id": "a", "role": "user", "parts": []})
        finally:
            gc.callbacks.remove(watch)
    assert ended == []
    assert gc.isenabled()


def test_a_write_on_a_disk_that_stays_broken(tmp_path: Path) -> None:
    for name in ("append", "delete a branch", "import many"):
        assert faults.every_write(tmp_path, name, 0, lasting=True, step=3) > 5


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("name", READS)
def test_a_read_at_which_a_call_fails(tmp_path: Path, name: str, read_only: bool) -> None:
    for each in range(WAYS_TO_READ):
        assert faults.every_read(tmp_path / "store.db", name, each, read_only=read_only, step=2) >= 0


def test_a_view_in_whose_replay_a_call_fails(tmp_path: Path) -> None:
    for each in range(WAYS_TO_READ):
        assert faults.every_look_back(tmp_path / f"{each}.db", each, step=5) > 20


def test_opening_and_closing_at_which_a_call_fails(tmp_path: Path) -> None:
    for lasting in (False, True):
        folder = tmp_path / str(lasting)
        folder.mkdir()
        assert faults.every_opening(folder, lasting, lasting=lasting, step=3) > 100
