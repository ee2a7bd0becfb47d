"""Replays a recording on a store of its own, a step at a time, and says what came back in the recording's terms."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs

from eventstore import (
    Compacted,
    Event,
    EventStoreError,
    Message,
    Session,
    Sessions,
    UnknownMessage,
    strip_openai_ephemera,
)
from projections import mirror
from tests.conformance.calls import CALLS, SILENT, SKIPPED
from tests.conformance.names import Names
from tests.conformance.recording import Json, Operation, Recording, Step, shortened_mirror
from tests.conformance.summarizers import SummarizerFailed, Summarizers

COMPACTING = {"compact", "compaction"}
"""The types of the events that tell of a stored compaction."""


@attrs.frozen
class Observed:
    """What one step gave here, under recorded names.

    `crashed` is whether the error is none that the store means to raise, `wrote` whether the log grew, and `failures`
    counts what was logged instead of raised.
    """

    result: Json
    error: Exception | None
    crashed: bool
    wrote: bool
    events: list[Json]
    mirror: Json
    prompts: list[str]
    failures: int


class Failures(logging.Handler):
    """Counts what the store logs instead of raising."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += 1


class Replay:
    """One recording being replayed: the store, what is mirrored, and what was seen since the step began."""

    def __init__(self, sessions: Sessions, recording: Recording) -> None:
        self.sessions = sessions
        self.names = Names()
        self.events: list[Event] = []
        self.failures = Failures()
        self.summarizers = Summarizers(self._call)
        self.mirrors: dict[str, list[Message]] = {}
        for operation in recording.operations():
            session = self._session(operation)
            if session.session_id not in self.mirrors:
                self.mirrors[session.session_id] = []
                mirror(session, self.mirrors[session.session_id])
        sessions.subscribe(self.events.append)

    def perform(self, step: Step) -> Observed:
        """Run one step and collect what it gave."""
        operation = self.names.ours(step.operation)
        self.events.clear()
        self.summarizers.prompts.clear()
        self.failures.count = 0
        before, result, error = self.sessions.latest_seq, None, None
        try:
            result = self._call(operation)
        except Exception as failure:  # noqa: BLE001 - a crash is one of the differences to show
            error = failure
        wrote = self.sessions.latest_seq != before
        events = [] if operation["op"] in SILENT else list(self.events)
        if isinstance(error, UnknownMessage):
            self._make_root(operation)
        self._learn(step)
        return Observed(
            self.names.recorded(result),
            error,
            error is not None and not isinstance(error, (EventStoreError, SummarizerFailed)),
            wrote,
            [self.names.recorded(event) for event in events],
            shortened_mirror(self.names.recorded(self.mirrors[operation.get("session", "")])),
            list(self.summarizers.prompts),
            self.failures.count,
        )

    def _session(self, operation: Operation) -> Session:
        return self.sessions.session(operation.get("session", ""))

    def _call(self, operation: Operation) -> Any:
        session = self._session(operation)
        if operation["op"] == "setCompaction":
            return self.summarizers.register(session, operation)
        return CALLS[operation["op"]](session, operation)

    def _make_root(self, operation: Operation) -> None:
        """Go on as the reference did, which makes a root of a message whose parent is unknown."""
        if operation["op"] in ("append", "upsert", "import") and operation.get("parentId") is not None:
            self._call({**operation, "parentId": None})

    def _learn(self, step: Step) -> None:
        stored_here = [event.compaction.id for event in self.events if isinstance(event, Compacted)]
        stored_there = sum(event["type"] in COMPACTING for event in step.expected["events"])
        self.names.learn_compactions(stored_here, stored_there)
        for ours, theirs in zip(self.summarizers.prompts, step.expected.get("prompts", []), strict=False):
            self.summarizers.learn_wording(self.names, ours, theirs)


def replay(recording: Recording, folder: Path) -> Iterator[tuple[Step, Observed]]:
    """Replay a recording on a new store in `folder`: every step that is compared, with what it gave here.

    The store begins as a copy of an empty one that the folder keeps, since making one takes longer than most scripts.
    """
    empty, path = folder / "empty.db", folder / f"{recording.name}.db"
    if not empty.exists():
        Sessions(empty).close()
    shutil.copyfile(empty, path)
    chosen: Mapping[str, Any] = {
        "reserved_metadata_keys": recording.reserved_metadata_keys,
        "prepare": strip_openai_ephemera,
        "durability": "normal",
    }
    with Sessions(path, **chosen) as sessions:
        replayed = Replay(sessions, recording)
        with listening(replayed.failures):
            for step in recording.steps:
                if step.operation["op"] not in SKIPPED:
                    yield step, replayed.perform(step)


@contextmanager
def listening(failures: Failures) -> Iterator[None]:
    """Count what the store logs while the block runs."""
    logger = logging.getLogger("eventstore")
    logger.addHandler(failures)
    try:
        yield
    finally:
        logger.removeHandler(failures)
