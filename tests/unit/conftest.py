"""Stores for the tests of this folder: the same test in memory and on a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from eventstore import Session, Sessions
from tests.unit.talk import chain


@pytest.fixture(params=["memory", "file"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store is."""
    return ":memory:" if request.param == "memory" else str(tmp_path / "store.db")


@pytest.fixture
def sessions(place: str) -> Iterator[Sessions]:
    with Sessions(place, durability="normal") as opened:
        yield opened


@pytest.fixture
def session(sessions: Sessions) -> Session:
    return sessions.session()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file that isn't there yet."""
    return tmp_path / "file.db"


@pytest.fixture
def store(path: Path) -> Path:
    """A store of three messages that nobody has open."""
    with Sessions(path) as sessions:
        chain(sessions.session(), "a", "b", "c")
    return path
