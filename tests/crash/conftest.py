"""What all tests of this folder need: the courses of the works, known before anything forks; listeners that are told
of failures say nothing."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tests.crash.kills import prepare_courses


@pytest.fixture(scope="session", autouse=True)
def _courses() -> None:
    prepare_courses()


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """An automatic compaction that fails is logged: here they are meant to."""
    logging.getLogger("eventstore").disabled = True
    yield
    logging.getLogger("eventstore").disabled = False
