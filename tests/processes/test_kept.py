"""What stores keep in memory is what is in the file, whoever writes, and whatever is undone, interrupted or killed.

`python -m tests.soak kept` goes on for a minute.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.processes.kept import keep

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]


def test_nothing_that_is_kept_is_stale(tmp_path: Path) -> None:
    kept = keep(tmp_path / "store.db", 0.5, processes=1, threads=1)
    assert kept.uses.heads > 20
    assert kept.killed > 0
