"""One row per session: its last event, its active leaf, its totals. What a write must know is read here at once."""

from __future__ import annotations

import attrs

from eventstore.driver import Connection, fetch, fetch_one


@attrs.define
class Head:
    """The state of a session, apart from its tree. Times are microseconds since 1970."""

    session: int
    last: int = 0  # its newest event
    touch: int | None = None  # the event that made the leaf the active one
    leaf: int | None = None
    leaf_chain: int | None = None
    messages: int = 0
    bytes: int = 0
    tokens: int = 0
    metadata: int | None = None  # the event that set it
    created_at: int | None = None  # of its first event since it was last deleted; `None`: it isn't listed
    updated_at: int = 0


_COLUMNS = "session, last, touch, leaf, leaf_chain, messages, bytes, tokens, metadata, created_at, updated_at"

_QUALIFIED = [f"h.{column}" for column in _COLUMNS.split(", ")]


def load(connection: Connection, session: int) -> Head | None:
    """The head of a session, `None` when it has no event."""
    row = fetch_one(connection, f"SELECT {_COLUMNS} FROM head WHERE session = ?", (session,))
    return None if row is None else Head(*row)


def load_for_write(connection: Connection, name: str) -> tuple[int, Head | None, int | None]:
    """(the log's newest seq, the head of a session, the last living message of its leaf's chain) in one statement."""
    last, leaf_tail, session, *head = fetch_one(
        connection,
        f"SELECT coalesce((SELECT max(seq) FROM event), 0), "
        f"(SELECT max(seq) FROM message WHERE chain = h.leaf_chain), n.session, {', '.join(_QUALIFIED[1:])} "
        "FROM (SELECT 1) LEFT JOIN name n ON n.name = ? LEFT JOIN head h ON h.session = n.session",
        (name,),
    )
    return last, None if session is None else Head(session, *head), leaf_tail


def save(connection: Connection, head: Head) -> None:
    """Writes a head."""
    h = head
    connection.execute(
        "REPLACE INTO head VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
