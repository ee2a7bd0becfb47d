"""Power that goes: at any call into the file system, with any part of what wasn't synced lost, torn at sectors.

One writer runs on a `Disk`; at calls drawn by a seed the files are written down as they are when power goes there. So
one run gives many cuts, and the writer doesn't notice. Each is opened afterwards on a sound disk.
"""

from __future__ import annotations

import random
import shutil
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Literal

import attrs

from eventstore import EventStoreError, Sessions, seams
from tests.crash.disk import Disk
from tests.crash.faults import BROKEN
from tests.crash.works import WORKS, do, small_files, state_of
from tests.keeping import watch

FAILING = 0.015
"""Of writes and syncs, so that half of the works fail."""
Envelope = tuple[int, str, str]


@attrs.frozen
class Cut:
    """The files as power left them."""

    path: Path
    returned: int
    """The last event of a write that had returned."""
    called: str
    """The call that power went before."""


@attrs.define
class Run:
    """What a writer did, and the cuts that were made."""

    cuts: list[Cut] = attrs.Factory(list)
    log: list[Envelope] = attrs.Factory(list)
    states: dict[int, tuple[str, str]] = attrs.Factory(dict)
    """After each commit: the newest event, and (session, its state)."""
    failed: int = 0
    """Calls."""


def run(
    folder: Path,
    seed: int,
    names: list[str],
    *,
    durability: Literal["full", "normal"],
    share: float,
    failing: float = 0.0,
) -> Run:
    """Does works one after the other, each in a session of its own, from a new file on; power goes at a share of the
    calls. Of the writes and syncs of works, `failing` fail: the works behind are done by the same store. Power stays
    while a work has failed and not returned, since what failed may be there so long."""
    chosen = random.Random(seed)
    done = Run()
    path = folder / "store.db"
    returned, current, looking, working, failed = 0, "", False, False, False
    with small_files(wal_pages=1_000_000 if failing else 60), Disk() as disk:

        def before(operation: str, file: str) -> None:
            nonlocal failed
            if working and not (looking or failed) and operation in ("write", "sync") and chosen.random() < failing:
                failed = True
                done.failed += 1
                raise chosen.choice(BROKEN[operation])()
            if not looking and not failed and chosen.random() < share:
                number = len(done.cuts)
                (folder / str(number)).mkdir()
                disk.cut(folder / str(number), chosen.randrange(2**32))
                done.cuts.append(Cut(folder / str(number) / "store.db", returned, f"{operation} {file}"))

        def look(seam: str) -> None:
            nonlocal looking
            if seam == "committed":
                looking = True
                done.states[other.latest_seq] = (current, state_of(other, current))
                looking = False

        disk.before = before
        for start in range(0, max(len(names), 1), 4):  # closed now and then
            with Sessions(path, durability=durability) as sessions, Sessions(path, durability=durability) as other:
                seams.hook = look
                watch(sessions)
                try:
                    for number, name in enumerate(names[start : start + 4], start):
                        current = f"{number} {name}"
                        working = True
                        with suppress(EventStoreError) if failing else nullcontext():
                            do(WORKS[name], sessions.session(current))
                        working = failed = False
                        looking = True
                        returned = other.latest_seq
                        looking = False
                finally:
                    seams.hook = None
        disk.before = None
        with Sessions(path) as sessions:
            done.log = _log(sessions)
    return done


def _log(sessions: Sessions) -> list[Envelope]:
    return [(event.seq, event.type, event.session_id) for event in sessions.events()]


def check(done: Run, cut: Cut, *, durability: str) -> None:
    """The file is whole, its log a beginning of the writer's that ends at a commit; with "full", all that returned."""
    with Sessions(cut.path, durability="normal") as sessions:
        report = sessions.verify()
        assert report.ok, (cut.called, report.problems)
        log = _log(sessions)
        assert log == done.log[: len(log)], f"{cut.called}: the log is another"
        if durability == "full":
            assert len(log) >= cut.returned, f"{cut.called}: {cut.returned} had returned, {len(log)} are there"
        if log:
            assert len(log) in done.states, f"{cut.called}: event {len(log)} is the middle of a commit"
            name, state = done.states[len(log)]
            assert state_of(sessions, name) == state
        sessions.session("after").append_message({"id": "after", "role": "user", "parts": []})
        assert sessions.verify().ok
    shutil.rmtree(cut.path.parent)
