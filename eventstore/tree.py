"""The tree of a session as chains: the statements that read it.

A *chain* is a run of messages in which each continues the one before; a branch is a new chain that forks from a point
of another. A message is (chain, seq), and nothing stores its parent: a chain's row says where it forks, as the
exclusive bound `fork` on the seqs of its parent chain. So

    the path to X    its chain up to just before its next living message, then the parent chain below `fork`, and so on
    the parent of X  the nearest living message below X on that path
    a delete         removing the row: what followed, or forked there, now follows the nearest survivor

and a path is a few ranges, each one range scan of an index, whatever its length. Roots fork from chain 0 at 0. A
chain's key is above that of the one that it forks from: what says otherwise is damage, and would keep a walk for ever.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from eventstore import log
from eventstore.codec import has_surrogate
from eventstore.driver import Connection, array_of, fetch, fetch_one

ENDLESS = 2**62  # above every seq
ROOT_CHAIN = 0
_WINDOW = 64  # chains looked up at once when a path is walked


class Position(NamedTuple):
    """A living message's place."""

    chain: int
    seq: int


class Range(NamedTuple):
    """The positions of one chain below `end` (exclusive)."""

    chain: int
    end: int


def find(connection: Connection, session: int, message_id: str) -> Position | None:
    """The living message with this id."""
    if has_surrogate(message_id):
        return None
    row = fetch_one(
        connection,
        "SELECT i.chain, i.seq FROM identity i JOIN event e ON e.seq = i.seq "
        "WHERE i.hash = ? AND e.session = ? AND e.id = ?",
        (log.hash_id(session, message_id), session, message_id),
    )
    return None if row is None else Position(*row)


def known_hashes(connection: Connection, hashes: Sequence[int]) -> set[int]:
    """Those of many hashes that the index holds."""
    look = "SELECT i.hash FROM carray(?) c CROSS JOIN identity i ON i.hash = c.value"
    return {hash for (hash,) in fetch(connection, look, (array_of(sorted(hashes)),))}


def find_seq(connection: Connection, session: int, seq: int, message_id: str) -> Position | None:
    """The message that event `seq` appended, if it is alive."""
    row = fetch_one(
        connection,
        "SELECT chain, seq FROM identity WHERE hash = ? AND seq = ?",
        (log.hash_id(session, message_id), seq),
    )
    return None if row is None else Position(*row)


def find_appended(connection: Connection, session: int, seq: int) -> Position | None:
    """As `find_seq`, for a caller who doesn't know the id."""
    row = fetch_one(connection, "SELECT id FROM event WHERE seq = ?", (seq,))
    return None if row is None else find_seq(connection, session, seq, row[0])


def ancestor_of_dead(connection: Connection, session: int, seq: int) -> Position | None:
    """The nearest living ancestor of a message that died, whose chain is gone too: by the log, which keeps parents."""
    above = "SELECT parent FROM event WHERE seq = ? AND parent < seq"
    while (row := fetch_one(connection, above, (seq,))) is not None:
        (parent,) = row
        position = find_appended(connection, session, parent)
        if position is not None:
            return position
        seq = parent
    return None


def has_chain(connection: Connection, key: int) -> bool:
    """Whether a chain is there, and wasn't pruned."""
    return fetch_one(connection, "SELECT 1 FROM chain WHERE key = ?", (key,)) is not None


def next_in_chain(connection: Connection, position: Position) -> int:
    """The seq of the next living message of its chain, `ENDLESS` when it is the last."""
    (seq,) = fetch_one(connection, "SELECT min(seq) FROM message WHERE chain = ? AND seq > ?", position)
    return ENDLESS if seq is None else int(seq)


def is_one_path(connection: Connection, session: int, leaf: Position) -> bool:
    """Whether a session is one chain that ends at `leaf`: then its path is all that the session holds."""
    found = fetch_one(
        connection,
        "SELECT (SELECT count(*) FROM (SELECT 1 FROM chain WHERE session = ? LIMIT 2)), "
        "(SELECT max(seq) FROM message WHERE chain = ?)",
        (session, leaf.chain),
    )
    return bool(found == (1, leaf.seq))


def chains(connection: Connection, session: int) -> list[int]:
    """The keys of a session's chains, ascending: a chain comes behind the one that it forks from."""
    return [key for (key,) in fetch(connection, "SELECT key FROM chain WHERE session = ? ORDER BY key", (session,))]


def bound(connection: Connection, position: Position) -> Range:
    """The positions of its own chain that the path to a message takes: dead ones right behind it too."""
    return Range(position.chain, next_in_chain(connection, position))


def range_block(connection: Connection, first: Range) -> tuple[list[Range], Range | None]:
    """`first` and the ranges that it hangs on, up to a bounded number; and the next one, `None` behind the root's."""
    rows = fetch(
        connection,
        "WITH RECURSIVE up(chain, fork, depth) AS (SELECT ?, ?, 0 UNION ALL SELECT c.parent, c.fork, u.depth + 1 "
        "FROM up u JOIN chain c ON c.key = u.chain WHERE u.depth < ?) SELECT chain, fork FROM up",
        (*first, _WINDOW),
    )
    ranges = [Range(*row) for row in rows if row[0] != ROOT_CHAIN]
    if any(below.chain >= above.chain for above, below in pairwise(ranges)):
        raise LookupError(f"chain {first.chain} forks from itself, by the file")
    if len(ranges) <= _WINDOW:
        return ranges, None
    return ranges[:-1], ranges[-1]


def ranges_down(connection: Connection, first: Range) -> Iterator[Range]:
    """`first`, then the ranges that it hangs on, up to the root's. Walked only as far as it is consumed."""
    following: Range | None = first
    while following is not None:
        ranges, following = range_block(connection, following)
        yield from ranges


def path(connection: Connection, position: Position) -> Iterator[Range]:
    """The ranges of the path to a message, from the message's own chain to the root's."""
    return ranges_down(connection, bound(connection, position))


def holds(connection: Connection, first: Range, position: Position) -> bool:
    """Whether a position, a dead one too, lies in `first` or in the ranges that it hangs on."""
    for chain, end in ranges_down(connection, first):
        if chain == position.chain:
            return position.seq < end
        if end <= position.seq:  # a fork's bound is above all that lies below it
            return False
    return False


def survivor(connection: Connection, ranges: Iterator[Range]) -> Position | None:
    """The newest living message in these ranges."""
    for chain, end in ranges:
        (seq,) = fetch_one(connection, "SELECT max(seq) FROM message WHERE chain = ? AND seq < ?", (chain, end))
        if seq is not None:
            return Position(chain, seq)
    return None


_PARENTS = """
WITH RECURSIVE up(n, chain, seq) AS (
    SELECT r.key, r.value ->> 0,
        (SELECT max(m.seq) FROM message m WHERE m.chain = r.value ->> 0 AND m.seq < r.value ->> 1)
    FROM json_each(?) r
    UNION ALL
    SELECT u.n, c.parent, (SELECT max(m.seq) FROM message m WHERE m.chain = c.parent AND m.seq < c.fork)
    FROM up u JOIN chain c ON c.key = u.chain AND c.parent < c.key WHERE u.seq IS NULL
)
SELECT n, chain, seq FROM up WHERE seq IS NOT NULL OR chain = 0
"""


def parents(connection: Connection, positions: Sequence[Position]) -> list[Position | None]:
    """The living message that each of these follows, `None` for a root, in one statement."""
    rows = fetch(connection, _PARENTS, (json.dumps(positions),))
    found = {n: None if seq is None else Position(chain, seq) for n, chain, seq in rows}
    return [found[n] for n in range(len(positions))]


def parent(connection: Connection, position: Position) -> Position | None:
    """The living message that a message follows, `None` for a root."""
    return parents(connection, [position])[0]


_CHILDREN = """
WITH RECURSIVE gap(chain, low, high) AS (
    VALUES (?2, ?3, ?4)
    UNION ALL
    SELECT c.key, 0, coalesce((SELECT min(m.seq) FROM message m WHERE m.chain = c.key), ?5)
    FROM gap JOIN chain c ON c.session = ?1 AND c.parent = gap.chain AND c.fork > gap.low AND c.fork <= gap.high
    AND c.key > gap.chain
)
SELECT high, chain FROM gap WHERE high < ?5 ORDER BY high
"""


def children(connection: Connection, session: int, position: Position | None) -> list[Position]:
    """The living messages that follow a message (`None`: the roots), oldest first, in one statement.

    They are the next of its own chain and the first of each chain that forks in the gap before that one. Where such a
    chain has forks before its first living message, or has none left, those too: each gap opens further gaps.
    """
    if position is None:
        gap = (ROOT_CHAIN, -1, ENDLESS)
    else:
        gap = (position.chain, position.seq, next_in_chain(connection, position))
    rows = fetch(connection, _CHILDREN, (session, *gap, ENDLESS))
    return [Position(chain, seq) for seq, chain in rows]


_SUBTREE = """
WITH RECURSIVE below(key, low) AS (
    VALUES (?2, ?3)
    UNION ALL
    SELECT c.key, 0 FROM below b JOIN chain c ON c.session = ?1 AND c.parent = b.key AND c.fork > b.low
    AND c.key > b.key
)
"""


def subtree(connection: Connection, session: int, position: Position) -> list[Position]:
    """A message and everything under it, in the order of their seqs."""
    rows = fetch(
        connection,
        _SUBTREE
        + "SELECT m.seq, m.chain FROM below b JOIN message m ON m.chain = b.key AND m.seq >= b.low ORDER BY m.seq",
        (session, *position),
    )
    return [Position(chain, seq) for seq, chain in rows]


def latest_below(connection: Connection, session: int, position: Position) -> Position:
    """The most recently appended, imported or selected message of a subtree."""
    row = fetch_one(
        connection,
        _SUBTREE
        + """, newest(seq, chain, recency) AS (
            SELECT max(m.seq), b.key, max(m.seq) FROM below b JOIN message m ON m.chain = b.key AND m.seq >= b.low
            GROUP BY b.key
            UNION ALL
            SELECT s.message, s.chain, s.event FROM selection s
            JOIN below b ON b.key = s.chain AND s.message >= b.low WHERE s.session = ?1
        )
        SELECT chain, seq FROM newest ORDER BY recency DESC LIMIT 1""",
        (session, *position),
    )
    return Position(*row)


def leaves(connection: Connection, session: int) -> list[Position]:
    """The living messages that nothing follows, most recently appended, imported or selected first.

    Only a chain's last living message can be one, and it is when no chain forks behind it: chains without a living
    message and without living descendants are pruned as they die.
    """
    rows = fetch(
        connection,
        "SELECT c.key, last.seq FROM chain c "
        "JOIN message last ON last.chain = c.key AND last.seq = (SELECT max(seq) FROM message WHERE chain = c.key) "
        "LEFT JOIN selection s ON s.session = c.session AND s.message = last.seq "
        "WHERE c.session = ?1 AND NOT EXISTS "
        "(SELECT 1 FROM chain f WHERE f.session = ?1 AND f.parent = c.key AND f.fork > last.seq) "
        "ORDER BY max(last.seq, coalesce(s.event, 0)) DESC",
        (session,),
    )
    return [Position(*row) for row in rows]
