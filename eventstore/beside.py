"""The search index where the file can't be written: the file's own, and one in memory of what that doesn't know yet.

What always holds: together they have the text of every living message's current version, and each of them in one only.
The one in memory begins where the file's ends and is made anew when that moves. What leaves the file's messages isn't
taken out there, so what it finds is checked.
"""

from __future__ import annotations

import attrs

from eventstore import index, log
from eventstore.driver import Connection, fetch_one
from eventstore.index import State

MEMORY, FILE = "main", "file"  # as `Aside` has them


@attrs.frozen
class Source:
    """An index that a search asks: where it is, and whether it may have what no message reads as any more."""

    schema: str
    state: State
    is_checked: bool = False


def sources(connection: Connection) -> list[Source]:
    """What a search through `Aside`'s connection asks, the newer versions first; the one in memory is brought up to
    date."""
    known = index.state(connection, FILE)
    if known is None or known.version != index.VERSION:
        known = State()
    latest = log.latest_seq(connection)
    if _began(connection) != known.seq:
        _drop(connection)
        index.create(connection, MEMORY, after=known.seq)
        connection.execute("CREATE TABLE main.search_began AS SELECT ? AS seq", (known.seq,))
    index.fill(connection, latest)
    return [Source(MEMORY, index.state(connection) or State(), is_checked=True), Source(FILE, known)]


def _began(connection: Connection) -> int | None:
    """Behind which version the index in memory begins."""
    if index.state(connection) is None:
        return None
    return int(fetch_one(connection, "SELECT seq FROM main.search_began")[0])


def _drop(connection: Connection) -> None:
    if index.state(connection) is not None:
        index.drop(connection)
        connection.execute("DROP TABLE main.search_began")
