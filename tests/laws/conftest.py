"""A store on a file of its own, with a session prepared for every verb."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from eventstore import Session, Sessions, seams
from tests.laws.verbs import prepare


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def sessions(path: Path) -> Iterator[Sessions]:
    with Sessions(path, durability="normal") as store:  # no law here is about power cuts
        yield store


@pytest.fixture
def session(sessions: Sessions) -> Session:
    return prepare(sessions.session("main"))


@pytest.fixture
def seam() -> Iterator[None]:
    """The process's hook is given back."""
    yield
    seams.hook = None
