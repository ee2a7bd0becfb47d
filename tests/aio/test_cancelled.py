"""Whatever is cancelled, at whichever await: whole or not at all, heard if whole, and nobody is kept waiting."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.aio.cancelled_blocks import KINDS, cancel_blocks
from tests.aio.cancelling import ITERATORS, READS, cancelling
from tests.aio.face import LOOPS
from tests.laws.verbs import VERBS

on_both = pytest.mark.parametrize("loop", LOOPS)

TIMES = 2  # for each; `python -m tests.soak cancellation` does 200
BLOCKS = {"append": 100, "tasks": 100, "block": 100}  # and 30 of the others, on each loop


@on_both
@pytest.mark.parametrize("names", [VERBS, READS, ITERATORS], ids=["verbs", "reads", "iterators"])
def test_cancelled_at_any_moment(loop: str, tmp_path: Path, names: dict[str, object]) -> None:
    with cancelling(tmp_path / "store.db", loop) as cancels:
        for name in names:
            cancels.often(name, TIMES)
    assert len([count for count in cancels.counted.values() if count]) == 2  # some were whole, some were not


@on_both
@pytest.mark.parametrize("kind", KINDS)
def test_cancelled_anywhere_a_block_is_whole_or_not_at_all(loop: str, tmp_path: Path, kind: str) -> None:
    cancel_blocks(tmp_path / "store.db", loop, kind, BLOCKS.get(kind, 30))
