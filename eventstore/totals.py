"""The bytes and tokens of a path, whole or as it is shown, without reading it again at every call.

A session without branches has its totals in its head. For any other is kept, of either kind, what was answered last,
which holds as long as the session has no later event, and the sum up to a message some way behind the leaf. That stays
right while later events touch nothing up to there, which a walk over those few envelopes tells; the rest is one short
range of an index. So the cost doesn't grow with the conversation while it grows at its end, and no answer rests on a
stale sum.
"""

from __future__ import annotations

from typing import NamedTuple

from eventstore import heads, log, messages, summaries, tree
from eventstore.driver import Connection, fetch_one
from eventstore.messages import Stretch
from eventstore.paths import Path
from eventstore.segments import Descent, Segment
from eventstore.summaries import Shown
from eventstore.tree import Position

TAIL = 64  # messages behind which a kept sum ends: updates of a growing reply don't touch it. Twice that, and it moves
MOST_EVENTS = 5_000  # beyond so many events since, summing anew is as quick


class _Sum(NamedTuple):
    """`bytes` and `tokens` up to and with (chain, seq), as of the session's event `last`, recorded at that time: where
    an older state of the file was put back, another event has its number. `answer` is that of the whole path to `leaf`.
    """

    chain: int
    seq: int
    bytes: int
    tokens: int
    last: int = 0
    recorded_at: int = 0
    leaf: Position | None = None
    answer: tuple[int, int] = (0, 0)


class PathTotals:
    """Sums of paths, one kept per session. Those that an open transaction asked for are apart: it may be rolled back,
    and others write events of the same numbers before that is known here, which any thread may read."""

    def __init__(self) -> None:
        self._sums: dict[tuple[int, bool], _Sum] = {}
        self._uncommitted: dict[tuple[int, bool], _Sum] = {}

    def forget(self) -> None:
        """Drops what was kept."""
        self._sums.clear()
        self.roll_back()

    def roll_back(self) -> None:
        """Drops what a transaction asked for: after a rollback, seqs are given out again."""
        self._uncommitted.clear()

    def of(self, connection: Connection, path: Path, *, compacted: bool = False) -> tuple[int, int]:
        """(bytes, tokens) of every message on a path, or of what it shows, whatever its cut."""
        head = path.head or heads.load(connection, path.session)
        last, recorded_at = (head.last, head.updated_at) if head is not None else (0, 0)
        key = path.session, compacted
        sums = self._sums
        kept = sums.get(key)
        if connection.in_transaction and not connection.readonly("main"):
            sums = self._uncommitted
            kept = sums.get(key, kept)
        if kept is not None and (kept.last, kept.recorded_at, kept.leaf) == (last, recorded_at, path.leaf):
            return kept.answer
        whole = not compacted or not summaries.newest(connection, path.session)
        if head is not None and whole and tree.is_one_path(connection, path.session, path.leaf):
            return head.bytes, head.tokens
        if kept is not None and not _holds(connection, kept, (last, recorded_at), compacted):
            kept = None
        size, tokens, behind = _summed(connection, path, kept, compacted)
        kept = behind or kept
        if kept is not None:
            sums[key] = kept._replace(last=last, recorded_at=recorded_at, leaf=path.leaf, answer=(size, tokens))
        return size, tokens


def _summed(connection: Connection, path: Path, kept: _Sum | None, compacted: bool) -> tuple[int, int, _Sum | None]:
    """(bytes, tokens, a sum to keep in the place of `kept`, where that isn't one or has fallen far behind)"""
    count = size = tokens = 0
    tail: list[Segment] = []
    path = path._replace(cut=tree.ENDLESS)
    for segment in Descent(connection, path, compacted=compacted, whole=kept is None).all(connection):
        rest = None if kept is None else _rest(segment, kept)
        tail.append(rest or segment)
        more, more_size, more_tokens = _sum_of(connection, tail[-1])
        count, size, tokens = count + more, size + more_size, tokens + more_tokens
        if kept is not None and rest is not None:
            size, tokens = size + kept.bytes, tokens + kept.tokens
            break
    behind = _sum_behind(connection, tail, size, tokens) if kept is None or count > 2 * TAIL else None
    return size, tokens, behind


def _rest(segment: Segment, kept: _Sum) -> Stretch | None:
    """What of a segment lies behind a kept sum, `None` where that ends elsewhere."""
    if isinstance(segment, Stretch) and segment.chain == kept.chain and segment.low <= kept.seq < segment.high:
        return Stretch(segment.chain, kept.seq + 1, segment.high)
    return None


def _sum_of(connection: Connection, segment: Segment) -> tuple[int, int, int]:
    """(messages, bytes, tokens)"""
    if isinstance(segment, Shown):
        return 1, segment.bytes, segment.tokens
    return messages.totals(connection, segment)


def _sum_behind(connection: Connection, tail: list[Segment], size: int, tokens: int) -> _Sum | None:
    """The sum up to the message that `TAIL` others follow, if `tail` (newest first) reaches so far."""
    missing = TAIL
    for segment in tail:
        if isinstance(segment, Shown):
            size, tokens = size - segment.bytes, tokens - segment.tokens
            missing = max(missing - 1, 0)
            continue
        newest = messages.sizes(connection, segment, missing + 1, newest_first=True)
        behind = len(newest) > missing
        low = newest[missing][0] + 1 if behind else segment.low
        _, less_size, less_tokens = messages.totals(connection, Stretch(segment.chain, low, segment.high))
        size, tokens = size - less_size, tokens - less_tokens
        if behind:
            return _Sum(segment.chain, low - 1, size, tokens)
        missing -= len(newest)
    return None


_SINCE = """
WITH RECURSIVE walk(seq, back, type, message, recorded_at) AS (
    SELECT seq, back, type, message, recorded_at FROM event WHERE seq = ?1
    UNION ALL
    SELECT e.seq, e.back, e.type, e.message, e.recorded_at FROM walk w JOIN event e ON e.seq = w.seq - w.back
    WHERE w.back > 0 AND e.seq >= ?2
)
SELECT
    max(CASE WHEN seq = ?2 THEN recorded_at END),
    count(CASE WHEN seq > ?2 AND (type IN (?4, ?5, ?6, ?7, ?8) OR (type = ?9 AND message <= ?3)) THEN 1 END)
FROM walk
"""


def _holds(connection: Connection, kept: _Sum, newest: tuple[int, int], compacted: bool) -> bool:
    """Whether the sum's event is still there, and none since has touched what it counts. `newest`: (seq, time)."""
    last = newest[0]
    if last == kept.last:
        return newest == (kept.last, kept.recorded_at)
    if not kept.last < last <= kept.last + MOST_EVENTS:
        return False
    overlays = (log.COMPACT, log.COMPACTION) if compacted else (log.DELETE, log.DELETE)
    types = (log.DELETE, log.CLEAR, log.DELETE_SESSION, *overlays, log.UPDATE)
    recorded_at, touching = fetch_one(connection, _SINCE, (last, kept.last, kept.seq, *types))
    return recorded_at == kept.recorded_at and not touching
