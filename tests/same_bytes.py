"""Stores whose files are the same bytes in every run, so that damage drawn from a seed is the same damage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from unittest.mock import patch
from uuid import UUID

from eventstore import clock, compacting


@contextmanager
def same_bytes() -> Iterator[None]:
    """Times and random ids are counted instead."""
    times, numbers = count(1_767_225_600_000_000, 1_000), count(1)
    with (
        patch.object(clock, "now", lambda: next(times)),
        patch.object(compacting, "uuid4", lambda: UUID(int=next(numbers), version=4)),
    ):
        yield
