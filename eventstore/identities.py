"""New ids on their way into the index that finds messages by them, many in one statement.

A row by itself costs apsw a look for its statement, and SQLite a start and an end of it: with what the rows of a batch
have in common bound once for twenty, the ids of a batch of 1,000 cost 4,500 instructions each instead of 7,300.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

from eventstore.driver import Connection

TOGETHER = 20

INSERT_ONE = "INSERT INTO identity VALUES(?,?,?)"
# FAIL leaves what came before a refused row to the rollback, which follows. To take it back by itself, SQLite would
# keep a copy of each page that the statement changes.
_INSERT_TOGETHER = "INSERT OR FAIL INTO identity VALUES" + ",".join(f"(?{n + 3},?1+{n},?2)" for n in range(TOGETHER))


def add_run(connection: Connection, hashes: Sequence[int], seqs: range, chain: int) -> None:
    """Adds the hashed ids of messages that follow one another in one chain. Raises `RuntimeError` if one lacks."""
    if len(hashes) != len(seqs):
        raise RuntimeError(f"{len(hashes)} ids were hashed of {len(seqs)} messages")
    end = len(hashes) // TOGETHER * TOGETHER
    each = iter(hashes[:end])
    connection.executemany(_INSERT_TOGETHER, zip(seqs[:end:TOGETHER], repeat(chain), *[each] * TOGETHER, strict=False))
    connection.executemany(INSERT_ONE, zip(hashes[end:], seqs[end:], repeat(chain), strict=False))
