"""What a store must say of itself to be compared: one small adapter each, and work that it can't do by name.

An adapter does what the peer's own documentation does, by public calls; where several would do it takes the fastest. It
imports its peer and nothing of ours, so that the time to start is the peer's alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

Message: TypeAlias = Mapping[str, Any]
Durability: TypeAlias = Literal["full", "normal"]

_SYNCHRONOUS = ("off", "normal", "full", "extra")


def settings(journal: object, synchronous: object) -> str:
    """What two PRAGMAs say of a connection, as "wal, full"."""
    return f"{journal}, {_SYNCHRONOUS[int(str(synchronous))]}"


def text_of(message: Message) -> str:
    """The text of a message of the benchmarks."""
    text: str = message["parts"][0]["text"]
    return text


class Store:
    """One conversation of an open store. Messages are numbered from 0 in the order in which `fill` was given them.

    `durability` "full" is WAL with synchronous=FULL, "normal" is WAL with NORMAL, `None` what the peer does by itself.
    What `cannot` names isn't called; `notes` says of the rest what a reader of the table has to know.
    """

    name: ClassVar[str]
    cannot: ClassVar[Mapping[str, str]] = {}
    notes: ClassVar[Mapping[str, str]] = {}
    shares: ClassVar[bool] = False  # whether what `beside` gives is closed with this one

    def __init__(self, path: Path, durability: Durability | None, conversation: str = "one") -> None:
        self.path = path
        self.durability: Durability | None = durability
        self.conversation = conversation

    def beside(self, conversation: str) -> Store:
        """Another conversation, for another thread: through what both can share, else by opening the file again."""
        return type(self)(self.path, self.durability, conversation)

    def settings(self) -> str:
        """Journal mode and synchronous, read from the connection that writes."""
        raise NotImplementedError

    def prepare(self, message: Message) -> Any:
        """The message as the peer's callers have it. Not timed."""
        return message

    def fill(self, messages: Sequence[Message]) -> None:
        """Stores many. Not timed."""
        self.append_turn([self.prepare(message) for message in messages])

    def append(self, item: Any) -> None:
        """One message, committed."""
        self.append_turn([item])

    def append_turn(self, items: Sequence[Any]) -> None:
        """Some messages together, in one transaction if there can be one."""
        raise NotImplementedError

    def newest(self, number: int) -> Sequence[object]:
        """The newest messages, oldest first."""
        raise NotImplementedError

    def everything(self) -> Sequence[object]:
        """All messages, oldest first."""
        raise NotImplementedError

    def stream(self) -> Iterable[object]:
        """All messages, of which few are in memory at a time."""
        raise NotImplementedError

    def edit(self, number: int, item: Any) -> None:
        """Another content for a message."""
        raise NotImplementedError

    def delete(self, number: int) -> None:
        """Takes a message out."""
        raise NotImplementedError

    def branch(self, number: int, item: Any) -> Sequence[object]:
        """Another continuation after a message, read whole. The conversation is left as it was, untimed: `back`."""
        raise NotImplementedError

    def back(self) -> None:
        """Returns from a branch."""

    def search(self, word: str) -> Sequence[object]:
        """The messages that hold a word."""
        raise NotImplementedError

    def notify(self, number: int) -> None:
        """Gets a list of the conversation's messages, which the appends that follow keep as it is stored."""
        raise NotImplementedError

    def close(self) -> None:
        """Closes the file."""
        raise NotImplementedError
