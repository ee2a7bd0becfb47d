"""Agno's `SqliteDb`. What it stores apart is a run: each append is a run with its messages.

A session that is read whole comes from a cache of runs in the process; so all are read by `get_runs`, which has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from agno.db.base import SessionType
from agno.db.sqlite import SqliteDb
from agno.models.message import Message as AgnoMessage
from agno.run.agent import RunOutput
from agno.session import AgentSession
from sqlalchemy import event, text

from tests.benchmarks.peers.contract import Durability, Message, Store, settings, text_of
from tests.benchmarks.peers.files import multiply


class Runs(Store):
    """Runs of one session, written by `upsert_run` alone."""

    name = "Agno SqliteDb"
    cannot: ClassVar[Mapping[str, str]] = {
        "stream": "lists only",
        "branch": "no branches",
        "search": "no search",
        "notify": "no listeners",
    }
    notes: ClassVar[Mapping[str, str]] = {"append": "a message is a run", "turn": "a turn is a run"}

    def __init__(self, path: Path, durability: Durability | None, conversation: str = "one") -> None:
        super().__init__(path, durability, conversation)
        self._resume(SqliteDb(db_file=str(path)))

    def _resume(self, db: Any) -> None:
        self.db = db
        durability = self.durability

        def configure(connection: Any, _: object) -> None:
            connection.execute("PRAGMA journal_mode = wal")
            connection.execute(f"PRAGMA synchronous = {durability}")

        if durability is not None:
            event.listen(self.db.db_engine, "connect", configure)
        self.ids: list[str] = []
        if self.db.get_session(self.conversation, SessionType.AGENT, runs_limit=1) is None:
            self.db.upsert_session(AgentSession(session_id=self.conversation, agent_id="agent", created_at=1))
            self.append(self.prepare({"id": "first", "role": "user", "parts": [{"text": ""}]}))  # makes the table
            self.db.delete_run("first")

    def settings(self) -> str:
        with self.db.db_engine.connect() as connection:
            read = [connection.execute(text(f"PRAGMA {name}")).scalar() for name in ("journal_mode", "synchronous")]
        return settings(*read)

    def prepare(self, message: Message) -> AgnoMessage:
        return AgnoMessage(id=message["id"], role=message["role"], content=text_of(message))

    def _run(self, items: Sequence[Any], run_id: str) -> Any:
        return RunOutput(run_id=run_id, agent_id="agent", session_id=self.conversation, messages=list(items))

    def fill(self, messages: Sequence[Message]) -> None:
        """The first is appended, the others are rows like its own: 100,000 calls would take minutes."""
        self.append(self.prepare(messages[0]))
        self.ids = [message["id"] for message in messages]
        with self.db.db_engine.connect() as connection:
            data = connection.execute(text(f"SELECT run_data FROM {self.db.runs_table_name}")).scalar()
        old_id, old_text = messages[0]["id"], text_of(messages[0])
        rows = (
            {
                "run_id": message["id"],
                "run_index": number,
                "run_data": data.replace(old_id, message["id"]).replace(old_text, text_of(message)),
            }
            for number, message in enumerate(messages)
        )
        multiply(self.path, self.db.runs_table_name, rows)

    def append_turn(self, items: Sequence[Any]) -> None:
        self.db.upsert_run(self._run(items, items[0].id), self.conversation)

    def newest(self, number: int) -> Sequence[object]:
        found = self.db.get_session(self.conversation, SessionType.AGENT, runs_limit=number)
        return [message for run in found.runs for message in run.messages]

    def everything(self) -> Sequence[object]:
        return [message for run in self.db.get_runs(self.conversation) for message in run.messages]

    def edit(self, number: int, item: Any) -> None:
        self.db.upsert_run(self._run([item], self.ids[number]), self.conversation)

    def delete(self, number: int) -> None:
        self.db.delete_run(self.ids[number])

    def close(self) -> None:
        self.db.close()
