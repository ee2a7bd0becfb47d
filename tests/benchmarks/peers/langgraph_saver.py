"""LangGraph's `SqliteSaver`: each checkpoint is the whole state, so an append writes every message again."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver

from tests.benchmarks.peers.contract import Durability, Message, Store, settings, text_of

_WHOLE = "writes the whole state"


class Saver(Store):
    """A state with one channel, `messages`; the list is kept by the caller, as a graph keeps it while it runs."""

    name = "LangGraph SqliteSaver"
    shares = True
    cannot: ClassVar[Mapping[str, str]] = {
        "newest": "the state is loaded whole",
        "stream": "the state is loaded whole",
        "search": "no search",
        "notify": "no listeners",
    }
    notes: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("append", "medium", "long", "turn", "default", "normal", "edit", "delete", "branch", "disk"), _WHOLE
    )

    def __init__(self, path: Path, durability: Durability | None, conversation: str = "one") -> None:
        super().__init__(path, durability, conversation)
        connection = sqlite3.connect(path, check_same_thread=False, timeout=30)
        if durability is not None:
            connection.execute("PRAGMA journal_mode = wal")
            connection.execute(f"PRAGMA synchronous = {durability}")
        self._resume(SqliteSaver(connection))

    def _resume(self, saver: SqliteSaver) -> None:
        self.saver = saver
        self.saver.setup()
        self.config: Any = {"configurable": {"thread_id": self.conversation, "checkpoint_ns": ""}}
        self.messages: list[Any] = []

    def beside(self, conversation: str) -> Store:
        other = object.__new__(Saver)
        Store.__init__(other, self.path, self.durability, conversation)
        other._resume(self.saver)
        return other

    def settings(self) -> str:
        read = self.saver.conn.execute
        return settings(read("PRAGMA journal_mode").fetchone()[0], read("PRAGMA synchronous").fetchone()[0])

    def prepare(self, message: Message) -> Any:
        kind = HumanMessage if message["role"] == "user" else AIMessage
        return kind(text_of(message), id=message["id"])

    def _put(self, config: Any, messages: list[Any]) -> Any:
        checkpoint = empty_checkpoint()
        checkpoint["channel_values"] = {"messages": messages}
        return self.saver.put(config, checkpoint, {"source": "loop", "step": len(messages)}, {})

    def _save(self) -> None:
        self.config = self._put(self.config, self.messages)

    def fill(self, messages: Sequence[Message]) -> None:
        """Two checkpoints, so that there is one in the middle to branch from."""
        made = [self.prepare(message) for message in messages]
        self.append_turn(made[: len(made) // 2])
        self.middle = self.config
        self.append_turn(made[len(made) // 2 :])

    def append_turn(self, items: Sequence[Any]) -> None:
        self.messages += items
        self._save()

    def everything(self) -> Sequence[object]:
        thread = {"configurable": {"thread_id": self.conversation, "checkpoint_ns": ""}}
        return self._read(thread)

    def _read(self, config: Any) -> Sequence[object]:
        found = self.saver.get_tuple(config)
        assert found is not None
        messages: list[Any] = found.checkpoint["channel_values"]["messages"]
        return messages

    def edit(self, number: int, item: Any) -> None:
        self.messages[number] = item
        self._save()

    def delete(self, number: int) -> None:
        del self.messages[number]
        self._save()

    def branch(self, number: int, item: Any) -> Sequence[object]:
        before = self._read(self.middle)
        return self._read(self._put(self.middle, [*before, item]))

    def back(self) -> None:
        self._save()

    def close(self) -> None:
        self.saver.conn.close()
