"""Writes of several tasks that wait for the writing thread together, in the order in which they are given."""

from __future__ import annotations

import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias

import pytest

from eventstore import AsyncSessions, EventStoreError, seams
from eventstore.aio import groups
from tests.aio.kit import Kit

Call: TypeAlias = Callable[[], Awaitable[Any]]


async def at_once(kit: Kit, sessions: AsyncSessions, calls: Sequence[Call], *, told_late: bool = False) -> list[Any]:
    """Makes each call in a task of its own while the writing thread is kept; what each gives, or its error.

    `told_late`: all are done by the time that the loop is told of the first."""
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
        if told_late:
            time.sleep(0.2)  # so that the loop can't
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
