"""langchain-community's `SQLChatMessageHistory`, by SQLAlchemy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from langchain_community.chat_message_histories import SQLChatMessageHistory
from langchain_core.messages import AIMessage, HumanMessage
from sqlalchemy import create_engine, event, text

from tests.benchmarks.peers.contract import Durability, Message, Store, settings, text_of


class History(Store):
    """One history, on an engine of its own."""

    name = "LangChain SQLChatMessageHistory"
    cannot: ClassVar[Mapping[str, str]] = {
        "newest": "all or nothing",
        "stream": "lists only",
        "edit": "a message can't be replaced",
        "delete": "a message can't be taken out",
        "branch": "no branches",
        "search": "no search",
        "notify": "no listeners",
    }

    def __init__(self, path: Path, durability: Durability | None, conversation: str = "one") -> None:
        super().__init__(path, durability, conversation)
        self.engine = create_engine(f"sqlite:///{path}")

        def configure(connection: Any, _: object) -> None:
            connection.execute("PRAGMA journal_mode = wal")
            connection.execute(f"PRAGMA synchronous = {durability}")

        if durability is not None:
            event.listen(self.engine, "connect", configure)
        self.history = SQLChatMessageHistory(conversation, connection=self.engine)

    def settings(self) -> str:
        with self.engine.connect() as connection:
            read = [connection.execute(text(f"PRAGMA {name}")).scalar() for name in ("journal_mode", "synchronous")]
        return settings(*read)

    def prepare(self, message: Message) -> Any:
        kind = HumanMessage if message["role"] == "user" else AIMessage
        return kind(text_of(message), id=message["id"])

    def append(self, item: Any) -> None:
        self.history.add_message(item)

    def append_turn(self, items: Sequence[Any]) -> None:
        self.history.add_messages(items)

    def everything(self) -> Sequence[object]:
        messages: list[object] = self.history.messages
        return messages

    def close(self) -> None:
        self.engine.dispose()
