"""The floors: one table of the same JSON texts, by apsw and by the standard library, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from tests.benchmarks.peers import contract
from tests.benchmarks.peers.contract import Durability, Message

_NO_TREE = "a table of texts has no branches"
_SCAN = "LIKE over every text"


class Floor(contract.Store):
    """What both have in common: a `connection` with `execute`, in autocommit."""

    connection: Any
    cannot: ClassVar[Mapping[str, str]] = {"branch": _NO_TREE}
    notes: ClassVar[Mapping[str, str]] = {"search": _SCAN, "notify": "INSERT, then list.append"}

    def __init__(self, path: Path, durability: Durability | None, conversation: str = "one") -> None:
        super().__init__(path, durability, conversation)
        self.connection = self.connect(path)
        if durability is not None:
            self.connection.execute("PRAGMA journal_mode = wal").fetchall()
            self.connection.execute(f"PRAGMA synchronous = {durability}")
        self.connection.execute("CREATE TABLE IF NOT EXISTS body (seq INTEGER PRIMARY KEY, text TEXT)")
        self.listed: list[object] | None = None

    def connect(self, path: Path) -> Any:
        """A connection in autocommit that waits for others."""
        raise NotImplementedError

    def settings(self) -> str:
        read = self.connection.execute
        return contract.settings(
            read("PRAGMA journal_mode").fetchone()[0], read("PRAGMA synchronous").fetchone()[0]
        )  # fmt: skip

    def append(self, item: Message) -> None:
        self.connection.execute("INSERT INTO body (text) VALUES (?)", (_encoded(item),))
        if self.listed is not None:
            self.listed.append(item)

    def append_turn(self, items: Sequence[Message]) -> None:
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.executemany("INSERT INTO body (text) VALUES (?)", [(_encoded(item),) for item in items])
        self.connection.execute("COMMIT")

    def newest(self, number: int) -> Sequence[object]:
        rows = self.connection.execute("SELECT text FROM body ORDER BY seq DESC LIMIT ?", (number,)).fetchall()
        return [json.loads(text) for (text,) in reversed(rows)]

    def everything(self) -> Sequence[object]:
        return list(self.stream())

    def stream(self) -> Iterable[object]:
        return (json.loads(text) for (text,) in self.connection.execute("SELECT text FROM body ORDER BY seq"))

    def edit(self, number: int, item: Message) -> None:
        self.connection.execute("UPDATE body SET text = ? WHERE seq = ?", (_encoded(item), number + 1))

    def delete(self, number: int) -> None:
        self.connection.execute("DELETE FROM body WHERE seq = ?", (number + 1,))

    def search(self, word: str) -> Sequence[object]:
        found = self.connection.execute("SELECT text FROM body WHERE text LIKE ?", (f"%{word}%",)).fetchall()
        return [json.loads(text) for (text,) in found]

    def notify(self, number: int) -> None:
        self.listed = list(self.everything())

    def close(self) -> None:
        self.connection.close()


def _encoded(message: Message) -> str:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":"))


class RawApsw(Floor):
    """apsw."""

    name = "raw apsw"

    def connect(self, path: Path) -> Any:
        import apsw

        connection = apsw.Connection(str(path))
        connection.set_busy_timeout(30_000)
        return connection


class RawSqlite3(Floor):
    """The standard library's sqlite3."""

    name = "raw sqlite3"

    def connect(self, path: Path) -> Any:
        import sqlite3

        return sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
