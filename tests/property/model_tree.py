"""The oracle's tree: each message holds its parent's id, a delete splices, and every walk looks at all messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import attrs

from eventstore import Message
from eventstore.codec import encode

Json = dict[str, Any]


@attrs.frozen
class Node:
    """A living message. `born`, `touched` and `version` are numbers of events."""

    message: Message
    parent_id: str | None
    born: int  # the event that stored it: its identity, whatever its id
    touched: int  # the last append, import or select
    version: int  # the event that gave it the body that it has
    created_at: datetime | None = None  # None: the store's own clock

    @property
    def id(self) -> str:
        return self.message["id"]

    @property
    def seq(self) -> int:
        """As a `MessageInfo` calls it."""
        return self.born


@attrs.define
class State:
    """One session at one moment."""

    nodes: dict[str, Node] = attrs.Factory(dict)
    metadata: Json = attrs.Factory(dict)
    metadata_version: int = 0
    seq: int = 0  # its last event; 0: not listed

    def copy(self) -> State:
        return attrs.evolve(self, nodes=dict(self.nodes))

    def by_age(self) -> list[Node]:
        return sorted(self.nodes.values(), key=lambda node: node.born)

    def children(self, message_id: str | None) -> list[Node]:
        return [node for node in self.by_age() if node.parent_id == message_id]

    def path(self, message_id: str | None) -> list[Node]:
        path: list[Node] = []
        while message_id is not None:
            path.append(self.nodes[message_id])
            message_id = path[-1].parent_id
        return path[::-1]

    def subtree(self, message_id: str) -> list[Node]:
        return [node for node in self.by_age() if message_id in [n.id for n in self.path(node.id)]]

    def active(self, nodes: Iterable[Node] | None = None) -> Node | None:
        return max(self.nodes.values() if nodes is None else nodes, key=lambda node: node.touched, default=None)

    def leaves(self) -> list[Node]:
        leaves = [node for node in self.nodes.values() if not self.children(node.id)]
        return sorted(leaves, key=lambda node: node.touched, reverse=True)

    def remove(self, message_ids: Sequence[str]) -> None:
        """Splices: what hung on a removed message hangs on its nearest surviving ancestor."""
        for message_id in message_ids:
            gone = self.nodes.pop(message_id)
            for node in self.children(gone.id):
                self.nodes[node.id] = attrs.evolve(node, parent_id=gone.parent_id)


@attrs.frozen
class Entry:
    """One event of the expected log, or (`inserted` false) the notice of a repeated append."""

    type: str
    seq: int
    session_id: str
    message: Message | None = None
    born: int = 0  # of the message that it speaks of
    parent_id: str | None = None
    message_ids: tuple[str, ...] = ()
    metadata: Json = attrs.Factory(dict)
    inserted: bool = True
    bare: bool = False  # logged without its body, which a copy leaves behind when no read shows it


def erased(message: Message) -> Json:
    """How a body reads that was not retained."""
    return {"id": message["id"], "role": message["role"], "parts": [{"type": "erased"}]}


def size(message: Message) -> int:
    """UTF-8 bytes of its compact JSON, as it is stored: how an exponent is spelled is the encoder's choice."""
    return encode(message).size
