"""Stores that are large: many sessions, a long session, a path of many forks. What they cost, and are they whole?"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from eventstore import ImportRow, Message, Session, Sessions

WHEN = datetime(2026, 1, 1, tzinfo=UTC)
TEXT = "a message of a few words, as people write them. " * 3


def message(message_id: str, text: str = TEXT) -> Message:
    return {"id": message_id, "role": "user", "parts": [{"type": "text", "text": text}]}


@contextmanager
def timed(counted: Counter[str], what: str) -> Iterator[None]:
    """Counts the milliseconds that the block takes."""
    began = time.perf_counter()
    yield
    counted[f"ms {what}"] += round((time.perf_counter() - began) * 1000)


def many_sessions(sessions: Sessions, count: int, counted: Counter[str]) -> None:
    """So many sessions of one file: listed by their newest activity, found by their names, each written to."""
    with timed(counted, "write"):
        for start in range(0, count, 500):
            with sessions.transaction():
                for number in range(start, min(start + 500, count)):
                    sessions.session(f"session {number}").append_messages([message("a"), message("b")])
    with timed(counted, "list all"):
        listed = [info.session_id for info in sessions.list_sessions()]
    assert listed == [f"session {number}" for number in reversed(range(count))]
    with timed(counted, "list 20"):
        assert len(list(sessions.list_sessions(limit=20))) == 20
    with timed(counted, "append"):
        sessions.session("session 0").append_message(message("c"))
    assert next(sessions.list_sessions()).session_id == "session 0"
    assert [info.messages for info in sessions.list_sessions(prefix="session 77")][-1] == 2


def long_session(sessions: Sessions, count: int, counted: Counter[str]) -> None:
    """A session of so many messages: what costs the same as in a short one, and all that reads it whole."""
    session = sessions.session()
    with timed(counted, "import"):
        rows = (
            ImportRow(message(f"m{n}"), parent_id=f"m{n - 1}" if n else None, created_at=WHEN) for n in range(count)
        )
        assert session.import_messages(rows).imported == count
    _check_end(session, f"m{count - 1}", counted)
    with timed(counted, "stream all"):
        assert sum(1 for _ in session.history()) == count + 1


def many_forks(sessions: Sessions, count: int, counted: Counter[str]) -> None:
    """A path on which another branch leaves at every message."""
    session = sessions.session()
    with timed(counted, "import"):

        def rows() -> Iterator[ImportRow]:
            yield ImportRow(message("m0"), parent_id=None, created_at=WHEN)
            for parent, number in pairwise(range(count + 1)):
                yield ImportRow(message(f"beside {number}", ""), parent_id=f"m{parent}", created_at=WHEN)
                yield ImportRow(message(f"m{number}", ""), parent_id=f"m{parent}", created_at=WHEN)

        session.import_messages(rows())
    assert [each["id"] for each in session.get_branches(f"m{count // 2}")] == [
        f"beside {count // 2 + 1}",
        f"m{count // 2 + 1}",
    ]
    _check_end(session, f"m{count}", counted)
    with timed(counted, "history"):
        assert len(session.get_history()) == count + 2
    with timed(counted, "leaves"):
        assert len(session.get_leaves()) == count + 1


def _check_end(session: Session, leaf: str, counted: Counter[str]) -> None:
    with timed(counted, "recent 50"):
        assert session.get_recent_history(max_messages=50).messages[-1]["id"] == leaf
    with timed(counted, "append"):
        session.append_message(message("after"))
    with timed(counted, "branch and delete"):
        session.append_message(message("gone"), parent_id=leaf)
        assert session.delete_messages(["gone"]) == ["gone"]
    latest = session.get_latest_leaf()
    assert latest is not None
    assert latest["id"] == "after"


SIZES: tuple[tuple[str, int, Callable[[Sessions, int, Counter[str]], None]], ...] = (
    ("sessions", 10_000, many_sessions),
    ("forks on one path", 100_000, many_forks),
    ("messages in one session", 1_000_000, long_session),
)


def build(path: Path, number: int, size: int | None = None) -> Counter[str]:
    """Makes one of `SIZES` (or a smaller one), checks it, verifies it."""
    what, full, make = SIZES[number]
    count = size or full
    counted: Counter[str] = Counter({what: count})
    with Sessions(path, durability="normal") as sessions:
        make(sessions, count, counted)
        with timed(counted, "verify"):
            report = sessions.verify()
        assert report.ok, report.problems
    with timed(counted, "open"), Sessions(path) as sessions:
        assert sessions.latest_seq >= count
    counted["MB of file"] = round(path.stat().st_size / 1_000_000)
    return counted


def step(folder: Path, seed: int) -> Counter[str]:
    """A large store: many sessions, a path of many forks, or a session of many messages, made, read and verified."""
    return build(folder / "store.db", seed % len(SIZES))
