"""The search index: which version of a message holds which words. A read table, absent until somebody searches.

What always holds: the index has the text of a version (the event that wrote it) exactly when that version is the
current one of a living message and not newer than the cursor, `State.seq`. So what a write must do is to take out what
it replaces or deletes, if that isn't above the cursor, while the text is still there; a search moves the cursor up to
the log's end. Nothing is noted per message, a store that never searched pays nothing, and a replay needs the cursor
alone.

FTS5 keeps here which rows hold a word and no more (`content=''`, `detail=none`, `columnsize=0`): a ninth to a quarter
of the text, where places and lengths would make it half. How often and where a word stands, the text itself says. A
row's number is the version's; a text too long for one row takes rows `LONG * n + version`, n from 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

from eventstore import texts, words
from eventstore.driver import Connection, Error, fetch, fetch_one
from eventstore.texts import Batch
from eventstore.tokenizing import Tokenizer, fts5_tokenize_option

VERSION = 2  # of how a text becomes rows: an index of another one is made anew
LONG = 1 << 40  # rows from here on are parts of long texts
ERASE_EACH = 64  # from so many texts at once, removing plainly and rewriting the index is quicker than erasing each
_SEPARATOR = 12  # bytes: words that begin alike for so long may stay behind as a separator of the index's pages


class State(NamedTuple):
    """What the index holds."""

    version: int = VERSION
    seq: int = 0  # the cursor: versions up to here are in
    messages: int = 0
    words: int = 0
    long: int = 0  # messages of several rows


_STATE = "SELECT version, seq, messages, words, long FROM {}.search_index"


def state(connection: Connection, schema: str = "main") -> State | None:
    """The state of the index, `None` when there is none."""
    if fetch_one(connection, f"SELECT 1 FROM {schema}.sqlite_schema WHERE name = 'search_index'") is None:
        return None
    return State(*fetch_one(connection, _STATE.format(schema)))


def state_if_there(connection: Connection) -> State | None:
    """`state`, quicker where there is one."""
    try:
        return State(*fetch_one(connection, _STATE.format("main")))
    except Error:
        return state(connection)


def create(connection: Connection, schema: str = "main", after: int = 0) -> None:
    """Makes an empty index of the versions after a cursor; in `temp`, one that hides the file's."""
    connection.execute(
        f"CREATE VIRTUAL TABLE {schema}.search USING fts5"
        f"(text, content='', detail=none, columnsize=0, tokenize=\"{fts5_tokenize_option()}\")"
    )
    connection.execute(f"INSERT INTO {schema}.search(search, rank) VALUES ('secure-delete', 1)")
    connection.execute(
        f"CREATE TABLE {schema}.search_index (version INTEGER NOT NULL, seq INTEGER NOT NULL, "
        "messages INTEGER NOT NULL, words INTEGER NOT NULL, long INTEGER NOT NULL)"
    )
    connection.execute(f"INSERT INTO {schema}.search_index VALUES (?, ?, 0, 0, 0)", (VERSION, after))


def drop(connection: Connection) -> None:
    """Takes the index away."""
    connection.execute("DROP TABLE main.search")
    connection.execute("DROP TABLE main.search_index")


def _save(connection: Connection, new: State) -> None:
    connection.execute(
        "UPDATE search_index SET seq = ?, messages = ?, words = ?, long = ?",
        (new.seq, new.messages, new.words, new.long),
    )


# ---- texts into rows


class _Rows:
    """Texts as the rows that they take, and how many words they have."""

    def __init__(self, connection: Connection, given: Iterable[tuple[int, str]]) -> None:
        tokenizer = Tokenizer(connection)
        self.rows: list[tuple[int, str]] = []
        self.messages = self.words = self.long = 0
        for version, text in given:
            prepared = words.plain(text)
            pieces = list(words.pieces(prepared))
            numbers = range(LONG + version, LONG * (len(pieces) + 1), LONG) if len(pieces) > 1 else (version,)
            self.rows += zip(numbers, pieces, strict=True)
            self.messages += 1
            self.words += sum(len(tokenizer.words(piece)) for piece in pieces)
            self.long += len(pieces) > 1
        self.rows.sort(key=itemgetter(0))  # FTS5 writes rows in order together

    def change(self, now: State, sign: int) -> State:
        """The state with these texts more (1) or less (-1)."""
        return now._replace(
            messages=now.messages + sign * self.messages,
            words=now.words + sign * self.words,
            long=now.long + sign * self.long,
        )


def add(connection: Connection, batch: Batch) -> None:
    """Indexes a batch that is as it was read."""
    now = state(connection, _schema(connection)) or State()
    new = _Rows(connection, batch.texts)
    connection.executemany("INSERT INTO search(rowid, text) VALUES (?, ?)", new.rows)
    _save(connection, new.change(now, 1)._replace(seq=batch.last))


def _schema(connection: Connection) -> str:
    """Where `search` is that this connection sees."""
    return "main" if state(connection, "temp") is None else "temp"


def fill(connection: Connection, upto: int) -> None:
    """Moves the cursor to `upto` in the caller's transaction."""
    cursor = (state(connection, _schema(connection)) or State()).seq
    while cursor < upto:
        batch = texts.read_batch(connection, cursor, upto)
        add(connection, batch)
        cursor = batch.last


# ---- taking out


def remove(connection: Connection, versions: Sequence[int]) -> None:
    """Takes versions out whose texts are about to be replaced or deleted; call it while they are still there."""
    now = state(connection)
    if now is None:
        return
    gone = [version for version in versions if version <= now.seq]
    if gone and now.version == VERSION:
        _remove(connection, now, gone)
    elif gone:
        drop(connection)  # what it was made from isn't known: the next search makes another


def remove_session(connection: Connection, session: int) -> None:
    """`remove` for every message of a session."""
    if state(connection) is not None:
        rows = fetch(
            connection,
            "SELECT coalesce(m.current, m.seq) FROM chain c JOIN message m ON m.chain = c.key WHERE c.session = ?",
            (session,),
        )
        remove(connection, [version for (version,) in rows])


def _remove(connection: Connection, now: State, versions: Sequence[int]) -> None:
    few = len(versions) < ERASE_EACH
    erasing, rewrite = True, False
    for version in versions:
        text = texts.read(connection, version)
        if not text:
            continue
        old = _Rows(connection, [(version, text)])
        each = few and len(old.rows) == 1 and not _parts_pages(connection, text)
        if each != erasing:
            _erase_each(connection, each)
        erasing, rewrite = each, rewrite or not each
        connection.executemany("INSERT INTO search(search, rowid, text) VALUES ('delete', ?, ?)", old.rows)
        now = old.change(now, -1)
    if not now.messages:
        connection.execute("INSERT INTO search(search) VALUES ('delete-all')")
    elif rewrite:
        connection.execute("INSERT INTO search(search) VALUES ('optimize')")
    if not erasing:
        _erase_each(connection, True)
    _save(connection, now)


def _erase_each(connection: Connection, each: bool) -> None:
    """Whether what is removed is erased at once, or marked, until the index is written anew."""
    connection.execute("INSERT INTO search(search, rank) VALUES ('secure-delete', ?)", (int(each),))


def _parts_pages(connection: Connection, text: str) -> bool:
    """Whether the beginning of a word that only this text has parts two pages of the index: erasing would leave it."""
    prepared = words.plain(text)
    stems, plain = Tokenizer(connection).words(prepared), Tokenizer(connection, stems=False).words(prepared)
    long = {stem.encode()[:_SEPARATOR]: word for stem, word in zip(stems, plain, strict=True) if len(stem) * 4 >= 12}
    long = {beginning: word for beginning, word in long.items() if len(beginning) == _SEPARATOR}
    if not long:
        return False
    rows = fetch(connection, "SELECT DISTINCT substr(CAST(term AS BLOB), 2, ?) FROM search_idx", (_SEPARATOR,))
    return any(
        len(fetch(connection, "SELECT 1 FROM search WHERE search MATCH ? LIMIT 2", (f'"{long[separator]}"',))) < 2
        for (separator,) in rows
        if separator in long
    )


# ---- made anew, and compared


def rebuild(connection: Connection) -> None:
    """Makes an index that is there anew, up to its cursor, in the caller's transaction."""
    now = state(connection)
    if now is not None:
        drop(connection)
        create(connection)
        fill(connection, now.seq)


_POSTINGS = (  # by remainders, since the numbers of long texts' rows add up to more than 64 bits
    "SELECT term, count(*), sum(doc % 2147483647), sum((doc % 1000003) * (doc % 1000003) % 2147483647) "
    "FROM temp.{} GROUP BY term"
)
_SHOWN = 5


def check(connection: Connection) -> Iterator[str]:
    """Where the file's index isn't the one that its texts give: made anew in `temp`, among the read tables there."""
    there = state(connection)
    if there is None or there.version != VERSION:
        return
    create(connection, "temp")
    fill(connection, there.seq)
    anew = state(connection, "temp")
    if anew != there:
        yield f"the search index says {there}, and the texts give {anew}"
    for schema in ("main", "temp"):
        connection.execute(
            f"CREATE VIRTUAL TABLE temp.search_{schema} USING fts5vocab('{schema}', 'search', 'instance')"
        )
    ours, theirs = _POSTINGS.format("search_main"), _POSTINGS.format("search_temp")
    for one, other, told in (
        (ours, theirs, "has other messages for a word than the texts give"),
        (theirs, ours, "lacks messages for a word that the texts give"),
    ):
        for term, *_ in fetch(connection, f"{one} EXCEPT {other} LIMIT ?", (_SHOWN,)):
            yield f"the search index {told}: {term!r}"
