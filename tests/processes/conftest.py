"""Stores for the tests of this folder, and threads that take turns as often as they can."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from eventstore import Sessions
from tests.processes.together import LONG


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file that isn't there yet."""
    return tmp_path / "store.db"


@pytest.fixture(params=["memory", "file"])
def sessions(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sessions]:
    place = ":memory:" if request.param == "memory" else str(tmp_path / "store.db")
    with Sessions(place, durability="normal", busy_timeout=LONG) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _switching_often() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)
