"""The file, and calls that go over a whole store."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import apsw

from eventstore import Sessions
from tests.benchmarks.bench import Bench
from tests.benchmarks.material import MESSAGE_BYTES, messages, opened, raw, scan
from tests.benchmarks.measure import Line, compare_bytes, interleave, seconds

RECENT_BYTES = 64 * 1024
_SCAN = "scan + json.loads"


def disk(bench: Bench) -> list[Line]:
    """The file, per message."""
    number = bench.sizes.history
    store, floor = bench.conversations.store(number), bench.conversations.raw(number)
    what = f"file, per message of {MESSAGE_BYTES} bytes"
    return [compare_bytes(what, "the raw file", _size(store) / number, _size(floor) / number, 1.4)]


def _size(path: Path) -> int:
    return path.stat().st_size


def list_sessions(bench: Bench) -> list[Line]:
    """Every session of a store, without content."""
    number = bench.sizes.sessions
    files = bench.folder
    with opened(files.new_file()) as sessions, raw(files.new_file()) as connection:
        connection.execute("CREATE TABLE session (name TEXT PRIMARY KEY, last INTEGER, messages INTEGER, size INTEGER)")
        with sessions.transaction(), connection:
            for turn, message in enumerate(messages(number)):
                sessions.session(f"conversation {turn}").append_message(message)
                row = (f"conversation {turn}", turn, 1, MESSAGE_BYTES)
                connection.execute("INSERT INTO session VALUES (?, ?, ?, ?)", row)
        ordered = "SELECT * FROM session ORDER BY last DESC"
        return [
            interleave(
                f"list_sessions over {number:,}",
                "SELECT of such rows",
                lambda: seconds(lambda: list(sessions.list_sessions())),
                lambda: seconds(lambda: connection.execute(ordered).fetchall()),
                runs=bench.sizes.few_runs,
            )
        ]


def whole_store(bench: Bench) -> list[Line]:
    """The log replayed into a view."""
    number = bench.sizes.history

    def at(sessions: Sessions) -> None:
        with sessions.at(sessions.latest_seq) as view:
            view.session().get_latest_leaf()

    with (
        opened(bench.conversations.store(number)) as sessions,
        raw(bench.conversations.raw(number)) as connection,
    ):
        return [
            interleave(
                f"at() and a first read, {number:,} messages",
                _SCAN,
                lambda: seconds(partial(at, sessions)),
                lambda: seconds(partial(scan, connection)),
                runs=bench.sizes.few_runs,
            )
        ]


def first_read(bench: Bench) -> list[Line]:
    """What a process pays before it shows the newest messages: open, read, close."""
    number = bench.sizes.long
    store, floor = bench.conversations.store(number), bench.conversations.raw(number)

    def ours() -> None:
        with opened(store) as sessions:
            sessions.session().get_recent_history(RECENT_BYTES)

    def theirs() -> None:
        with raw(floor) as connection:
            _newest(connection)

    return [
        interleave(
            f"open, get_recent_history(64 KiB), close, at {number:,} messages",
            "the same, raw",
            lambda: seconds(ours),
            lambda: seconds(theirs),
            runs=bench.sizes.runs,
        )
    ]


def _newest(connection: apsw.Connection) -> None:
    rows: list[tuple[Any, ...]] = connection.execute(
        "SELECT text FROM body ORDER BY seq DESC LIMIT ?", (RECENT_BYTES // MESSAGE_BYTES,)
    ).fetchall()
    for (text,) in reversed(rows):
        json.loads(text)
