"""What every importer yields, whatever it reads: a `Conversation`, and the tree work that all of them share.

A conversation's rows have siblings in the file's own order, and every row's parent is another row or `None`: every
message of it is reachable. Parents come first, but for transcripts that are read twice (`MadeRows`). What was left out
or mended is named in `skipped`. Nothing here knows a format or a store.

The rules for damaged trees, the same for all formats (`mend_parents`):

- A node that names a parent which isn't in the file, or none at all, hangs under the first node that lists it among its
  children; without one it becomes a root.
- Of the nodes of a cycle (a node that is its own parent is one) the first in the file becomes a root, or the one that
  was hung there by the first rule.

Every walk is a loop and takes time linear in the number of nodes: conversations are deep.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any, TypeAlias, TypeVar, overload

import attrs

from eventstore.errors import EventStoreError
from eventstore.reports import ImportRow

T = TypeVar("T")
Skipped: TypeAlias = tuple[str, str]
"""(what, why) of something that was left out or mended: `("message 'x'", "it is empty")`."""


class InvalidExport(EventStoreError, ValueError):
    """A file isn't an export that can be read: torn, not JSON, or of an unknown kind.

    `path` is the file, `line` (from 1) where it stops making sense, `None` where that is no matter of a line, `reason`
    what was wanted and found there.
    """

    def __init__(self, path: str | os.PathLike[str], line: int | None, reason: str) -> None:
        self.path = os.fspath(path)
        self.line = line
        self.reason = reason
        super().__init__(f"{self.path}{'' if line is None else f', line {line}'}: {reason}")

    def __reduce__(self) -> tuple[type[InvalidExport], tuple[str, int | None, str]]:
        return InvalidExport, (self.path, self.line, self.reason)


@attrs.frozen
class Summary:
    """A compaction of the system that the export comes from: what stands for the messages from one to another.

    Both are rows of the conversation, the first an ancestor of the last or the same. `summary` isn't blank.
    """

    from_message_id: str
    to_message_id: str
    summary: str
    created_at: datetime


class MadeRows(Sequence[ImportRow]):
    """Rows that are made when they are asked for, so that memory needn't hold them and known ones cost nothing.

    `ids` are those of their messages, in order; `make(id)` gives the row, and the same one each time.
    """

    def __init__(self, ids: Sequence[str], make: Callable[[str], ImportRow]) -> None:
        self.ids = ids
        self._make = make

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, at: int) -> ImportRow: ...
    @overload
    def __getitem__(self, at: slice) -> list[ImportRow]: ...
    def __getitem__(self, at: int | slice) -> ImportRow | list[ImportRow]:
        return [self._make(id) for id in self.ids[at]] if isinstance(at, slice) else self._make(self.ids[at])

    def __iter__(self) -> Iterator[ImportRow]:
        return map(self._make, self.ids)

    def where(self, wanted: Callable[[str], bool]) -> Iterator[ImportRow]:
        """Those whose ids are wanted."""
        return map(self._make, filter(wanted, self.ids))


@attrs.frozen
class Conversation:
    """One conversation of an export.

    `session_id` is `<format>:<conversation id>`. `metadata` is JSON about the conversation: `title`, `model`,
    `created_at` and `updated_at` (ISO 8601) where the export has them, and the rest of what it says under the format's
    name. `rows` are the messages. `current` is the message that the export's shown branch ends at. `summaries` are its
    compactions, oldest first.

    `elsewhere` is for roots whose parent isn't in the file (message → parent): the session may hold it already.
    `growing` are messages of which a later export may have more parts, since the file is written while they come.
    `aside` says that it is only what was said beside the conversation, so that the branch that is active stays so.
    `digest` is that of all that the file says of it, and is noted when it is stored (see `Found`).
    """

    session_id: str
    metadata: dict[str, Any]
    rows: Sequence[ImportRow]
    current: str | None = None
    skipped: tuple[Skipped, ...] = ()
    summaries: tuple[Summary, ...] = ()
    elsewhere: Mapping[str, str] = attrs.field(factory=dict)
    growing: Container[str] = frozenset()
    aside: bool = False
    digest: str | None = None

    def rows_where(self, wanted: Callable[[str], bool]) -> Iterator[ImportRow]:
        """The rows of the messages whose ids are wanted, in order."""
        if isinstance(self.rows, MadeRows):
            return self.rows.where(wanted)
        return (row for row in self.rows if wanted(row.message["id"]))


@attrs.frozen
class Found:
    """Conversations that were found in a file and not yet read: mostly one.

    `digests` are those of all that the file says of them, one for each. A conversation whose digest was noted when it
    was stored needn't be read again. There are none where that can't be told. They may be a generator, which is asked
    only as long as they are known. `session_id` is where they are noted, `None` where only reading tells it. `read()`
    gives the conversations: more than there are digests, where only reading shows that.
    """

    session_id: str | None
    digests: Iterable[str]
    read: Callable[[], Iterable[Conversation]]


def mend_parents(
    parents: Mapping[str, str | None], children: Mapping[str, Iterable[str]]
) -> tuple[dict[str, str | None], list[Skipped]]:
    """`parents` (node → parent, in the file's order) as a forest, by the rules above, and what was mended.

    `children` is what nodes say of their children, where the format has that. It decides only where a node has no
    usable parent of its own: the parent field wins.
    """
    mended, notes = _with_known_parents(parents, children)
    position: dict[str, tuple[bool, int]] = {}  # made where there is a cycle
    reached_from: dict[str, str] = {}
    for start in parents:
        node: str | None = start
        while node is not None and node not in reached_from:
            reached_from[node] = start
            node = mended[node]
        if node is not None and reached_from[node] == start:  # this walk came back to itself
            position = position or {node: (mended[node] == parents[node], at) for at, node in enumerate(parents)}
            first = min(_cycle(node, mended), key=position.__getitem__)
            notes.append((f"parent of {first!r}", "it is its own ancestor: made a root"))
            mended[first] = None
    return mended, notes


def _with_known_parents(
    parents: Mapping[str, str | None], children: Mapping[str, Iterable[str]]
) -> tuple[dict[str, str | None], list[Skipped]]:
    listed_by: dict[str, str] = {}
    for node, listed in children.items():
        for child in listed:
            if child != node:
                listed_by.setdefault(child, node)
    mended: dict[str, str | None] = {}
    notes: list[Skipped] = []
    for node, parent in parents.items():
        if parent is not None and parent in parents:
            mended[node] = parent
            continue
        mended[node] = foster = listed_by.get(node)
        if foster is not None or parent is not None:
            wrong = "it names none" if parent is None else f"{parent!r} is not in the file"
            rule = "a root, unless the session holds it" if foster is None else f"hung under {foster!r}, which lists it"
            notes.append((f"parent of {node!r}", f"{wrong}: {rule}"))
    return mended, notes


def _cycle(start: str, parents: Mapping[str, str | None]) -> list[str]:
    members = [start]
    while (node := parents[members[-1]]) is not None and node != start:
        members.append(node)
    return members


def order_parents_first(parents: Mapping[str, str | None], children: Mapping[str, Iterable[str]]) -> list[str]:
    """Every node of a forest, depth first: roots in the file's order, siblings as their parent lists them.

    Siblings that their parent doesn't list follow the others, in the file's order. A listed node that hangs elsewhere
    is not repeated.
    """
    below: dict[str | None, list[str]] = {}
    for node, listed in children.items():
        below[node] = [child for child in dict.fromkeys(listed) if child in parents and parents[child] == node]
    placed = {*chain.from_iterable(below.values())}
    for node, parent in parents.items():
        if node not in placed:
            below.setdefault(parent, []).append(node)
    order: list[str] = []
    waiting = below.get(None, [])[::-1]
    while waiting:
        node = waiting.pop()
        order.append(node)
        if node in below:
            waiting += reversed(below[node])
    return order


def nearest(order: Sequence[str], parents: Mapping[str, str | None], own: Mapping[str, T]) -> dict[str, T]:
    """Each node's own value, or else that of its nearest ancestor that has one; nodes without either are left out."""
    found: dict[str, T] = {}
    for node in order if own else ():
        if node in own:
            found[node] = own[node]
        elif (parent := parents[node]) is not None and parent in found:
            found[node] = found[parent]
    return found


def standing_for(order: Sequence[str], parents: Mapping[str, str | None], kept: Iterable[str]) -> dict[str, str]:
    """For each node itself if it is kept, or its nearest kept ancestor."""
    return nearest(order, parents, {node: node for node in kept})


def rehang(parents: Mapping[str, str | None], standing: Mapping[str, str]) -> dict[str, str | None]:
    """The parent of each kept node among the kept ones: its nearest kept ancestor, or `None`. In their order."""
    return {
        node: None if (parent := parents[node]) is None else standing.get(parent)
        for node, itself in standing.items()
        if node == itself
    }
