"""What a store keeps in memory between its writes, held against the file each time it is used.

`watch` puts watched ones in the place of a store's heads, sums and texts. Where one gives another answer than the file
does, in the same transaction, it raises `Stale`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

import attrs

from eventstore import Sessions, bodies, driver, fold, log
from eventstore import heads as heads_module
from eventstore.bodies import Growing
from eventstore.database import Database
from eventstore.driver import Connection
from eventstore.heads import Found, Head, KeptHeads
from eventstore.paths import Path
from eventstore.store import GrowingTexts
from eventstore.totals import PathTotals


class Stale(Exception):
    """What is kept isn't what is in the file. None of the errors that a store takes for damage."""


def _told(found: Found) -> tuple[Any, ...]:
    *others, head = found
    return (*others, None if head is None else _row(head))


def _row(head: Head) -> tuple[Any, ...]:
    return tuple(getattr(head, name) for name in Head.__slots__ if name != "ends_chain")  # which isn't in it


def _check_end(connection: Connection, head: Head) -> None:
    (tail,) = driver.fetch_one(connection, "SELECT max(seq) FROM message WHERE chain = ?", (head.leaf_chain,))
    if head.ends_chain and tail != head.leaf:
        raise Stale(f"{_row(head)}: known with its leaf as the last of its chain, which is {tail}")


def watched_places() -> AbstractContextManager[object]:
    """While it lasts, where a message goes is compared too: in the midst of a write, and in every replay."""
    place = fold._place

    def watched(connection: Connection, head: Head, seq: int, parent: int | None) -> int:
        _check_end(connection, head)
        return place(connection, head, seq, parent)

    return patch.object(fold, "_place", watched)


@attrs.define
class Uses:
    """How often an answer came from memory."""

    heads: int = 0
    totals: int = 0
    texts: int = 0
    most_heads: int = 0  # that were kept at once


class WatchedHeads(KeptHeads):
    """Compares what a write begins with, and every other head that is kept."""

    def __init__(self, uses: Uses) -> None:
        super().__init__()
        self._uses = uses

    def load_for_write(self, connection: Connection, name: str, message_id: str | None) -> Found:
        found = super().load_for_write(connection, name, message_id)
        there = KeptHeads().load_for_write(connection, name, message_id)
        if _told(found) != _told(there):
            raise Stale(f"session {name!r}: kept {_told(found)}, in the file {_told(there)}")
        head = found[-1]
        self._uses.heads += head is not None and self._heads.get(name) is head
        self._uses.most_heads = max(self._uses.most_heads, len(self._heads))
        if self._heads and self._last != log.latest_seq(connection):
            raise Stale(f"kept that event {self._last} is the newest, in the file it is {log.latest_seq(connection)}")
        for each, kept in self._heads.items():
            self._compare(connection, each, kept)
        return found

    def _compare(self, connection: Connection, name: str, head: Head) -> None:
        there = heads_module.load_named(connection, name)
        if there is None or _row(there) != _row(head):
            raise Stale(f"session {name!r}: kept {_row(head)}, in the file {there and _row(there)}")
        _check_end(connection, head)


class WatchedTotals(PathTotals):
    """Compares each sum with one that is made anew."""

    def __init__(self, uses: Uses) -> None:
        super().__init__()
        self._uses = uses

    def of(self, connection: Connection, path: Path, *, compacted: bool = False) -> tuple[int, int]:
        key = path.session, compacted
        self._uses.totals += key in self._sums or key in self._uncommitted
        found = super().of(connection, path, compacted=compacted)
        there = PathTotals().of(connection, path, compacted=compacted)
        if found != there:
            raise Stale(f"the sum of {path}: kept {found}, in the file {there}")
        return found


class WatchedTexts(GrowingTexts):
    """Compares each text with the one that the file gives."""

    def __init__(self, uses: Uses, database: Database) -> None:
        super().__init__()
        self._uses = uses
        self._database = database

    def get(self, message: int, version: tuple[int, int]) -> Growing | None:
        found = super().get(message, version)
        if found is not None:
            self._uses.texts += 1
            assert self._database._writer is not None
            there = bodies.read_growing(self._database._writer, version[0])
            if found._replace(base_size=0) != there._replace(base_size=0):  # of a text in slices, the file tells less
                raise Stale(f"version {version}: kept {str(found)[:500]}, in the file {str(there)[:500]}")
        return found


def watch(sessions: Sessions) -> Uses:
    """From now on what the store keeps is compared with the file."""
    uses = Uses()
    store = sessions._store
    store.heads = WatchedHeads(uses)
    store.totals = WatchedTotals(uses)
    store.growing = WatchedTexts(uses, store.database)
    return uses
