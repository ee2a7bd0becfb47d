"""The bodies of events: JSON text in rows, slices and insertions, and what retention takes away.

A *version* of a message is the event that wrote it. Its body belongs to itself, or, when it only inserted, to the event
of an earlier version (its `base`) and to the pieces up to it. A version is retained exactly as long as its digest is:
what is superseded reads as erased, even where its bytes could be put together again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from eventstore import attachments, codec, deltas, media, parts
from eventstore.codec import Encoded
from eventstore.driver import Connection, fetch, fetch_one
from eventstore.media import Taken

STRICT = codec.STRICT
PIECES = 2  # flag: the event's body goes on in `piece`
ATTACHMENTS = 4  # flag: some of those pieces are attachments


class Body(NamedTuple):
    """A version's text without its media, with its codec flags, and the media."""

    text: str
    flags: int
    media: tuple[Taken, ...] = ()

    def value(self) -> Any:
        """What it says."""
        if not self.media:
            return codec.decode(self.text, self.flags)
        return codec.decode_with(self.text, self.flags, self.media)


class Growing(NamedTuple):
    """A version as the next one may grow from it."""

    owner: int  # the event that owns the base text
    base_size: int  # characters of that text
    pieces: int
    text: str  # without media
    media: tuple[Taken, ...] = ()

    @property
    def size(self) -> int:
        """Characters that it keeps in memory."""
        return len(self.text) + sum(len(taken.base64) for taken in self.media)


def is_large(body: Encoded) -> bool:
    """Whether something of a body may have to go beside its event's row."""
    return body.size > deltas.SLICE_BYTES or bool(body.media)


def is_any_large(sizes: Sequence[int], media: Iterable[tuple[Taken, ...]]) -> bool:
    """`is_large` of any of many bodies, by their sizes and media."""
    return max(sizes) > deltas.SLICE_BYTES or any(media)


def place(
    connection: Connection, owner: int, body: Encoded, id: str | None = None, role: str | None = None
) -> tuple[int, str, int]:
    """Stores what of a body goes beside its event's row, slices of a long text and attachments. Gives what the row
    holds, behind its flags, and how many pieces hold the rest. `id` and `role` are the row's own, where it has any."""
    if not is_large(body):
        return *parts.cut(body.flags, body.text, id, role, body.value), 0
    first, *rest = deltas.slices(body.text)
    add_pieces(connection, owner, owner, len(first), rest)
    for n, taken in enumerate(body.media, len(rest)):
        key = attachments.store(connection, taken.base64)
        connection.execute("INSERT INTO piece VALUES (?, ?, ?, ?, NULL, ?)", (owner, n, owner, taken.at, key))
    pieces = len(rest) + len(body.media)
    flags = body.flags | (PIECES if pieces else 0) | (ATTACHMENTS if body.media else 0)
    return flags, first, pieces


def add_pieces(connection: Connection, owner: int, version: int, at: int, texts: Iterable[str], n: int = 0) -> None:
    """Stores texts, each behind the one before, as pieces of `owner` from number `n` on."""
    for text in texts:
        connection.execute("INSERT INTO piece VALUES (?, ?, ?, ?, ?, NULL)", (owner, n, version, at, text))
        at += len(text)
        n += 1


def add_insertion(connection: Connection, growing: Growing, version: int, at: int, text: str) -> int:
    """Stores what `version` inserts into the text of the version before it, and returns in how many pieces."""
    texts = list(deltas.slices(text))
    add_pieces(connection, growing.owner, version, at, texts, growing.pieces)
    if growing.pieces == 0:
        connection.execute("UPDATE event SET flags = flags | ? WHERE seq = ?", (PIECES, growing.owner))
    return len(texts)


class Hole(NamedTuple):
    """Where an attachment belongs into a text, counted with those before it, and how long its base64 is."""

    at: int
    length: int
    key: int


def read(connection: Connection, version: int) -> Body | None:
    """The body of a version, `None` when it was not retained. Raises `DamagedStore` when its media are missing."""
    found = _read(connection, version)
    if found is None:
        return None
    text, flags, holes = found
    media = tuple(Taken(hole.at, attachments.read(connection, hole.key, hole.length)) for hole in holes)
    return Body(text, flags, media)


def read_text(connection: Connection, version: int) -> tuple[str, int] | None:
    """(text, flags) of a version without its media, which aren't read; `None` when it was not retained."""
    found = _read(connection, version)
    return None if found is None else found[:2]


def _read(connection: Connection, version: int) -> tuple[str, int, list[Hole]] | None:
    """(text, flags, where media belong into it) of a version, `None` when it was not retained."""
    row = fetch_one(connection, "SELECT digest, base, flags, body, id, role FROM event WHERE seq = ?", (version,))
    if row is None or row[0] is None:
        return None
    _, base, flags, *said = row
    text = parts.whole(flags, *said) if base is None else read_base(connection, base) or ""
    flags &= ~parts.PARTS
    if base is None and not flags & PIECES:
        return text, flags, []
    text, holes = joined(connection, text, base or version, version)
    return text, flags, holes


def read_base(connection: Connection, owner: int) -> str | None:
    """What of a text its event's row says."""
    row = fetch_one(connection, "SELECT flags, body, id, role FROM event WHERE seq = ?", (owner,))
    return None if row is None or row[1] is None else parts.whole(*row)


def joined(connection: Connection, base: str, owner: int, version: int) -> tuple[str, list[Hole]]:
    """(text, where media belong into it) of a version that goes on from the text `base` of event `owner`."""
    rows = fetch(
        connection,
        "SELECT p.at, p.text, p.attachment, a.bytes FROM piece p LEFT JOIN attachment a ON a.key = p.attachment "
        "WHERE p.event = ? AND p.version <= ? ORDER BY p.n",
        (owner, version),
    )
    pieces: list[tuple[int, str]] = []
    holes: list[Hole] = []  # in the order of the text: no insertion changes that
    for at, text, key, size in rows:
        if key is not None:
            holes.append(Hole(at, media.encoded_length(size or 0), key))
            continue
        pieces.append((at - sum(hole.length for hole in holes if hole.at < at), text))
        if holes and holes[-1].at >= at:
            holes = [Hole(h.at + len(text), h.length, h.key) if h.at >= at else h for h in holes]
    return deltas.join(base, pieces), holes


def read_growing(connection: Connection, version: int) -> Growing:
    """A retained version, ready to grow."""
    body = read(connection, version) or Body("", 0)
    (owner,) = fetch_one(connection, "SELECT coalesce(base, seq) FROM event WHERE seq = ?", (version,))
    (count,) = fetch_one(connection, "SELECT count(*) FROM piece WHERE event = ?", (owner,))
    return Growing(owner, len(read_base(connection, owner) or ""), count, body.text, body.media)


def grows(growing: Growing, new: Encoded) -> tuple[int, str] | None:
    """What to insert where, when storing an insertion is worth it: else the new text is to be written whole."""
    if len(growing.text) < deltas.LEAST_BASE or (growing.pieces + 1) * deltas.PIECE_WEIGHT > growing.base_size:
        return None
    found = deltas.insertion(growing.text, new.text)
    if found is None or len(growing.media) != len(new.media):
        return None
    at, text = found
    full, before = at, 0
    for old, taken in zip(growing.media, new.media, strict=True):
        start = old.at - before  # in the text without media
        moved = taken.at - old.at
        if old.base64 != taken.base64 or not ((moved == 0 and start <= at) or (moved == len(text) and start >= at)):
            return None
        before += len(old.base64)
        if moved == 0:
            full += len(old.base64)
    return full, text


def forget_digest(connection: Connection, version: int) -> None:
    """Makes a version read as erased whose text the next version goes on from."""
    connection.execute("UPDATE event SET digest = NULL WHERE seq = ?", (version,))


def drop(connection: Connection, version: int) -> None:
    """Takes a version's body and digest away. The text stays as far as an earlier, retained version stands on it."""
    base, flags = fetch_one(connection, "SELECT base, flags FROM event WHERE seq = ?", (version,))
    forget_digest(connection, version)
    if base is None and not flags & PIECES:
        connection.execute("UPDATE event SET body = NULL, flags = 0 WHERE seq = ?", (version,))
    else:
        trim(connection, base or version)


def drop_each(connection: Connection, versions: Sequence[int]) -> int:
    """As `drop` for many, looking at each text once, and returns how many were retained till now."""
    rows = fetch(
        connection,
        "SELECT e.seq, e.base, e.flags & ? FROM json_each(?) v CROSS JOIN event e ON e.seq = v.value "
        "WHERE e.digest IS NOT NULL",
        (PIECES, json.dumps(versions)),
    )
    plain = [(seq,) for seq, base, in_pieces in rows if base is None and not in_pieces]
    connection.executemany("UPDATE event SET body = NULL, digest = NULL, flags = 0 WHERE seq = ?", plain)
    owners = {seq: base or seq for seq, base, in_pieces in rows if base is not None or in_pieces}
    for version in owners:
        forget_digest(connection, version)
    for owner in dict.fromkeys(owners.values()):
        trim(connection, owner)
    return len(rows)


def trim(connection: Connection, owner: int) -> None:
    """Takes away what no retained version stands on, of the text that event `owner` has."""
    kept = _newest_retained(connection, owner)
    keys = attachments.referred(connection, owner, above=kept or 0)
    connection.execute("DELETE FROM piece WHERE event = ? AND version > ?", (owner, kept or 0))
    if kept is None:
        connection.execute("UPDATE event SET body = NULL, flags = 0 WHERE seq = ?", (owner,))
    attachments.collect(connection, keys)


def _newest_retained(connection: Connection, owner: int) -> int | None:
    (newest,) = fetch_one(
        connection,
        "SELECT max(seq) FROM event WHERE digest IS NOT NULL "
        "AND seq IN (SELECT ?1 UNION SELECT version FROM piece WHERE event = ?1)",
        (owner,),
    )
    return None if newest is None else int(newest)


_CURRENT = (
    "SELECT v.seq FROM chain c JOIN message m ON m.chain = c.key JOIN event v ON v.seq = coalesce(m.current, m.seq) "
    "WHERE c.session = ?"
)


def drop_messages(connection: Connection, session: int) -> None:
    """Takes away the bodies of all messages of a session: plain ones in one statement."""
    connection.execute(
        f"UPDATE event SET body = NULL, digest = NULL, flags = 0 "
        f"WHERE seq IN ({_CURRENT} AND v.base IS NULL AND NOT v.flags & ?)",
        (session, PIECES),
    )
    for (version,) in fetch(connection, f"{_CURRENT} AND (v.base IS NOT NULL OR v.flags & ?)", (session, PIECES)):
        drop(connection, version)


def drop_summaries(connection: Connection, session: int) -> None:
    """Takes away the summaries of all overlays of a session."""
    for (seq,) in fetch(connection, "SELECT seq FROM overlay WHERE session = ?", (session,)):
        drop(connection, seq)


def check(connection: Connection) -> Iterator[str]:
    """What is wrong with the bodies: texts that don't fit their digests, pieces and attachments on their own."""
    yield from attachments.check(connection)
    for seq, digest, size in _digests(connection):
        text, _, holes = _read(connection, seq) or ("", 0, [])
        if codec.digest(text) != digest:
            yield f"event {seq}: its body doesn't fit its digest"
        elif holes and not attachments.are_placed(text, [(hole.at, hole.length) for hole in holes], size):
            yield f"event {seq}: its attachments aren't where they were taken out"
    orphans = "SELECT DISTINCT event FROM piece WHERE event NOT IN (SELECT seq FROM event WHERE flags & ?)"
    for (owner,) in fetch(connection, orphans, (PIECES,)):
        yield f"event {owner}: pieces of a body that isn't there"
    loose = "SELECT seq FROM event WHERE digest IS NULL AND body IS NOT NULL AND NOT flags & ?"
    for (seq,) in fetch(connection, loose, (PIECES,)):
        yield f"event {seq}: a body without its digest"


def _digests(connection: Connection) -> Iterator[tuple[int, int, int]]:
    after = 0
    while True:
        rows = fetch(
            connection,
            "SELECT seq, digest, bytes FROM event WHERE seq > ? AND digest IS NOT NULL ORDER BY seq LIMIT 1000",
            (after,),
        )
        if not rows:
            return
        yield from rows
        after = rows[-1][0]
