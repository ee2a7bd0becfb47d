"""The session ids of the lists in one file.

One without an id of its own is named by its first message that isn't a system message: by its id and its content. A
list that goes on where an earlier one of that name ends, or ends there too, is the same conversation; another one gets
`#2`, `#3`, … behind its name, in the file's order.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from eventstore.exchange.assembling import Told
from eventstore.exchange.identities import content_id, text_of


class Names:
    """The names that were given so far, and how far each conversation was told."""

    def __init__(self, format: str) -> None:
        self.format = format
        self._told: dict[str, list[tuple[int, str]]] = {}  # name -> how long each was told, and what stands for it

    def begin(self, given: str | None) -> Naming:
        """The naming of the next list, which has the id `given`, if it has one."""
        return Naming(self, given)

    def known(self, name: str) -> list[tuple[int, str]]:
        """How long each list of that name was told, and what stands for it."""
        return self._told.setdefault(name, [])


class Naming:
    """One list, which is heard message by message and then named."""

    def __init__(self, names: Names, given: str | None) -> None:
        self._names = names
        self._given = given
        self._early: list[list[Any]] = []  # what is said before the message that it is named by
        self._name: str | None = None
        self._known: list[tuple[int, str]] = []
        self._lengths: set[int] = set()
        self._length = 0
        self._so_far = blake2b(digest_size=16)
        self._same: int | None = None

    def hear(self, told: Told) -> None:
        """Takes note of the next message."""
        if self._given is not None:
            return
        said = [told.id if isinstance(told.id, str) else None, told.role, told.content]
        if self._name is not None:
            self._go_on(said)
            return
        self._early.append(said)
        if told.role != "system":
            self._begin(said)

    def _begin(self, first: list[Any]) -> None:
        """Names it by a message, and takes note of all that came so far."""
        self._name = content_id(None, first)
        self._known = self._names.known(self._name)
        self._lengths = {length for length, _ in self._known}
        for said in self._early:
            self._go_on(said)
        self._early.clear()

    def _go_on(self, said: list[Any]) -> None:
        self._length += 1
        self._so_far.update(text_of(said))
        if self._length in self._lengths and (here := (self._length, self._so_far.hexdigest())) in self._known:
            self._same = self._known.index(here)

    def name(self, given: str | None = None) -> str:
        """The session id. `given` is an id that was found meanwhile."""
        given = self._given or given
        if given is not None:
            return f"{self._names.format}:{given}"
        if self._name is None and self._early:
            self._begin(self._early[0])
        if self._name is None:
            return f"{self._names.format}:unknown"
        number = len(self._known) if self._same is None else self._same
        self._known[number : number + 1] = [(self._length, self._so_far.hexdigest())]
        return f"{self._names.format}:{self._name}" + (f"#{number + 1}" if number else "")
