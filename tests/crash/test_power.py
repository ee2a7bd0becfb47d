"""Power cuts: "full" has all that returned, "normal" a beginning of it, and neither is ever corrupt.

`python -m tests.soak power` makes thousands.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Literal

import pytest

from tests.crash import power
from tests.crash.disk import SECTOR, Disk, Kept
from tests.crash.power import FAILING
from tests.crash.works import WORKS


@pytest.mark.parametrize("durability", ["full", "normal"])
def test_power_may_go_at_any_call(tmp_path: Path, durability: Literal["full", "normal"]) -> None:
    names = random.Random(durability).sample(list(WORKS), 8)
    done = power.run(tmp_path, 1, names, durability=durability, share=0.04)
    assert len(done.cuts) > 20
    for cut in done.cuts:
        power.check(done, cut, durability=durability)


def test_power_may_go_after_writes_that_failed(tmp_path: Path) -> None:
    """The store goes on behind them: none comes back, and nothing is written on what one left in memory."""
    names = random.Random(9).sample(list(WORKS), 6)
    done = power.run(tmp_path, 9, names, durability="full", share=0.05, failing=FAILING)
    assert done.failed > 2
    assert len(done.cuts) > 20
    for cut in done.cuts:
        power.check(done, cut, durability="full")


def test_what_was_not_synced_is_lost_in_part() -> None:
    """The disk of these tests loses, keeps and tears."""
    found: set[bytes] = set()
    for seed in range(200):
        kept = Kept(bytearray(b"a" * SECTOR * 3))
        kept.since = [(0, b"b" * SECTOR * 2), (SECTOR * 2, b"c" * SECTOR), (SECTOR, None)]
        found.add(bytes(kept.after_a_cut(random.Random(seed)) or b"")[::SECTOR])
    assert {b"aaa", b"bbc", b"bac", b"b", b"a"} <= found
    kept.sync()
    assert bytes(kept.after_a_cut(random.Random(1)) or b"") == b"b" * SECTOR


def test_a_writer_that_did_not_sync_would_be_found_out(tmp_path: Path) -> None:
    """The check fails where it must: of a store without syncs, cuts lose what had returned."""
    lost = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Disk, "sync", lambda _disk, _path: None)
        done = power.run(tmp_path, 1, ["append", "delete"], durability="full", share=0.05)
    for cut in done.cuts:
        try:
            power.check(done, cut, durability="full")
        except Exception:  # noqa: BLE001 - in whatever way it is broken
            lost += 1
    assert lost > 0


@pytest.mark.parametrize("durability", ["full", "normal"])
def test_power_may_go_while_a_new_file_is_made(tmp_path: Path, durability: Literal["full", "normal"]) -> None:
    """A file whose first page is torn isn't taken for another program's: the journal beside it takes that back."""
    for seed in range(2):
        folder = tmp_path / str(seed)
        folder.mkdir()
        done = power.run(folder, seed, [], durability=durability, share=1.0)
        assert len(done.cuts) > 50
        for cut in done.cuts[seed::5]:
            power.check(done, cut, durability=durability)
