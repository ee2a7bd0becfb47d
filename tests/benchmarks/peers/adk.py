"""Google's Agent Development Kit: `SqliteSessionService` and `DatabaseSessionService`.

The first opens the file anew for every call, in the journal mode that the file has: DELETE unless somebody changed
that. Appends also grow the list of the session in memory, which the caller holds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from google.adk.events import Event
from google.adk.sessions import DatabaseSessionService
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types
from sqlalchemy import event as engine_event

from tests.benchmarks.peers.contract import Durability, Message, settings, text_of
from tests.benchmarks.peers.files import make_wal, multiply
from tests.benchmarks.peers.looping import AsyncStore

_WHO = {"app_name": "benchmarks", "user_id": "someone"}
_CANNOT = {
    "stream": "lists only",
    "edit": "an event can't be replaced",
    "delete": "an event can't be taken out",
    "branch": "no branches",
    "search": "no search",
    "notify": "no listeners",
}


class _Service(AsyncStore):
    """What both have in common."""

    service: Any
    notes: ClassVar[Mapping[str, str]] = {"turn": "one transaction each: no call takes several"}

    def begin(self) -> None:
        """Finds the session, or makes it."""
        named = {**_WHO, "session_id": self.conversation}
        config = GetSessionConfig(num_recent_events=1)
        found = self.run(self.service.get_session(**named, config=config))
        self.session = found or self.run(self.service.create_session(**named))

    def prepare(self, message: Message) -> Event:
        role = "user" if message["role"] == "user" else "model"
        content = types.Content(role=role, parts=[types.Part(text=text_of(message))])
        return Event(id=message["id"], author=message["role"], content=content)

    def fill(self, messages: Sequence[Message]) -> None:
        """The first is appended, the others are rows like its own: 100,000 calls would take minutes."""
        first = self.prepare(messages[0])
        self.append(first)
        data = json.loads(first.model_dump_json(exclude_none=True))
        begin = self.session.last_update_time - len(messages)
        multiply(self.path, "events", (self.row(data, m, begin + n) for n, m in enumerate(messages)))

    def row(self, data: dict[str, Any], message: Message, when: float) -> dict[str, object]:
        """The columns in which the row of a message differs from that of the first."""
        own = {"id": message["id"], "author": message["role"], "timestamp": when}
        content = {**data["content"], "parts": [{"text": text_of(message)}]}
        return {"id": message["id"], "timestamp": when, "event_data": json.dumps({**data, **own, "content": content})}

    def append(self, item: Event) -> None:
        self.run(self.service.append_event(self.session, item))

    def append_turn(self, items: Sequence[Event]) -> None:
        for item in items:
            self.append(item)

    def newest(self, number: int) -> Sequence[object]:
        return self._load(GetSessionConfig(num_recent_events=number))

    def everything(self) -> Sequence[object]:
        return self._load(None)

    def _load(self, config: GetSessionConfig | None) -> Sequence[object]:
        found = self.run(self.service.get_session(**_WHO, session_id=self.conversation, config=config))
        events: list[object] = found.events
        return events

    def close(self) -> None:
        self.run(self.service.close())
        super().close()


class Sqlite(_Service):
    """`SqliteSessionService`."""

    name = "ADK SqliteSessionService"
    cannot: ClassVar[Mapping[str, str]] = {
        **_CANNOT,
        "normal": "it opens a connection for each call, and has no setting for synchronous",
    }

    def __init__(self, path: Path, durability: Durability | None, conversation: str = "one") -> None:
        super().__init__(path, durability, conversation)
        if durability is not None:
            make_wal(path)
        self.service = SqliteSessionService(str(path))
        self.begin()

    def settings(self) -> str:
        async def read() -> str:
            async with self.service._get_db_connection() as connection:
                found = [
                    await connection.execute_fetchall(f"PRAGMA {name}") for name in ("journal_mode", "synchronous")
                ]
                return settings(*(rows[0][0] for rows in found))

        return self.run(read())


class Database(_Service):
    """`DatabaseSessionService`, by SQLAlchemy and aiosqlite."""

    name = "ADK DatabaseSessionService"
    cannot: ClassVar[Mapping[str, str]] = _CANNOT

    def __init__(self, path: Path, durability: Durability | None, conversation: str = "one") -> None:
        super().__init__(path, durability, conversation)
        self.service = DatabaseSessionService(f"sqlite+aiosqlite:///{path}")

        def configure(connection: Any, _: object) -> None:
            cursor = connection.cursor()
            cursor.execute("PRAGMA journal_mode = wal")
            cursor.execute(f"PRAGMA synchronous = {durability}")
            cursor.close()

        if durability is not None:
            engine_event.listen(self.service.db_engine.sync_engine, "connect", configure)
        self.begin()

    def row(self, data: dict[str, Any], message: Message, when: float) -> dict[str, object]:
        from datetime import UTC, datetime

        made = super().row(data, message, when)
        return {**made, "timestamp": datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")}

    def settings(self) -> str:
        async def read() -> str:
            async with self.service.db_engine.connect() as connection:
                found = [
                    (await connection.exec_driver_sql(f"PRAGMA {name}")).scalar()
                    for name in ("journal_mode", "synchronous")
                ]
                return settings(*found)

        return self.run(read())
