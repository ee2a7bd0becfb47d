"""Writes of several tasks that wait for the writing thread at the same time: one transaction, one commit for all.

Most of what a small write takes is its commit, which waits for the disk. Each write of a group has a savepoint of its
own, so that one that is refused is rolled back alone. A group in which anything else fails is rolled back whole, and
its writes are run one by one: each gets what it would have got alone.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import Any

from eventstore.aio.threads import Job, Line
from eventstore.errors import (
    EventStoreError,
    InvalidArgument,
    InvalidMessage,
    LeafChanged,
    NotSerializable,
    StoreBusy,
    UnknownMessage,
)
from eventstore.store import Store

MOST = 32  # writes of a group
SECONDS = 0.01  # after which none joins a group: it keeps other processes from writing

REFUSALS = (InvalidMessage, NotSerializable, InvalidArgument, UnknownMessage, LeafChanged)
"""What a write raises that changed nothing, and says nothing of the others."""


class _Failed(Exception):
    """Ends a group's transaction."""


def run(job: Job[Any], line: Line) -> list[Job[Any]]:
    """Runs a job and, where it may share a transaction, those that wait behind it. Returns those that are done."""
    store = job.store
    if store is None or (second := line.take_sharing(store)) is None:
        job.run()
        return [job]
    group = [job, second]
    began = time.monotonic()
    try:
        store.begin()
    except StoreBusy:
        while (another := line.take_sharing(store, before=began)) is not None:
            group.append(another)
        _run_each(group, store, have_waited=True)
    except BaseException:  # noqa: BLE001 - each tells it itself
        store.end_all(0, _Failed())
        _run_each(group, store)
    else:
        try:
            _run_together(group, line, store)
        except BaseException:  # between two writes: the thread tells it all of the group
            store.end_all(0, _Failed())
            raise
    return group


def _take_more(group: list[Job[Any]], line: Line, store: Store, until: float) -> bool:
    """Adds the job that is next, if the group may still grow."""
    if len(group) < MOST and time.monotonic() < until and (job := line.take_sharing(store)) is not None:
        group.append(job)
        return True
    return False


def _run_together(group: list[Job[Any]], line: Line, store: Store) -> None:
    """Runs a group in the transaction that was begun, and commits it."""
    until = time.monotonic() + SECONDS
    done = 0
    while done < len(group) or _take_more(group, line, store, until):
        error = group[done].run()
        done += 1
        if error is not None and not isinstance(error, REFUSALS):
            with suppress(Exception):  # what is left open is rolled back as the next write begins
                store.end_all(0, _Failed())
            _run_each(group, store)
            return
    try:
        store.end(None)
    except EventStoreError:  # not committed
        _run_each(group, store)
    except BaseException as error:  # noqa: BLE001 - committed or not, as it would be of one write
        for job in group:
            job.fail(error)


def _run_each(group: list[Job[Any]], store: Store, *, have_waited: bool = False) -> None:
    """Runs each alone. Once one has waited for another writer as long as a write does, all have, and none waits."""
    try:
        for job in group:
            if have_waited:
                store.impatient = threading.get_ident()
            have_waited = isinstance(job.run(), StoreBusy) or have_waited
    finally:
        store.impatient = None
