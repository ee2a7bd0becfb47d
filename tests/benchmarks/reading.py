"""What reading a whole conversation costs, in time and in memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.benchmarks.bench import Bench
from tests.benchmarks.material import MESSAGE_BYTES, opened, raw, scan
from tests.benchmarks.measure import Line, compare_bytes, interleave, seconds

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
                target=1.5,
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
