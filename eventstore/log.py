"""The append-only log: envelopes in, envelopes out. The order of events, and nothing about what they mean for reads.

An envelope stays for ever; its body may go (see `bodies`). Events of one session are linked backwards (`back`), so that
they are found without an index and without reading those of others. What made a leaf the active one is linked too
(`touch`), so that the next one is found when it is deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, repeat
from typing import Any, NamedTuple

from eventstore.driver import Connection, fetch, fetch_one
from eventstore.hashing import blake2b, hash_each, to_integers

APPEND, UPDATE, DELETE, CLEAR, IMPORT, DELETE_SESSION, SELECT, METADATA, COMPACT, COMPACTION = range(1, 11)
TYPE_NAMES = {
    APPEND: "append",
    UPDATE: "update",
    DELETE: "delete",
    CLEAR: "clear",
    IMPORT: "import",
    DELETE_SESSION: "delete_session",
    SELECT: "select",
    METADATA: "metadata",
    COMPACT: "compact",
    COMPACTION: "compaction",
}
ID_BITS = 40  # of a hash: with them and a session's bits it is a positive integer of SQLite's
SESSION_BITS = 2**23 - 1
_new_hasher = blake2b(digest_size=ID_BITS // 8).copy  # to copy one takes half the time of making one
WINDOW = 500  # envelopes held at once when many are read

Row = tuple[int | str | None, ...]


class Envelope(NamedTuple):
    """All of an event but its body, in the order of the table's columns. Times are microseconds since 1970, UTC."""

    seq: int
    session: int  # the seq of the session's first event
    back: int  # how many seqs back the session's previous event is; 0: there is none
    type: int
    recorded_at: int
    id: str | None = None  # append, import: the message's id; compaction: the overlay's
    message: int | None = None  # the message spoken of, by the seq that appended it; compaction: the first one covered
    parent: int | None = None  # append, import: the parent; compaction: the last message covered
    touch: int | None = None  # the event that made the leaf before this one active, where that isn't `parent`
    role: str | None = None
    bytes: int | None = None
    tokens: int | None = None
    created_at: int | None = None  # a time that was given; `None`: recorded_at
    base: int | None = None  # the event whose text this version goes on from
    digest: int | None = None
    flags: int = 0


class Begin(NamedTuple):
    """Where new messages of a session go: the envelope of the first of them, but for the message."""

    seq: int
    session: int
    back: int
    type: int
    recorded_at: int
    parent: int | None
    touch: int | None


class Run(NamedTuple):
    """New messages, each on the one before, by columns: events that follow one another in the log.

    What is made for each of thousands is what they cost; so no envelope is.
    """

    begin: Begin
    ids: Sequence[str]
    roles: Sequence[str]
    bytes: Sequence[int]
    tokens: Sequence[int]
    created_at: Sequence[int | None]
    digests: Sequence[int]
    flags: Sequence[int]
    bodies: Sequence[str]  # the part of each that fits one row

    @property
    def seqs(self) -> range:
        """The seqs of all."""
        return range(self.begin.seq, self.begin.seq + len(self.ids))

    def rows(self) -> Iterator[Row]:
        """As the table takes them, made one by one: all at once they keep the garbage collector busy.

        Raises `RuntimeError` for columns of different lengths: beside what repeats for ever, `zip` can't tell.
        """
        if len(set(map(len, self[1:]))) != 1:
            raise RuntimeError(f"a run of {len(self.ids)} messages has columns of {[*map(len, self[1:])]}")
        seqs, (_, session, back, type, recorded_at, parent, touch) = self.seqs, self.begin
        return zip(
            seqs, repeat(session), chain((back,), repeat(1)), repeat(type), repeat(recorded_at), self.ids, repeat(None),
            chain((parent,), seqs), chain((touch,), repeat(None)), self.roles, self.bytes, self.tokens, self.created_at,
            repeat(None), self.digests, self.flags, self.bodies, strict=False,
        )  # fmt: skip


_COLUMNS = ", ".join(Envelope._fields)
_INSERT = "INSERT INTO event VALUES(?" + ",?" * 16 + ")"  # short: apsw hashes it for each row


def append(connection: Connection, envelope: Envelope, body: str | None) -> None:
    """Writes an event: its envelope, and the part of its body that fits one row."""
    connection.execute(_INSERT, envelope + (body,))  # noqa: RUF005 - unpacking takes three times as long


def append_run(connection: Connection, run: Run) -> None:
    """Writes the events of a run."""
    connection.executemany(_INSERT, run.rows())


def rewrite(connection: Connection, after: int, most_events: int, most_bytes: int) -> int:
    """Writes the first events above `after` anew, as they are, so that they lie without gaps, and returns the last.

    A page keeps the room that taken bodies leave in it, for events are only added at the end. Returns `after` at the
    end of the log.
    """
    upto, room = after, most_bytes
    sizes = "SELECT seq, coalesce(bytes, 0) FROM event WHERE seq > ? ORDER BY seq LIMIT ?"
    for seq, size in fetch(connection, sizes, (after, most_events)):
        room -= size
        if room < 0 and upto > after:
            break
        upto = seq
    rows = fetch(connection, f"SELECT {_COLUMNS}, body FROM event WHERE seq > ? AND seq <= ?", (after, upto))
    connection.execute("DELETE FROM event WHERE seq > ? AND seq <= ?", (after, upto))
    connection.executemany(_INSERT, rows)
    return upto


def append_deletion(connection: Connection, seq: int, messages: list[int]) -> None:
    """Writes which messages a delete event deleted, in the order in which they were named."""
    rows = ((seq, n, message) for n, message in enumerate(messages))
    connection.executemany("INSERT INTO deletion VALUES (?, ?, ?)", rows)


def deleted(connection: Connection, seq: int) -> list[tuple[int, str]]:
    """(message, id) of what a delete event deleted."""
    return fetch(
        connection,
        "SELECT d.message, e.id FROM deletion d JOIN event e ON e.seq = d.message WHERE d.event = ? ORDER BY d.n",
        (seq,),
    )


def latest_seq(connection: Connection) -> int:
    """The newest event's number, 0 in an empty store."""
    row = fetch_one(connection, "SELECT max(seq) FROM event")
    return row[0] or 0


def read(connection: Connection, seq: int) -> Envelope:
    """One envelope."""
    return Envelope._make(fetch_one(connection, f"SELECT {_COLUMNS} FROM event WHERE seq = ?", (seq,)))


def read_range(connection: Connection, after: int, upto: int, limit: int = WINDOW) -> list[Envelope]:
    """The first envelopes with after < seq <= upto, in order."""
    rows = fetch(
        connection,
        f"SELECT {_COLUMNS} FROM event WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
        (after, upto, limit),
    )
    return [Envelope._make(row) for row in rows]


def read_all(connection: Connection, upto: int) -> Iterator[Envelope]:
    """Every envelope up to `upto`, a window at a time."""
    after = 0
    while envelopes := read_range(connection, after, upto):
        yield from envelopes
        after = envelopes[-1].seq


def session_seqs(connection: Connection, last: int, after: int) -> list[int]:
    """The seqs of one session's events above `after`, in order, by walking back from `last`, one of them."""
    rows = fetch(
        connection,
        "WITH RECURSIVE walk(seq, back) AS (SELECT seq, back FROM event WHERE seq = ?1 AND seq > ?2 UNION ALL "
        "SELECT e.seq, e.back FROM walk w JOIN event e ON e.seq = w.seq - w.back WHERE w.back > 0 AND e.seq > ?2) "
        "SELECT seq FROM walk",
        (last, after),
    )
    return [seq for (seq,) in reversed(rows)]


def read_session(connection: Connection, last: int, after: int = 0, upto: int | None = None) -> Iterator[Envelope]:
    """One session's envelopes with after < seq <= upto, in order."""
    seqs = session_seqs(connection, last, after)
    for start in range(0, len(seqs), WINDOW):
        for seq in seqs[start : start + WINDOW]:
            if upto is not None and seq > upto:
                return
            yield read(connection, seq)


def message_id(connection: Connection, seq: int) -> str:
    """The id of the message that event `seq` appended."""
    return str(fetch_one(connection, "SELECT id FROM event WHERE seq = ?", (seq,))[0])


def touched(connection: Connection, seq: int) -> tuple[int, str, int | None]:
    """(message, its id, the touch before) of an event that made a message the active leaf."""
    row: tuple[int, str, int | None] = fetch_one(
        connection,
        "SELECT a.seq, a.id, coalesce(t.touch, t.parent) "
        "FROM event t JOIN event a ON a.seq = coalesce(t.message, t.seq) WHERE t.seq = ?",
        (seq,),
    )
    return row


# ---- names


def session_key(connection: Connection, name: str) -> int | None:
    """The number of a session: the seq of its first event. `None` when it never had one."""
    row = fetch_one(connection, "SELECT session FROM name WHERE name = ?", (name,))
    return None if row is None else int(row[0])


def session_name(connection: Connection, key: int) -> str:
    """The name of a session."""
    return str(fetch_one(connection, "SELECT name FROM name WHERE session = ?", (key,))[0])


def add_session(connection: Connection, key: int, name: str) -> None:
    """Names a session at its first event."""
    connection.execute("INSERT INTO name VALUES (?, ?)", (key, name))


def hash_id(session: int, message_id: str) -> int:
    """Where the index finds a message id: 23 bits of the session's number, then 40 of BLAKE2b of the id.

    The ids of one conversation lie side by side, so that writing to it touches few pages of the index, and always the
    same. Ids that meet are told apart by the event's own id.
    """
    return (session & SESSION_BITS) << ID_BITS | id_bits(message_id)


def hash_ids(session: int, message_ids: Iterable[str]) -> list[int]:
    """`hash_id` of many: with the session's bits before each hash, all are integers at once."""
    session_bits = (session & SESSION_BITS).to_bytes(8 - ID_BITS // 8, "big")
    return to_integers(session_bits.join((b"", *hash_each(_new_hasher, message_ids))))


def _bits(message_id: str) -> int:
    hasher = _new_hasher()
    hasher.update(message_id.encode())
    return int.from_bytes(hasher.digest(), "big")


id_bits = lru_cache(maxsize=1024)(_bits)
"""The half of `hash_id` that doesn't depend on the session; one write asks for it more than once."""


def setting(connection: Connection, name: str) -> Any:
    """A setting that the file remembers."""
    return fetch_one(connection, "SELECT value FROM setting WHERE name = ?", (name,))[0]


def set_setting(connection: Connection, name: str, value: str) -> None:
    """Makes the file remember a setting."""
    connection.execute("UPDATE setting SET value = ? WHERE name = ?", (value, name))
