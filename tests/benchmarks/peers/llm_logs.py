"""The log store of the `llm` package: messages found by hashes of themselves and all before them."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import sqlite_utils
from llm.logs import LogStore
from llm.parts import Message as LlmMessage
from llm.parts import TextPart

from tests.benchmarks.peers.contract import Durability, Message, Store, settings, text_of


class Logs(Store):
    """One thread."""

    name = "llm LogStore"
    cannot: ClassVar[Mapping[str, str]] = {
        "newest": "a thread is loaded whole",
        "stream": "lists only",
        "edit": "a message is its content: another content is another branch",
        "delete": "a message can't be taken out",
        "search": "finds what the command logged with a response, not messages stored by themselves",
        "notify": "no listeners",
    }
    notes: ClassVar[Mapping[str, str]] = {"turn": "a transaction a message", "everything": "a statement a message"}

    def __init__(self, path: Path, durability: Durability | None, conversation: str = "one") -> None:
        super().__init__(path, durability, conversation)
        connection = sqlite3.connect(path, timeout=30, check_same_thread=False)
        if durability is not None:
            connection.execute("PRAGMA journal_mode = wal")
            connection.execute(f"PRAGMA synchronous = {durability}")
        self.store = LogStore(sqlite_utils.Database(connection))
        self.store.ensure_thread(conversation)
        self.branches = 0

    def settings(self) -> str:
        read = self.store.db.execute
        return settings(read("PRAGMA journal_mode").fetchone()[0], read("PRAGMA synchronous").fetchone()[0])

    def prepare(self, message: Message) -> Any:
        return LlmMessage(role=message["role"], parts=[TextPart(text=text_of(message))])

    def fill(self, messages: Sequence[Message]) -> None:
        middle = len(messages) // 2
        with self.store.db.atomic():
            made = [self.prepare(message) for message in messages]
            self.store.append(self.conversation, made[: middle + 1])
            self.middle = self.store.thread_tip(self.conversation)
            self.store.append(self.conversation, made[middle + 1 :])

    def append_turn(self, items: Sequence[Any]) -> None:
        self.store.append(self.conversation, items)

    def everything(self) -> Sequence[object]:
        return self._read(self.conversation)

    def branch(self, number: int, item: Any) -> Sequence[object]:
        thread = self.store.fork(self.middle)
        self.store.append(thread, [item])
        return self._read(thread)

    def _read(self, thread: str) -> Sequence[object]:
        messages: list[object] = self.store.thread_messages(thread)
        return messages

    def close(self) -> None:
        self.store.db.close()
