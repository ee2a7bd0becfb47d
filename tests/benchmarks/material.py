"""What is written and read: messages of 300 bytes, stores filled with them, and the raw database that is the floor.

The floor is apsw and nothing else: one table of the same JSON texts, WAL, default page size, the same `synchronous`.
"""

from __future__ import annotations

import json
import random
import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import apsw

from eventstore import Message, Sessions
from tests.benchmarks.measure import Folder

Durability = Literal["full", "normal"]

MESSAGE_BYTES = 300  # of the JSON text
_WORDS = ("a reply that says what most replies say, in words of the usual length, and so on " * 5).split()
_BATCH = 5_000
_BRANCHES = 2  # other children of the middle message


def messages(number: int, seed: int = 0) -> list[Message]:
    """New messages, of a user and an assistant in turn."""
    chance = random.Random(seed)  # the same ids and texts in every run
    return [_message(chance, ("user", "assistant")[turn % 2]) for turn in range(number)]


def _message(chance: random.Random, role: str) -> Message:
    start = chance.randrange(20)
    message: Message = {
        "id": str(uuid.UUID(int=chance.getrandbits(128), version=4)),
        "role": role,
        "parts": [{"type": "text", "text": " ".join(_WORDS[start:])}],
    }
    over = len(serialized(message)) - MESSAGE_BYTES
    message["parts"][0]["text"] = message["parts"][0]["text"][:-over]
    return message


def serialized(message: Message) -> str:
    """The text that the store keeps of a message."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":"))


# ---- the store


@contextmanager
def opened(path: Path, **options: Any) -> Iterator[Sessions]:
    """A store at durability "normal", unless told otherwise."""
    with Sessions(path, **{"durability": "normal", **options}) as sessions:
        yield sessions


def fill(path: Path, number: int) -> None:
    """Makes a store of one conversation: `number` messages in a row, in the middle some more branches."""
    with opened(path) as sessions:
        session = sessions.session()
        given = messages(number)
        for start in range(0, number, _BATCH):
            session.append_messages(given[start : start + _BATCH])
        for branch in messages(_BRANCHES, seed=1):
            session.append_message(branch, parent_id=given[number // 2]["id"])
        session.select_leaf(given[-1]["id"])


# ---- the floor


@contextmanager
def raw(path: Path, durability: Durability = "normal") -> Iterator[apsw.Connection]:
    """A raw database with one table of texts."""
    connection = apsw.Connection(str(path))
    try:
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", durability)
        connection.execute("CREATE TABLE IF NOT EXISTS body (seq INTEGER PRIMARY KEY, text TEXT)")
        yield connection
    finally:
        connection.close()


def insert(connection: apsw.Connection, texts: Sequence[str]) -> None:
    """One INSERT for each text."""
    execute = connection.execute
    for text in texts:
        execute("INSERT INTO body (text) VALUES (?)", (text,))


def insert_together(connection: apsw.Connection, texts: Sequence[str]) -> None:
    """The same in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    insert(connection, texts)
    connection.execute("COMMIT")


def scan(connection: apsw.Connection) -> list[Any]:
    """Every text, decoded."""
    loads = json.loads
    return [loads(text) for (text,) in connection.execute("SELECT text FROM body ORDER BY seq")]


def fill_raw(path: Path, number: int) -> None:
    """Makes a raw database of the texts that `fill` stores, branches apart."""
    with raw(path) as connection:
        insert_together(connection, [serialized(message) for message in messages(number)])


class Conversations:
    """Filled stores, each made once; who asks gets a copy to change as it likes."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._made: dict[tuple[str, int], Path] = {}

    def store(self, number: int) -> Path:
        """A store of one conversation."""
        return self._copy("store", number)

    def raw(self, number: int) -> Path:
        """A raw database of the same texts."""
        return self._copy("raw", number)

    def _copy(self, kind: str, number: int) -> Path:
        path = self._made.get((kind, number))
        if path is None:
            path = self._made[kind, number] = self._folder.new_file()
            (fill if kind == "store" else fill_raw)(path, number)
        copy = self._folder.new_file()
        shutil.copyfile(path, copy)
        return copy
