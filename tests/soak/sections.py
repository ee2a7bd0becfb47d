"""What a soak does: each section is a step that is done again and again, with another seed each time.

A step raises what is wrong, and counts what it did.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import attrs

from tests.aio.cancelled_blocks import KINDS, cancel_blocks
from tests.aio.cancelling import ITERATORS, READS, cancelling
from tests.aio.face import LOOPS
from tests.crash import faults, kills, power, rubbish, stubborn
from tests.crash.syscalls import SUPPORTED
from tests.crash.works import WORKS, course
from tests.laws.verbs import VERBS
from tests.processes.kept import keep
from tests.processes.races import race
from tests.soak import large

Step = Callable[[Path, int], Counter[str]]
NAMES = list(WORKS)
DURABILITIES: tuple[Literal["full", "normal"], ...] = ("full", "normal")
RACE_SECONDS = 60
KEPT_SECONDS = 20
BLOCKS = {f"{kind}, with others": kind for kind in KINDS}
CANCELLED = [(name, loop) for name in (*VERBS, *READS, *ITERATORS, *BLOCKS) for loop in LOOPS]
CANCELLATIONS = 200


@attrs.frozen
class Section:
    """One kind of trouble."""

    step: Step
    """Does a bounded piece of it in an empty folder, by a seed."""
    least: int
    """Steps that are done however short the time is."""
    most: int | None = None
    """Steps after which there is nothing new."""

    @property
    def told(self) -> str:
        """What its step does, in a line."""
        return (self.step.__doc__ or "").partition("\n")[0]


def _kills(folder: Path, seed: int) -> Counter[str]:
    """Five writers on one file, one after the other, each killed at a random moment; some beside others."""
    states: dict[str, set[str]] = {}
    counted: Counter[str] = Counter()
    for each in range(seed * 5, seed * 5 + 5):
        others = each % 3
        killed = kills.at_any_moment(folder / "store.db", each, 0.05, others=others)
        states |= killed.states
        kills.check_file(folder / "store.db", states, returned=killed.returned)
        counted.update({"kills": 1 + others, "works": killed.written})
    return counted


def _seams(folder: Path, seed: int) -> Counter[str]:
    """One work, killed at every seam that it passes."""
    name = NAMES[seed % len(NAMES)]
    for number in range(len(course(name).passages)):
        kills.at_a_passage(folder / f"{number}.db", name, number)
    return Counter({"kills": len(course(name).passages)})


def _calls(folder: Path, seed: int) -> Counter[str]:
    """One work, killed before its calls into the file system: every fifth, others each time round."""
    number = 1 + seed // len(NAMES) % 5
    counted: Counter[str] = Counter()
    for killed in (kills.at_a_call, kills.beside_another):
        at = number
        while killed(folder / f"{killed.__name__} {at}.db", NAMES[seed % len(NAMES)], at):
            at += 5
            counted["kills"] += 1
    return counted


def _faults(folder: Path, seed: int) -> Counter[str]:
    """One work, each of its calls failing in turn: in one way, once or for good, above or below SQLite's files."""
    seed, number = divmod(seed, len(NAMES))
    seed, below = divmod(seed, 2)
    seed, kept = divmod(seed, 2)
    seed, lasting = divmod(seed, 2)
    stores = faults.stores_over_calls if below and SUPPORTED else faults.failing_stores
    way = seed % faults.WAYS
    failed = faults.every_write(folder, NAMES[number], way, lasting=bool(lasting), kept=bool(kept), stores=stores)
    return Counter({"faults": failed})


def _stubborn(folder: Path, seed: int) -> Counter[str]:
    """Every seventh call of a transaction failing in turn, while its caller goes on in it."""
    seed, below = divmod(seed, 2)
    stores = faults.stores_over_calls if below and SUPPORTED else faults.failing_stores
    way = seed % faults.WAYS
    return Counter(
        {"faults": stubborn.every_call(folder / "store.db", way, first=1 + seed % 7, step=7, stores=stores) // 7}
    )


def _reads(folder: Path, seed: int) -> Counter[str]:
    """Every read and opening, each of its calls failing in turn."""
    way, lasting = seed % faults.WAYS, seed // faults.WAYS % 2 == 1
    counted: Counter[str] = Counter()
    for name in faults.READS:
        for read_only in (False, True):
            failed = faults.every_read(folder / "store.db", name, way, read_only=read_only, lasting=lasting)
            counted["faults"] += failed
    counted["faults"] += faults.every_look_back(folder / "past.db", way, lasting=lasting)
    counted["faults"] += faults.every_opening(folder, way, lasting=lasting)
    return counted


def _power(folder: Path, seed: int) -> Counter[str]:
    """One writer of twelve works, each second one on a disk that fails, and the cuts at a tenth of its calls."""
    durability = DURABILITIES[seed % 2]
    names = random.Random(seed).choices(NAMES, k=12)
    failing = seed // 2 % 2 * power.FAILING
    done = power.run(folder, seed, names, durability=durability, share=0.1, failing=failing)
    for cut in done.cuts:
        power.check(done, cut, durability=durability)
    return Counter({"cuts": len(done.cuts), "works": len(names), "faults": done.failed})


def _rubbish(folder: Path, seed: int) -> Counter[str]:
    """Twenty rotten files of one kind."""
    rubbish.make_whole(folder / "whole.db")
    kind = rubbish.KINDS[seed % len(rubbish.KINDS)]
    wrong = rubbish.check_files(
        folder / "whole.db", folder, [(kind, each) for each in range(seed * 20, seed * 20 + 20)]
    )
    assert not wrong, "\n".join(wrong)
    return Counter({"files": 20})


def _races(folder: Path, seed: int) -> Counter[str]:
    """Four processes of eight threads, for a minute."""
    raced = race(folder / "store.db", RACE_SECONDS, seed=seed)
    mib = round(raced.largest_wal / 1024 / 1024)
    assert mib < 128, f"the WAL grew to {mib} MiB"
    return Counter({"calls": raced.calls, "events": raced.written, "MiB of WAL": mib})


def _kept(folder: Path, seed: int) -> Counter[str]:
    """Stores that keep much in memory, in processes and threads, for twenty seconds, others killed beside them."""
    kept = keep(folder / "store.db", KEPT_SECONDS, seed=seed)
    told = {"heads": kept.uses.heads, "sums": kept.uses.totals, "texts": kept.uses.texts}
    return Counter({"calls": kept.calls, "events": kept.written, "kills": kept.killed, **told})


def _cancellation(folder: Path, seed: int) -> Counter[str]:
    """One call of the async store, on one kind of loop, cancelled 200 times at any moment."""
    name, loop = CANCELLED[seed % len(CANCELLED)]
    if name in BLOCKS:
        return cancel_blocks(folder / "store.db", loop, BLOCKS[name], CANCELLATIONS, seed)
    with cancelling(folder / "store.db", loop, seed) as cancels:
        cancels.often(name, CANCELLATIONS)
    return cancels.counted


SECTIONS = {
    "kills": Section(_kills, least=70),
    "seams": Section(_seams, least=len(NAMES), most=len(NAMES)),
    "calls": Section(_calls, least=len(NAMES), most=len(NAMES) * 5),
    "faults": Section(_faults, least=len(NAMES) * 4, most=len(NAMES) * 8 * faults.WAYS),
    "stubborn": Section(_stubborn, least=6, most=6 * 7),
    "reads": Section(_reads, least=2, most=2 * faults.WAYS),
    "power": Section(_power, least=20),
    "rubbish": Section(_rubbish, least=9),
    "cancellation": Section(_cancellation, least=len(CANCELLED)),
    "kept": Section(_kept, least=3),
    "races": Section(_races, least=1),
    "large": Section(large.step, least=len(large.SIZES), most=len(large.SIZES)),
}
