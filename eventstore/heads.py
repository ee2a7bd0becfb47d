"""One row per session: its last event, its active leaf, its totals. What a write must know is read here at once.

The heads of the sessions written last are kept in memory, for as long as no other connection has written to the file.
"""

from __future__ import annotations

from typing import TypeAlias

from eventstore.driver import Connection, fetch, fetch_one
from eventstore.log import ID_BITS, SESSION_BITS, hash_id, id_bits

MOST_KEPT = 64


class Head:
    """The state of a session, apart from its tree. Times are microseconds since 1970."""

    __slots__ = (
        "bytes", "created_at", "ends_chain", "last", "leaf", "leaf_chain", "messages", "metadata", "session", "tokens",
        "touch", "updated_at",
    )  # fmt: skip

    def __init__(
        self,
        session: int,
        last: int = 0,
        touch: int | None = None,
        leaf: int | None = None,
        leaf_chain: int | None = None,
        messages: int = 0,
        bytes: int = 0,
        tokens: int = 0,
        metadata: int | None = None,
        created_at: int | None = None,
        updated_at: int = 0,
    ) -> None:
        self.session = session
        self.last = last  # its newest event
        self.touch = touch  # the event that made the leaf the active one
        self.leaf = leaf
        self.leaf_chain = leaf_chain
        self.messages = messages
        self.bytes = bytes
        self.tokens = tokens
        self.metadata = metadata  # the event that set it
        self.created_at = created_at  # of its first event since it was last deleted; `None`: it isn't listed
        self.updated_at = updated_at
        self.ends_chain = False  # whether the leaf is known to be the last living message of its chain; in no row


_COLUMNS = "session, last, touch, leaf, leaf_chain, messages, bytes, tokens, metadata, created_at, updated_at"

_NAMED = (
    f"SELECT {', '.join(f'h.{column}' for column in _COLUMNS.split(', '))} "
    "FROM name n JOIN head h ON h.session = n.session WHERE n.name = ?"
)
_VERSION = "PRAGMA data_version"
_ASKED = "SELECT 1 FROM identity WHERE hash = ?"
_FOR_WRITE = (
    "SELECT coalesce((SELECT max(seq) FROM event), 0), "
    f"(SELECT 1 FROM identity WHERE hash = (n.session & {SESSION_BITS}) << {ID_BITS} | ?), "
    f"n.session, {', '.join(f'h.{column}' for column in _COLUMNS.split(', ')[1:])}, "
    "h.leaf = (SELECT max(seq) FROM message WHERE chain = h.leaf_chain) "
    "FROM (SELECT 1) LEFT JOIN name n ON n.name = ? LEFT JOIN head h ON h.session = n.session"
)


def load(connection: Connection, session: int) -> Head | None:
    """The head of a session, `None` when it has no event."""
    row = fetch_one(connection, f"SELECT {_COLUMNS} FROM head WHERE session = ?", (session,))
    return None if row is None else Head(*row)


def load_named(connection: Connection, name: str) -> Head | None:
    """As `load`, by the session's name."""
    row = fetch_one(connection, _NAMED, (name,))
    return None if row is None else Head(*row)


Found: TypeAlias = tuple[int, bool, Head | None]
"""What a write begins with: the log's newest seq, whether the index may hold the id that was asked for, and the
session's head, `None` before its first event."""


class KeptHeads:
    """The heads of the sessions that this store wrote last. Only used under the write lock, inside a transaction.

    SQLite's data version says whether another connection has committed since: inside a transaction that holds the
    write lock nothing can come behind it. What a rollback took back must be forgotten.
    """

    def __init__(self) -> None:
        self._version: int | None = None  # the data version that they are of
        self._last = 0  # the log's newest seq
        self._heads: dict[str, Head] = {}

    def forget(self) -> None:
        """Drops them all."""
        self._heads.clear()

    def keep(self, name: str, head: Head, last: int) -> None:
        """Keeps a head as the log's event `last` has left it."""
        self._last = last
        if len(self._heads) >= MOST_KEPT and name not in self._heads:
            self._heads.clear()
        self._heads[name] = head

    def load_for_write(self, connection: Connection, name: str, message_id: str | None) -> Found:
        """What a write to the session `name` begins with, and whether the session may hold `message_id`."""
        (version,) = fetch_one(connection, _VERSION)
        if version != self._version:
            self._heads.clear()
            self._version = version
        head = self._heads.get(name)
        if head is None:
            return _load_for_write(connection, name, message_id)
        if message_id is None:
            return self._last, False, head
        known = connection.execute(_ASKED, (hash_id(head.session, message_id),)).fetchall()
        return self._last, bool(known), head


def _load_for_write(connection: Connection, name: str, message_id: str | None) -> Found:
    bits = None if message_id is None else id_bits(message_id)
    last, known, session, *columns, ends_chain = fetch_one(connection, _FOR_WRITE, (bits, name))
    if session is None:
        return last, False, None
    head = Head(session, *columns)
    head.ends_chain = bool(ends_chain)
    return last, bool(known), head


def save(connection: Connection, head: Head) -> None:
    """Writes a head."""
    h = head
    connection.execute(
        "REPLACE INTO head VALUES(?,?,?,?,?,?,?,?,?,?,?)",
        (
            h.session, h.last, h.touch, h.leaf, h.leaf_chain, h.messages, h.bytes, h.tokens, h.metadata, h.created_at,
            h.updated_at,
        ),
    )  # fmt: skip


def idle(connection: Connection, since: int) -> list[int]:
    """The listed sessions whose last event was recorded before `since`, the longest idle first."""
    rows = fetch(
        connection,
        "SELECT session FROM head WHERE created_at IS NOT NULL AND updated_at < ? ORDER BY updated_at, last",
        (since,),
    )
    return [session for (session,) in rows]


def listed(connection: Connection, prefix: str, before: int, limit: int) -> list[int]:
    """The listed sessions whose last event is below `before`, newest activity first."""
    rows = fetch(
        connection,
        "SELECT h.session FROM head h JOIN name n ON n.session = h.session "
        "WHERE h.created_at IS NOT NULL AND h.last < ? AND instr(n.name, ?) = 1 ORDER BY h.last DESC LIMIT ?",
        (before, prefix, limit),
    )
    return [session for (session,) in rows]
