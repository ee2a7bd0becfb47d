"""Inside a transaction in which a call failed, nothing that follows becomes a write of its own.

`python -m tests.soak stubborn` takes every call.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash import faults, stubborn
from tests.crash.syscalls import SUPPORTED

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.mark.parametrize("way", range(faults.WAYS))
def test_a_caller_that_goes_on_in_a_transaction(tmp_path: Path, way: int) -> None:
    assert stubborn.every_call(tmp_path / "store.db", way, lasting=way == 2, first=8, step=123) > 200


@pytest.mark.skipif(not SUPPORTED, reason="replaces SQLite's system calls, as 64-bit Linux lays them out")
def test_so_it_is_where_a_call_below_fails(tmp_path: Path) -> None:
    assert stubborn.every_call(tmp_path / "store.db", 0, step=131, stores=faults.stores_over_calls) > 200
