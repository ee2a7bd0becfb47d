"""What reading a whole conversation costs, in time and in memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.benchmarks.bench import Bench
from tests.benchmarks.material import MESSAGE_BYTES, opened, raw, scan
from tests.benchmarks.measure import Line, compare_bytes, interleave, seconds, seconds_each

NEWEST = 50
MOST_MEMORY = 32 * 1024 * 1024


def get_history(bench: Bench) -> list[Line]:
    """A conversation as one list."""
    number = bench.sizes.history
    with (
        opened(bench.conversations.store(number)) as sessions,
        raw(bench.conversations.raw(number)) as connection,
    ):
        session = sessions.session()
        return [
            interleave(
                f"get_history of {number:,}",
                "scan + json.loads",
                lambda: seconds(session.get_history),
                lambda: seconds(lambda: scan(connection)),
                runs=bench.sizes.runs,
                target=0.7,
            )
        ]


def newest(bench: Bench) -> list[Line]:
    """The newest messages of a long conversation, against the same rows."""
    number = bench.sizes.history
    with (
        opened(bench.conversations.store(number)) as sessions,
        raw(bench.conversations.raw(number)) as connection,
    ):
        session = sessions.session()
        rows = f"SELECT text FROM body ORDER BY seq DESC LIMIT {NEWEST}"

        def ours() -> object:
            return session.get_recent_history(max_messages=NEWEST).messages

        def floor() -> object:
            return [json.loads(text) for (text,) in reversed(connection.execute(rows).fetchall())]

        assert ours() == floor()
        return [
            interleave(
                f"get_recent_history(max_messages={NEWEST}) of {number:,}",
                "SELECT of the same rows + json.loads",
                lambda: seconds_each([ours] * bench.sizes.calls),
                lambda: seconds_each([floor] * bench.sizes.calls),
                runs=bench.sizes.runs,
                target=1.2,
            )
        ]


def history_memory(bench: Bench) -> list[Line]:
    """The peak of a process that reads a conversation to its end and keeps none of it."""
    number = bench.sizes.long
    store, floor = bench.conversations.store(number), bench.conversations.raw(number)
    return [
        compare_bytes(
            f"peak memory of {way} over {number:,} messages of {MESSAGE_BYTES} bytes",
            "scan + json.loads, one by one",
            _peak(way, store),
            _peak("raw", floor),
            MOST_MEMORY,
            "ours",
        )
        for way in ("history()", "history(newest_first=True)")
    ]


def _peak(way: str, path: Path) -> int:
    command = [sys.executable, "-m", "tests.benchmarks.memory", way, str(path)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(json.loads(answer.stdout))
