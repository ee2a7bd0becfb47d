"""Each recording of the JavaScript reference gives the same here, or differs where, and only where, it should."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.__main__ import VECTORS
from tests.conformance.differences import DIFFERENCES
from tests.conformance.recording import read_recording
from tests.conformance.verdict import judge

NAMES = sorted(path.stem for path in VECTORS.glob("*.json"))


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stores")


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_is_the_same_or_differs_on_purpose(name: str, stores: Path) -> None:
    verdict = judge(read_recording(VECTORS / f"{name}.json"), stores)
    assert verdict.ok, "\n".join([verdict.kind.value, *verdict.lines])


def test_every_listed_difference_is_of_a_recording() -> None:
    assert set(DIFFERENCES) <= set(NAMES)
