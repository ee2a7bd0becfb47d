"""The one fold: what an event does to the read tables. Nothing else writes them.

Live writes, `rebuild()`, `verify()` and `at()` all come through `apply`, on the file's own tables or on temporary ones
that hide them. Heads are kept in memory while events are applied, and written once behind the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from eventstore import heads, identities, log, tree
from eventstore.driver import Connection, fetch, fetch_one
from eventstore.heads import Head
from eventstore.log import Envelope, Run
from eventstore.tree import Position


class Fold:
    """The fold over events of any sessions, whose heads it keeps meanwhile. `flush()` must follow the last `apply`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._heads: dict[int, Head] = {}
        self._changed: set[int] = set()

    def head(self, session: int) -> Head:
        """The head of a session as it is now. Read it, don't change it."""
        head = self._heads.get(session)
        if head is None:
            head = heads.load(self._connection, session) or Head(session)
            self._heads[session] = head
        return head

    def apply(self, envelope: Envelope) -> None:
        """Applies one event: the next of its session."""
        self._changed.add(envelope.session)
        apply(self._connection, envelope, self.head(envelope.session))

    def apply_all(self, envelopes: Iterable[Envelope]) -> None:
        """Applies events in order, and flushes."""
        for envelope in envelopes:
            self.apply(envelope)
        self.flush()

    def flush(self) -> None:
        """Writes the heads."""
        for session in self._changed:
            heads.save(self._connection, self._heads[session])
        self._changed.clear()


def apply(connection: Connection, envelope: Envelope, head: Head) -> None:
    """Applies one event, which is in the log: the next of the session whose `head` it changes. That is saved later."""
    _touch(head, envelope.seq, envelope.type, envelope.recorded_at)
    _APPLY[envelope.type](connection, envelope, head)


def apply_run(connection: Connection, run: Run, head: Head, hashes: Sequence[int] | None = None) -> None:
    """As `apply`, for a run of appends or imports. `hashes` of its ids, where they are known."""
    begin, seqs = run.begin, run.seqs
    _touch(head, begin.seq, begin.type, begin.recorded_at)
    chain = _place(connection, head, begin.seq, begin.parent)
    connection.execute(
        "INSERT INTO message SELECT ?, seq, NULL, bytes, tokens FROM event WHERE seq BETWEEN ? AND ?",
        (chain, seqs[0], seqs[-1]),
    )
    if hashes is None:
        hashes = log.hash_ids(begin.session, run.ids)
    identities.add_run(connection, hashes, seqs, chain)
    _has_grown(head, chain, seqs[-1], len(seqs), sum(run.bytes), sum(run.tokens))


def _touch(head: Head, seq: int, type: int, recorded_at: int) -> None:
    head.last = seq
    head.updated_at = recorded_at
    if head.created_at is None and type != log.DELETE_SESSION:
        head.created_at = recorded_at


# ---- one function a type


def _append(connection: Connection, e: Envelope, head: Head) -> None:
    seq, size, tokens = e.seq, e.bytes or 0, e.tokens or 0
    chain = _place(connection, head, seq, e.parent)
    execute = connection.execute
    execute("INSERT INTO message VALUES(?,?,NULL,?,?)", (chain, seq, size, tokens))
    execute(identities.INSERT_ONE, (log.hash_id(e.session, e.id or ""), seq, chain))
    _has_grown(head, chain, seq, 1, size, tokens)


def _has_grown(head: Head, chain: int, last: int, messages: int, size: int, tokens: int) -> None:
    """Counts what was appended, the last of it to `chain`."""
    head.last = head.touch = head.leaf = last
    head.leaf_chain = chain
    head.ends_chain = True
    head.messages += messages
    head.bytes += size
    head.tokens += tokens


def _place(connection: Connection, head: Head, seq: int, parent: int | None) -> int:
    """The chain that a new message continues or, when something follows its parent already, opens."""
    if parent is None:
        return _fork(connection, head.session, seq, tree.ROOT_CHAIN, 0)
    chain = head.leaf_chain if parent == head.leaf else _chain_of(connection, head.session, parent)
    if chain is None:
        raise LookupError(f"event {seq}: its parent {parent} isn't there")
    if head.ends_chain and parent == head.leaf:
        return chain
    following = tree.next_in_chain(connection, Position(chain, parent))
    return chain if following == tree.ENDLESS else _fork(connection, head.session, seq, chain, following)


def _fork(connection: Connection, session: int, seq: int, chain: int, fork: int) -> int:
    connection.execute("INSERT INTO chain VALUES (?, ?, ?, ?)", (seq, session, chain, fork))
    return seq


def _chain_of(connection: Connection, session: int, message: int) -> int | None:
    position = tree.find_appended(connection, session, message)
    return None if position is None else position.chain


def _update(connection: Connection, e: Envelope, head: Head) -> None:
    message = e.message or 0
    chain = head.leaf_chain if message == head.leaf else _chain_of(connection, e.session, message)
    (size, tokens) = fetch_one(
        connection, "SELECT bytes, tokens FROM message WHERE chain = ? AND seq = ?", (chain, message)
    )
    connection.execute(
        "UPDATE message SET current = ?, bytes = ?, tokens = ? WHERE chain = ? AND seq = ?",
        (e.seq, e.bytes, e.tokens, chain, message),
    )
    head.bytes += (e.bytes or 0) - size
    head.tokens += (e.tokens or 0) - tokens


def _delete(connection: Connection, e: Envelope, head: Head) -> None:
    dead = log.deleted(connection, e.seq)
    chains = {_remove(connection, head, message, message_id) for message, message_id in dead}
    for chain in sorted(chains, reverse=True):
        _prune(connection, head.session, chain)
    gone = {message for message, _ in dead}
    if head.leaf in gone:
        _fall_back(connection, head, gone)


def _remove(connection: Connection, head: Head, message: int, message_id: str) -> int:
    key = (log.hash_id(head.session, message_id), message)
    (chain,) = fetch_one(connection, "DELETE FROM identity WHERE hash = ? AND seq = ? RETURNING chain", key)
    size, tokens = fetch_one(
        connection, "DELETE FROM message WHERE chain = ? AND seq = ? RETURNING bytes, tokens", (chain, message)
    )
    connection.execute("DELETE FROM selection WHERE session = ? AND message = ?", (head.session, message))
    head.messages -= 1
    head.bytes -= size
    head.tokens -= tokens
    return int(chain)


def _prune(connection: Connection, session: int, chain: int) -> None:
    """Drops chains that have no living message and that nothing hangs on, upwards."""
    while chain != tree.ROOT_CHAIN:
        row = fetch_one(
            connection,
            "DELETE FROM chain WHERE key = ?1 AND NOT EXISTS (SELECT 1 FROM message WHERE chain = ?1) "
            "AND NOT EXISTS (SELECT 1 FROM chain WHERE session = ?2 AND parent = ?1) RETURNING parent",
            (chain, session),
        )
        if row is None:
            return
        (chain,) = row


def _fall_back(connection: Connection, head: Head, gone: set[int]) -> None:
    """Makes the living message that was touched last before the active leaf. A touch that was passed over is never
    passed again, since later ones are linked past it: each costs once."""
    touch, head.ends_chain = head.touch, False
    while touch is not None:
        message, message_id, before = log.touched(connection, touch)
        position = None if message in gone else tree.find_seq(connection, head.session, message, message_id)
        if position is not None:
            head.touch, head.leaf, head.leaf_chain = touch, position.seq, position.chain
            return
        if before is not None and before >= touch:
            raise LookupError(f"event {touch}: it is linked to a later one")
        touch = before
    head.touch = head.leaf = head.leaf_chain = None


def _clear(connection: Connection, e: Envelope, head: Head) -> None:
    ids = fetch(
        connection,
        "SELECT m.seq, e.id FROM chain c JOIN message m ON m.chain = c.key JOIN event e ON e.seq = m.seq "
        "WHERE c.session = ?",
        (e.session,),
    )
    keys = ((log.hash_id(e.session, message_id), seq) for seq, message_id in ids)
    connection.executemany("DELETE FROM identity WHERE hash = ? AND seq = ?", keys)
    connection.execute("DELETE FROM message WHERE chain IN (SELECT key FROM chain WHERE session = ?)", (e.session,))
    for table in ("chain", "selection", "overlay"):
        connection.execute(f"DELETE FROM {table} WHERE session = ?", (e.session,))
    head.touch = head.leaf = head.leaf_chain = None
    head.ends_chain = False
    head.messages = head.bytes = head.tokens = 0


def _delete_session(connection: Connection, e: Envelope, head: Head) -> None:
    _clear(connection, e, head)
    head.metadata = head.created_at = None


def _select(connection: Connection, e: Envelope, head: Head) -> None:
    message = e.message or 0
    chain = _chain_of(connection, e.session, message)
    connection.execute("REPLACE INTO selection VALUES (?, ?, ?, ?)", (e.session, message, chain, e.seq))
    head.touch, head.leaf, head.leaf_chain, head.ends_chain = e.seq, message, chain, False


def _metadata(_connection: Connection, e: Envelope, head: Head) -> None:
    head.metadata = e.seq


def _compact(connection: Connection, e: Envelope, head: Head) -> None:
    from eventstore import linking

    first, last = e.message or 0, e.parent or 0
    linking.add(connection, e.session, e.seq, _anchor(connection, head, first), _anchor(connection, head, last))


def _anchor(connection: Connection, head: Head, seq: int) -> Position:
    """The place of an overlay's end: a living message's, or that of an earlier overlay which it stands in for."""
    from eventstore import linking

    chain = _chain_of(connection, head.session, seq)
    anchor = Position(chain, seq) if chain is not None else linking.anchor(connection, head.session, seq)
    if anchor is None:
        raise LookupError(f"message {seq}, where a compaction starts or ends, was never there")
    return anchor


_APPLY = {
    log.APPEND: _append,
    log.IMPORT: _append,
    log.UPDATE: _update,
    log.DELETE: _delete,
    log.CLEAR: _clear,
    log.DELETE_SESSION: _delete_session,
    log.SELECT: _select,
    log.METADATA: _metadata,
    log.COMPACT: _compact,
    log.COMPACTION: _compact,
}
