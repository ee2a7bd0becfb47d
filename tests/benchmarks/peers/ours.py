"""This store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from eventstore import Message, Sessions
from tests.benchmarks.peers import contract
from tests.benchmarks.peers.contract import Durability


class Ours(contract.Store):
    """A `Sessions`, as it is opened by default but for `durability`."""

    name = "eventstore"
    shares = True
    notes: ClassVar[Mapping[str, str]] = {"start": "apsw, attrs, blinker, orjson and pybase64 included"}

    def __init__(self, path: Path, durability: Durability | None, conversation: str = "one") -> None:
        super().__init__(path, durability, conversation)
        self.sessions = Sessions(path, durability=durability or "full", busy_timeout=30)
        self.session = self.sessions.session(conversation)
        self.ids: list[str] = []
        self.shown: list[Message] = []

    def beside(self, conversation: str) -> Ours:
        shared = object.__new__(Ours)
        shared.__dict__.update(self.__dict__, conversation=conversation, session=self.sessions.session(conversation))
        return shared

    def settings(self) -> str:
        with self.sessions.transaction(), self.sessions._store.database.read() as connection:  # the one that writes
            read = [connection.execute(f"PRAGMA {name}").get for name in ("journal_mode", "synchronous")]
        return contract.settings(*read)

    def fill(self, messages: Sequence[contract.Message]) -> None:
        self.ids = [message["id"] for message in messages]
        for start in range(0, len(messages), 5_000):
            self.append_turn(messages[start : start + 5_000])

    def append(self, item: Any) -> None:
        self.session.append_message(item)

    def append_turn(self, items: Sequence[Any]) -> None:
        self.session.append_messages(items)

    def newest(self, number: int) -> Sequence[object]:
        return self.session.get_recent_history(max_messages=number).messages

    def everything(self) -> Sequence[object]:
        return self.session.get_history()

    def stream(self) -> Iterable[object]:
        return self.session.history()

    def edit(self, number: int, item: Any) -> None:
        self.session.update_message({**item, "id": self.ids[number]})

    def delete(self, number: int) -> None:
        self.session.delete_messages([self.ids[number]])

    def branch(self, number: int, item: Any) -> Sequence[object]:
        self.leaf = self.session.get_latest_leaf()
        self.session.append_message(item, parent_id=self.ids[number])
        return self.session.get_history()

    def back(self) -> None:
        assert self.leaf is not None
        self.session.select_leaf(self.leaf["id"])

    def search(self, word: str) -> Sequence[object]:
        return self.session.search(word, limit=None)

    def notify(self, number: int) -> None:
        from projections import mirror

        self.shown = self.session.get_history()
        mirror(self.session, self.shown)

    def close(self) -> None:
        self.sessions.close()
