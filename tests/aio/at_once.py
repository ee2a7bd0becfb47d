"""Writes of several tasks that wait for the writing thread together, in the order in which they are given."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias

import pytest

from eventstore import AsyncSessions, EventStoreError, seams
from eventstore.aio import groups
from tests.aio.kit import Kit

Call: TypeAlias = Callable[[], Awaitable[Any]]


async def at_once(kit: Kit, sessions: AsyncSessions, calls: Sequence[Call]) -> list[Any]:
    """Makes each call in a task of its own while the writing thread is kept; what each gives, or its error."""
    given: list[Any] = [None] * len(calls)
    gate = threading.Event()

    async def make(number: int, call: Call) -> None:
        try:
            given[number] = await call()
        except EventStoreError as error:
            given[number] = error

    async with kit.tasks() as begin:
        begin(partial(sessions._store.run_write, gate.wait))
        for number, call in enumerate(calls):
            await kit.sleep(0)  # the one before waits by now
            begin(partial(make, number, call))
        await kit.sleep(0.01)
        gate.set()
    return given


@contextmanager
def commits() -> Iterator[list[str]]:
    """Gathers the seams "committed" that are passed."""
    passed: list[str] = []
    seams.hook = lambda name: passed.append(name) if name == "committed" else None
    try:
        yield passed
    finally:
        seams.hook = None


@pytest.fixture
def slow_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group isn't ended by the time, which a busy machine takes from it."""
    monkeypatch.setattr(groups, "SECONDS", 60.0)
