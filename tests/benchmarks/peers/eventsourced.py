"""The recorder of the `eventsourcing` package on SQLite: events of an originator, numbered by the caller.

It is a log without a conversation: no ids, no tree, no text. What it can't do here, an application would do above it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar
from uuid import NAMESPACE_URL, uuid5

from eventsourcing.persistence import StoredEvent
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteDatastore

from tests.benchmarks.peers.contract import Durability, Message, Store, settings


class Recorder(Store):
    """`SQLiteApplicationRecorder`, with a pool of one connection."""

    name = "eventsourcing recorder"
    cannot: ClassVar[Mapping[str, str]] = {
        "stream": "lists only",
        "edit": "an event can't be replaced",
        "delete": "an event can't be taken out",
        "branch": "no branches",
        "search": "no search",
        "notify": "no listeners on SQLite",
    }

    def __init__(self, path: Path, durability: Durability | None, conversation: str = "one") -> None:
        super().__init__(path, durability, conversation)
        self.datastore = SQLiteDatastore(str(path), pool_size=1, max_overflow=0, lock_timeout=30)
        if durability is not None:
            with self.datastore.get_connection(commit=True) as connection, connection.cursor() as cursor:
                cursor.execute(f"PRAGMA synchronous = {durability}")
        self.recorder = SQLiteApplicationRecorder(self.datastore)
        self.recorder.create_table()
        self.originator = uuid5(NAMESPACE_URL, conversation)
        found = self.recorder.select_events(self.originator, desc=True, limit=1)
        self.version = found[0].originator_version if found else 0

    def settings(self) -> str:
        def read(name: str) -> Any:
            with self.datastore.get_connection(commit=True) as connection, connection.cursor() as cursor:
                return cursor.execute(f"PRAGMA {name}").fetchone()[0]

        return settings(read("journal_mode"), read("synchronous"))

    def append_turn(self, items: Sequence[Any]) -> None:
        events = [
            StoredEvent(self.originator, self.version + number, "message", _encoded(item))
            for number, item in enumerate(items, 1)
        ]
        self.recorder.insert_events(events)
        self.version += len(events)

    def newest(self, number: int) -> Sequence[object]:
        found = self.recorder.select_events(self.originator, desc=True, limit=number)
        return [json.loads(event.state) for event in reversed(found)]

    def everything(self) -> Sequence[object]:
        return [json.loads(event.state) for event in self.recorder.select_events(self.originator)]

    def close(self) -> None:
        self.datastore.close()


def _encoded(message: Message) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
