"""Processes killed in the middle of a write: what had returned is there, nothing is half there, the feed has no gap.

`python -m tests.soak kills` does the same for long.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from eventstore.seams import SEAMS
from tests.crash import kills
from tests.crash.faults import OF_THE_WHOLE_FILE
from tests.crash.works import WORKS, course

BEFORE_COMMIT = SEAMS[: SEAMS.index("committed")]

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]


def test_every_write_passes_every_seam() -> None:
    for name in WORKS:
        assert {seam for seam, _ in course(name).passages} >= set(SEAMS) or name == "rebuild"


@pytest.mark.parametrize("name", WORKS)
def test_a_writer_killed_at_a_seam(tmp_path: Path, name: str) -> None:
    """The first time that the work passes it. Before the commit nothing of it is in the file, whatever it is: there
    each work takes every second seam, and the next one the others. Each kill but the first is of one that opens what
    the one before left."""
    seams = [seam for seam, _ in course(name).passages]
    before = BEFORE_COMMIT[list(WORKS).index(name) % 2 :: 2]
    for seam in dict.fromkeys(seams):
        if seam in before:
            continue
        file = seam if name in OF_THE_WHOLE_FILE else "all"
        kills.at_a_passage(tmp_path / f"{file}.db", name, seams.index(seam))


def test_writers_killed_at_any_moment(tmp_path: Path) -> None:
    """Twenty-five, five to a file, some beside others that go on: each opens what the one before it left."""
    written = 0
    for first in range(0, 25, 5):
        states: dict[str, set[str]] = {}
        for seed in range(first, first + 5):
            killed = kills.at_any_moment(tmp_path / f"{first}.db", seed, 0.02, others=seed % 2)
            states |= killed.states
            kills.check_file(tmp_path / f"{first}.db", states, returned=killed.returned)
            written += killed.written
    assert written > 25


@pytest.mark.parametrize("name", ["append", "import many", "search", "an automatic compaction", "rebuild"])
def test_a_writer_killed_at_a_call_into_the_file_system(tmp_path: Path, name: str) -> None:
    """From opening a new file to closing it: the schema, the commits, the index, the checkpoint."""
    number = 1
    while kills.at_a_call(tmp_path / f"{number}.db", name, number):
        number += 37
    assert number > 100


@pytest.mark.parametrize("name", ["append", "a reply that grows", "several in one transaction"])
def test_a_store_writes_on_beside_one_that_was_killed(tmp_path: Path, name: str) -> None:
    """It has the head and the texts of the same session in memory, from before."""
    number = 1
    while kills.beside_another(tmp_path / "store.db", name, number):
        number += 9
    assert number > 9
