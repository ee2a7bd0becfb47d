"""The one fold: what an event does to the read tables. Nothing else writes them.

Live writes, `rebuild()`, `verify()` and `at()` all come through `Fold.apply`, on the file's own tables or on temporary
ones that hide them. Events of one call are applied together: heads are kept in memory and appended rows gathered until
something must read them, so that a batch costs little more than its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from eventstore import heads, identities, log, summaries, tree
from eventstore.driver import Connection, fetch, fetch_one
from eventstore.heads import Head, KeptHeads
from eventstore.log import Envelope, Run
from eventstore.tree import Position


class Fold:
    """Applies events to the read tables that `connection` sees. `flush()` must follow the last `apply`.

    `flush_log` is called before the log is read, by who gathers the events themselves too.
    """

    def __init__(self, connection: Connection, flush_log: Callable[[], object] = lambda: None) -> None:
        self._connection = connection
        self._flush_log = flush_log
        self._heads: dict[int, Head] = {}
        self._changed: set[int] = set()
        self._messages: list[tuple[int, int, None, int, int]] = []
        self._identities: list[tuple[int, int, int]] = []
        self._tails: dict[int, int] = {}  # chain -> its last living message, where known
        self._chains: dict[int, int] = {}  # gathered message -> its chain

    # ---- what a write decides on

    def head(self, session: int) -> Head:
        """The head of a session as it is now. Read it, don't change it."""
        head = self._heads.get(session)
        if head is None:
            head = heads.load(self._connection, session) or Head(session)
            self._heads[session] = head
        return head

    def start(self, head: Head, leaf_tail: int | None) -> None:
        """Takes over what its caller has read: a session's head, and the last living message of its leaf's chain."""
        self._heads[head.session] = head
        if head.leaf_chain is not None and leaf_tail is not None:
            self._tails[head.leaf_chain] = leaf_tail

    def keep(self, kept: KeptHeads, name: str, session: int, last: int) -> None:
        """Hands over a session's head as the log's event `last` has left it."""
        head = self.head(session)
        kept.keep(name, head, None if head.leaf_chain is None else self._tails.get(head.leaf_chain), last)

    def flush(self) -> None:
        """Writes what was gathered."""
        self.flush_rows()
        for session in self._changed:
            heads.save(self._connection, self._heads[session])
        self._changed.clear()

    def apply(self, envelope: Envelope) -> None:
        """Applies one event: the next of its session."""
        head = self._touch(envelope.session, envelope.seq, envelope.type, envelope.recorded_at)
        _APPLY[envelope.type](self, envelope, head)

    def apply_run(self, run: Run, hashes: Sequence[int] | None = None) -> None:
        """Applies a run of appends or imports. `hashes` of its ids, where they are known."""
        self.flush_rows()
        begin, seqs = run.begin, run.seqs
        head = self._touch(begin.session, begin.seq, begin.type, begin.recorded_at)
        chain = self._place(head, begin.seq, begin.parent)
        self._connection.execute(
            "INSERT INTO message SELECT ?, seq, NULL, bytes, tokens FROM event WHERE seq BETWEEN ? AND ?",
            (chain, seqs[0], seqs[-1]),
        )
        if hashes is None:
            hashes = log.hash_ids(begin.session, run.ids)
        identities.add_run(self._connection, hashes, seqs, chain)
        self._has_grown(head, chain, seqs[-1], len(seqs), sum(run.bytes), sum(run.tokens))

    def apply_all(self, envelopes: Iterable[Envelope]) -> None:
        """Applies events in order, and flushes."""
        for envelope in envelopes:
            self.apply(envelope)
        self.flush()

    def _touch(self, session: int, seq: int, type: int, recorded_at: int) -> Head:
        head = self.head(session)
        head.last = seq
        head.updated_at = recorded_at
        if head.created_at is None and type != log.DELETE_SESSION:
            head.created_at = recorded_at
        self._changed.add(session)
        return head

    # ---- one method a type

    def _append(self, e: Envelope, head: Head) -> None:
        chain, size, tokens = self._place(head, e.seq, e.parent), e.bytes or 0, e.tokens or 0
        self._messages.append((chain, e.seq, None, size, tokens))
        self._identities.append((log.hash_id(e.session, e.id or ""), e.seq, chain))
        self._chains[e.seq] = chain
        self._has_grown(head, chain, e.seq, 1, size, tokens)

    def _has_grown(self, head: Head, chain: int, last: int, messages: int, size: int, tokens: int) -> None:
        """Counts what was appended, the last of it to `chain`."""
        self._tails[chain] = last
        head.last = head.touch = head.leaf = last
        head.leaf_chain = chain
        head.messages += messages
        head.bytes += size
        head.tokens += tokens

    def _place(self, head: Head, seq: int, parent: int | None) -> int:
        """The chain that a new message continues or, when something follows its parent already, opens."""
        if parent is None:
            return self._fork(head.session, seq, tree.ROOT_CHAIN, 0)
        chain = head.leaf_chain if parent == head.leaf else self._chain_of(head.session, parent)
        if chain is None:
            raise LookupError(f"event {seq}: its parent {parent} isn't there")
        if self._tail(chain) == parent:
            return chain
        self.flush_rows()
        return self._fork(head.session, seq, chain, tree.next_in_chain(self._connection, Position(chain, parent)))

    def _fork(self, session: int, seq: int, chain: int, fork: int) -> int:
        self._connection.execute("INSERT INTO chain VALUES (?, ?, ?, ?)", (seq, session, chain, fork))
        return seq

    def _tail(self, chain: int) -> int | None:
        tail = self._tails.get(chain)
        if tail is None:
            tail = tree.last_in_chain(self._connection, chain)
            if tail is not None:
                self._tails[chain] = tail
        return tail

    def _chain_of(self, session: int, message: int) -> int | None:
        gathered = self._chains.get(message)
        if gathered is not None:
            return gathered
        position = tree.find_appended(self._connection, session, message)
        return None if position is None else position.chain

    def _update(self, e: Envelope, head: Head) -> None:
        self.flush_rows()
        message = e.message or 0
        chain = head.leaf_chain if message == head.leaf else self._chain_of(e.session, message)
        (size, tokens) = fetch_one(
            self._connection, "SELECT bytes, tokens FROM message WHERE chain = ? AND seq = ?", (chain, message)
        )
        self._connection.execute(
            "UPDATE message SET current = ?, bytes = ?, tokens = ? WHERE chain = ? AND seq = ?",
            (e.seq, e.bytes, e.tokens, chain, message),
        )
        head.bytes += (e.bytes or 0) - size
        head.tokens += (e.tokens or 0) - tokens

    def _delete(self, e: Envelope, head: Head) -> None:
        self.flush_rows()
        dead = log.deleted(self._connection, e.seq)
        chains = {self._remove(head, message, message_id) for message, message_id in dead}
        for chain in sorted(chains, reverse=True):
            self._prune(head.session, chain)
        gone = {message for message, _ in dead}
        if head.leaf in gone:
            self._fall_back(head, gone)

    def _remove(self, head: Head, message: int, message_id: str) -> int:
        connection = self._connection
        key = (log.hash_id(head.session, message_id), message)
        (chain,) = fetch_one(connection, "DELETE FROM identity WHERE hash = ? AND seq = ? RETURNING chain", key)
        size, tokens = fetch_one(
            connection, "DELETE FROM message WHERE chain = ? AND seq = ? RETURNING bytes, tokens", (chain, message)
        )
        connection.execute("DELETE FROM selection WHERE session = ? AND message = ?", (head.session, message))
        self._tails.pop(chain, None)
        self._chains.pop(message, None)
        head.messages -= 1
        head.bytes -= size
        head.tokens -= tokens
        return int(chain)

    def _prune(self, session: int, chain: int) -> None:
        """Drops chains that have no living message and that nothing hangs on, upwards."""
        while chain != tree.ROOT_CHAIN:
            row = fetch_one(
                self._connection,
                "DELETE FROM chain WHERE key = ?1 AND NOT EXISTS (SELECT 1 FROM message WHERE chain = ?1) "
                "AND NOT EXISTS (SELECT 1 FROM chain WHERE session = ?2 AND parent = ?1) RETURNING parent",
                (chain, session),
            )
            if row is None:
                return
            (chain,) = row

    def _fall_back(self, head: Head, gone: set[int]) -> None:
        """Makes the living message that was touched last before the active leaf. A touch that was passed over is never
        passed again, since later ones are linked past it: each costs once."""
        touch = head.touch
        while touch is not None:
            message, message_id, before = log.touched(self._connection, touch)
            position = None if message in gone else tree.find_seq(self._connection, head.session, message, message_id)
            if position is not None:
                head.touch, head.leaf, head.leaf_chain = touch, position.seq, position.chain
                return
            if before is not None and before >= touch:
                raise LookupError(f"event {touch}: it is linked to a later one")
            touch = before
        head.touch = head.leaf = head.leaf_chain = None

    def _clear(self, e: Envelope, head: Head) -> None:
        self.flush_rows()
        connection = self._connection
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
        self._tails.clear()
        self._chains.clear()
        head.touch = head.leaf = head.leaf_chain = None
        head.messages = head.bytes = head.tokens = 0

    def _delete_session(self, e: Envelope, head: Head) -> None:
        self._clear(e, head)
        head.metadata = head.created_at = None

    def _select(self, e: Envelope, head: Head) -> None:
        self.flush_rows()
        message = e.message or 0
        chain = self._chain_of(e.session, message)
        self._connection.execute("REPLACE INTO selection VALUES (?, ?, ?, ?)", (e.session, message, chain, e.seq))
        head.touch, head.leaf, head.leaf_chain = e.seq, message, chain

    def _metadata(self, e: Envelope, head: Head) -> None:
        head.metadata = e.seq

    def _compact(self, e: Envelope, head: Head) -> None:
        self.flush_rows()
        first, last = e.message or 0, e.parent or 0
        summaries.add(self._connection, e.session, e.seq, self._anchor(head, first), self._anchor(head, last))

    def _anchor(self, head: Head, seq: int) -> Position:
        """The place of an overlay's end: a living message's, or that of an earlier overlay which it stands in for."""
        chain = self._chain_of(head.session, seq)
        anchor = Position(chain, seq) if chain is not None else summaries.anchor(self._connection, head.session, seq)
        if anchor is None:
            raise LookupError(f"message {seq}, where a compaction starts or ends, was never there")
        return anchor

    def flush_rows(self) -> None:
        """Writes the gathered rows, so that they can be read."""
        self._flush_log()
        messages, identities = self._messages, self._identities
        if not messages:
            return
        if len(messages) == 1:
            self._connection.execute(_INSERT_MESSAGE, messages[0])
            self._connection.execute(_INSERT_IDENTITY, identities[0])
        else:
            self._connection.executemany(_INSERT_MESSAGE, messages)
            self._connection.executemany(_INSERT_IDENTITY, identities)
        messages.clear()
        identities.clear()
        self._chains.clear()


_INSERT_MESSAGE = "INSERT INTO message VALUES(?,?,?,?,?)"
_INSERT_IDENTITY = identities.INSERT_ONE


_APPLY = {
    log.APPEND: Fold._append,
    log.IMPORT: Fold._append,
    log.UPDATE: Fold._update,
    log.DELETE: Fold._delete,
    log.CLEAR: Fold._clear,
    log.DELETE_SESSION: Fold._delete_session,
    log.SELECT: Fold._select,
    log.METADATA: Fold._metadata,
    log.COMPACT: Fold._compact,
    log.COMPACTION: Fold._compact,
}
