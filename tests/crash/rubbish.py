"""Files that rot: a store's file with bits flipped, pages swapped, emptied, lost or foreign, and what is made of it.

A good file is damaged by a seed and read in every way, in a forked child that is given a time. What comes must be
right, or one of our own errors; and where an answer is another than the whole file gives, `verify()` must say so.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import attrs

from eventstore import EventStoreError, Session, Sessions
from eventstore.testing import json_text
from tests.crash.works import WORKS, do, small_files
from tests.same_bytes import same_bytes

PAGE = 2_048
SECONDS = 20  # for one file


def make_whole(path: Path) -> None:
    """A store with something of everything in it, and a search index."""
    with same_bytes(), small_files(), Sessions(path, retain="all", durability="normal") as sessions:
        for name, work in WORKS.items():
            do(work, sessions.session(name))
        sessions.session("large").append_message(
            {"id": "large", "role": "user", "parts": [{"type": "text", "text": "many words in a row. " * 900}]}
        )
        sessions.search("hello")


# ---- how a file is damaged


def _flip(data: bytearray, chosen: random.Random) -> None:
    for _ in range(chosen.choice((1, 1, 2, 8, 64))):
        data[chosen.randrange(len(data))] ^= 1 << chosen.randrange(8)


def _flip_together(data: bytearray, chosen: random.Random) -> None:
    start = chosen.randrange(len(data))
    for place in range(start, min(len(data), start + chosen.choice((2, 16, 100)))):
        data[place] = chosen.randrange(256)


def _in_the_header(data: bytearray, chosen: random.Random) -> None:
    data[chosen.randrange(100)] = chosen.randrange(256)


def _truncate(data: bytearray, chosen: random.Random) -> None:
    size = chosen.randrange(len(data))
    del data[size - size % PAGE if chosen.random() < 0.5 else size :]


def _swap(data: bytearray, chosen: random.Random) -> None:
    one, other = (chosen.randrange(len(data) // PAGE) * PAGE for _ in range(2))
    data[one : one + PAGE], data[other : other + PAGE] = data[other : other + PAGE], data[one : one + PAGE]


def _double(data: bytearray, chosen: random.Random) -> None:
    one, other = (chosen.randrange(len(data) // PAGE) * PAGE for _ in range(2))
    data[one : one + PAGE] = data[other : other + PAGE]


def _empty(data: bytearray, chosen: random.Random) -> None:
    start = chosen.randrange(len(data) // PAGE) * PAGE
    data[start : start + PAGE] = bytes(PAGE)


def _fill(data: bytearray, chosen: random.Random) -> None:
    start = chosen.randrange(len(data) // PAGE) * PAGE
    data[start : start + PAGE] = chosen.randbytes(PAGE)


BYTES: dict[str, Callable[[bytearray, random.Random], None]] = {
    "bits flipped": _flip,
    "a run of rubbish": _flip_together,
    "a rotten header": _in_the_header,
    "truncated": _truncate,
    "pages swapped": _swap,
    "a page twice": _double,
    "a page of zeros": _empty,
    "a page of rubbish": _fill,
}


def _rows_of_rubbish(path: Path, chosen: random.Random) -> None:
    """Sound for SQLite: values that no version writes."""
    raw = sqlite3.connect(path)
    tables = [row[0] for row in raw.execute("SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE TABLE%'")]
    tables = [table for table in tables if not table.startswith("search")]
    for _ in range(chosen.choice((1, 2, 5))):
        table = chosen.choice(tables)
        column = chosen.choice([row[1] for row in raw.execute(f"PRAGMA table_info({table})")])
        value = chosen.choice((None, -1, 0, 7, 2**62, 1.5, "", "rubbish", "[]", '{"id": 1}', b"\xff\xfe"))
        count = raw.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        with suppress(sqlite3.Error):
            first = chosen.randrange(max(count, 1))
            keys = ", ".join(row[1] for row in raw.execute(f"PRAGMA table_info({table})") if row[5]) or "rowid"
            raw.execute(
                f"UPDATE {table} SET {column} = ? WHERE ({keys}) IN (SELECT {keys} FROM {table} LIMIT 1 OFFSET ?)",
                (value, first),
            )
    with suppress(sqlite3.Error):
        if chosen.random() < 0.3:
            raw.execute(f"DELETE FROM {chosen.choice(tables)} WHERE abs(random()) % 3 = 0")
        if chosen.random() < 0.1:
            raw.execute(f"DROP TABLE {chosen.choice(tables)}")
    raw.commit()
    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    raw.close()


ROWS = "rows of rubbish"
KINDS = (*BYTES, ROWS)


def damage(whole: bytes, path: Path, kind: str, seed: int) -> None:
    """Writes the damaged file."""
    chosen = random.Random(f"{kind} {seed}")
    data = bytearray(whole)
    if kind in BYTES:
        BYTES[kind](data, chosen)
    path.write_bytes(data)
    if kind == ROWS:
        _rows_of_rubbish(path, chosen)


# ---- what is made of it


@attrs.define
class Found:
    """What reading a file gave."""

    answers: dict[str, str] = attrs.Factory(dict)
    errors: list[str] = attrs.Factory(list)
    ok: bool | None = None  # what verify() says; None: it raised
    names: set[str] = attrs.Factory(set)


def _answer(found: Found, name: str, ask: Callable[[], Any]) -> Any:
    try:
        value = ask()
    except EventStoreError as error:
        found.errors.append(f"{name}: {type(error).__name__}")
        return None
    found.answers[name] = json_text(_checkable(value))
    return value


UNCHECKED = {"created_at", "updated_at", "recorded_at", "token_estimate", "role", "session_id"}
"""What stands in envelopes alone: no digest and no fold can tell whether it is what was written."""


def _checkable(value: Any) -> Any:
    if isinstance(value, list):
        return [_checkable(each) for each in value]
    if isinstance(value, dict):
        return {key: _checkable(each) for key, each in value.items() if key not in UNCHECKED}
    return value


def _read_session(found: Found, session: Session) -> None:
    name = session.session_id
    leaves = _answer(found, f"{name}: leaves", lambda: [leaf.id for leaf in session.get_leaves()]) or []
    for leaf in leaves[:20]:
        _answer(found, f"{name}: {leaf}", partial(session.get_history, leaf_id=leaf, compacted=False))
    _answer(found, f"{name}: tree", lambda: [info.to_dict() for info in session.tree()])
    _answer(found, f"{name}: shown", session.get_history)
    _answer(found, f"{name}: recent", lambda: session.get_recent_history(5_000).to_dict())
    _answer(found, f"{name}: compactions", lambda: [each.to_dict() for each in session.get_compactions()])
    _answer(found, f"{name}: metadata", session.get_metadata)


def _search(sessions: Sessions, query: str) -> list[str]:
    return sorted(str(result.id) for result in sessions.search(query, limit=None))


def read_all(path: Path, *, read_only: bool) -> Found:
    """Asks everything that can be asked. Raises what isn't our own error."""
    found = Found()
    try:
        sessions = Sessions(path, read_only=read_only, busy_timeout=0.1)
    except EventStoreError as error:
        found.errors.append(f"opening: {type(error).__name__}")
        return found
    try:
        listed = _answer(found, "sessions", lambda: [info.to_dict() for info in sessions.list_sessions()]) or []
        found.names = {info["session_id"] for info in listed}
        for name in sorted(found.names):
            _read_session(found, sessions.session(name))
        _answer(found, "events", lambda: [event.to_dict() for event in sessions.events()])
        for query in ("hello", "words row", "chang*"):
            _answer(found, f"search {query}", partial(_search, sessions, query))
        latest = _answer(found, "latest", lambda: sessions.latest_seq) or 0
        _answer(found, "the past", lambda: [i.to_dict() for i in sessions.at(latest // 2).list_sessions()])
        with suppress(EventStoreError):
            found.ok = sessions.verify().ok
    finally:
        with suppress(EventStoreError):
            sessions.close()
    return found


def write_some(path: Path) -> None:
    """Every work on what is there, in a session of its own: ours are the only errors."""
    try:
        sessions = Sessions(path, busy_timeout=0.1)
    except EventStoreError:
        return
    for name, work in WORKS.items():
        with suppress(EventStoreError):
            do(work, sessions.session(f"again {name}"))
        with suppress(EventStoreError):
            work.perform(sessions.session(name))
    with suppress(EventStoreError):
        sessions.close()


def check(whole: Found, found: Found) -> None:
    """A wrong answer that `verify()` doesn't know of is a silent loss. A session of another name is another session."""
    if found.ok and found.names == whole.names:
        for name, answer in whole.answers.items():
            got = found.answers.get(name)
            assert got == answer, f"{name}: verify() is clean, and it reads {got} instead of {answer}"[:3_000]


def check_files(whole_path: Path, folder: Path, cases: Iterable[tuple[str, int]]) -> list[str]:
    """Damages and reads in a child, one file after the other. Gives what is wrong: with a crash or a hang, where."""
    whole_bytes, whole = whole_path.read_bytes(), read_all(whole_path, read_only=True)
    assert not whole.errors
    assert whole.ok
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover
        os.close(reading)
        for kind, seed in cases:
            os.write(writing, f"begin {kind}, seed {seed}\n".encode())
            signal.alarm(SECONDS)
            try:
                _check_case(whole, whole_bytes, folder / "damaged.db", kind, seed)
            except BaseException as error:  # noqa: BLE001
                places = [f"{Path(f.filename).name}:{f.lineno}" for f in traceback.extract_tb(error.__traceback__)[-4:]]
                told = f"{type(error).__name__} {str(error)[:600]} {places}".replace("\n", " ")
                os.write(writing, f"wrong {kind}, seed {seed}: {told}\n".encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, errors="replace") as pipe:
        lines = pipe.read().splitlines()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    wrong = [line for line in lines if line.startswith("wrong")]
    if code:
        wrong.append(f"{'it hung' if code == -signal.SIGALRM else f'exit {code}'}: {lines[-1]}")
    return wrong


def _check_case(whole: Found, data: bytes, path: Path, kind: str, seed: int) -> None:
    for each in path.parent.glob(path.name + "*"):
        each.unlink()
    damage(data, path, kind, seed)
    found = read_all(path, read_only=seed % 2 == 0)
    if kind != ROWS:  # a row that is sound, and that somebody wrote, is the truth
        check(whole, found)
    if seed % 4 < 2:
        write_some(path)
