"""OpenAI Agents SDK: `SQLiteSession`, and `AdvancedSQLiteSession`, which has branches.

Each has a connection for every thread, and works in threads of the event loop's pool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from agents import SQLiteSession
from agents.extensions.memory import AdvancedSQLiteSession

from tests.benchmarks.peers.contract import Durability, Message, settings, text_of
from tests.benchmarks.peers.looping import AsyncStore

_UNSET = "it opens its connections itself, and has no setting for synchronous"


class Plain(AsyncStore):
    """`SQLiteSession`. It is WAL and FULL by itself."""

    name = "OpenAI SQLiteSession"
    cannot: ClassVar[Mapping[str, str]] = {
        "normal": _UNSET,
        "stream": "lists only",
        "edit": "an item can't be replaced",
        "branch": "no branches",
        "search": "no search",
        "notify": "no listeners",
    }
    notes: ClassVar[Mapping[str, str]] = {"delete": "the newest only (`pop_item`)"}

    def __init__(self, path: Path, durability: Durability | None, conversation: str = "one") -> None:
        super().__init__(path, durability, conversation)
        self.session = self.open()

    def open(self) -> Any:
        """The session."""
        return SQLiteSession(self.conversation, self.path)

    def settings(self) -> str:
        def read() -> str:
            execute = self.session._get_connection().execute
            return settings(execute("PRAGMA journal_mode").fetchone()[0], execute("PRAGMA synchronous").fetchone()[0])

        return self.loop.run_until_complete(self.loop.run_in_executor(None, read))

    def prepare(self, message: Message) -> Any:
        return {"id": message["id"], "role": message["role"], "content": text_of(message)}

    def append_turn(self, items: Sequence[Any]) -> None:
        self.run(self.session.add_items(items))

    def newest(self, number: int) -> Sequence[object]:
        return self.run(self.session.get_items(limit=number))

    def everything(self) -> Sequence[object]:
        return self.run(self.session.get_items())

    def delete(self, number: int) -> None:
        self.run(self.session.pop_item())

    def close(self) -> None:
        self.session.close()
        super().close()


class Advanced(Plain):
    """`AdvancedSQLiteSession`. A branch is a copy of what is before it."""

    name = "OpenAI AdvancedSQLiteSession"
    cannot: ClassVar[Mapping[str, str]] = {
        key: reason for key, reason in Plain.cannot.items() if key not in ("branch", "search")
    }
    notes: ClassVar[Mapping[str, str]] = {
        **Plain.notes,
        "search": "LIKE over every text, of users' messages only",
        "branch": "copies what is before",
    }

    def open(self) -> Any:
        self.branches = 0
        return AdvancedSQLiteSession(session_id=self.conversation, db_path=self.path, create_tables=True)

    def branch(self, number: int, item: Any) -> Sequence[object]:
        self.branches += 1
        self.run(self.session.create_branch_from_turn(number // 2 + 1, f"branch {self.branches}"))
        self.run(self.session.add_items([item]))
        return self.everything()

    def back(self) -> None:
        self.run(self.session.switch_to_branch("main"))

    def search(self, word: str) -> Sequence[object]:
        return self.run(self.session.find_turns_by_content(word))
