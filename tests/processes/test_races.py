"""Everything at once: four processes of eight threads, every verb, the same sessions.

`python -m tests.soak races` takes a minute each time.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.processes.races import race

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]


def test_four_processes_of_eight_threads_lose_nothing(tmp_path: Path) -> None:
    raced = race(tmp_path / "store.db", 1.5)
    assert raced.calls > 50
    assert raced.written > 50
    assert raced.largest_wal < 64 * 1024 * 1024
