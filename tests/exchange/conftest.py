"""Stores to import into, and a folder for files that a whole module makes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from eventstore import Sessions


@pytest.fixture
def sessions(tmp_path: Path) -> Iterator[Sessions]:
    with Sessions(tmp_path / "conversations.db", durability="normal") as opened:
        yield opened


@pytest.fixture
def there() -> Iterator[Sessions]:
    with Sessions() as opened:
        yield opened


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("exchange")
