"""What an import of other systems' files costs, beside appending the same messages and beside reading the JSON."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import Final

from eventstore import Message
from eventstore.exchange import read
from eventstore.exchange.files import import_file
from eventstore.exchange.lists import read_values
from tests.benchmarks.bench import Bench
from tests.benchmarks.exports import FILES, ONE_CONVERSATION
from tests.benchmarks.material import messages, opened
from tests.benchmarks.measure import Line, compare_bytes, cpu_seconds, interleave

TALK = 100  # messages of a conversation
OF_A_FILE = 10  # conversations that are told as one where a file holds only one
MEASURED: Final = (
    "ChatGPT export",
    "Claude.ai export",
    "Claude Code transcript",
    "Open WebUI export",
    "Agents SDK session",
    "LangChain threads",
)
"""The two that most people have, and one of each kind: rows, records by their ids, one list, lists by lines."""


def import_export(bench: Bench) -> list[Line]:
    """Files of several formats, with the same messages."""
    return _of_each(bench, MEASURED)


def import_formats(bench: Bench) -> list[Line]:
    """Files of all formats, with the same messages."""
    return _of_each(bench, FILES)


def _of_each(bench: Bench, names: Iterable[str]) -> list[Line]:
    talks = _talks(bench.sizes.history)
    path = bench.folder.path / "export"
    lines: list[Line] = []
    for what in names:
        path.write_text(FILES[what](talks))
        lines += _lines(bench, what, path)
    path.unlink()
    return lines


def _talks(number: int) -> list[list[Message]]:
    given = messages(number)
    return [given[start : start + TALK] for start in range(0, number, TALK)]


def _lines(bench: Bench, what: str, path: Path) -> list[Line]:
    talks = [[row.message for row in each.rows] for each in read(path)]  # as they are stored, metadata and all
    what = f"{what} of {sum(map(len, talks)):,} messages"
    runs = bench.sizes.few_runs
    store = bench.folder.new_file()

    def imported() -> float:
        with opened(bench.folder.new_file()) as sessions:
            return cpu_seconds(lambda: [report for _, report in import_file(sessions, path)])

    def appended() -> float:
        with opened(bench.folder.new_file()) as sessions:
            names = count()
            return cpu_seconds(lambda: [sessions.session(f"{next(names)}").append_messages(talk) for talk in talks])

    with opened(store) as sessions:
        list(import_file(sessions, path))

        def again() -> float:
            return cpu_seconds(lambda: [report for _, report in import_file(sessions, path)])

        def parsed() -> float:
            return cpu_seconds(lambda: sum(1 for _ in read_values(path, [])))

        return [
            interleave(f"import of a {what}", "append_messages", imported, appended, runs=runs, target=3),
            interleave("the same once more", "parsing its JSON", again, parsed, runs=runs, target=1.5),
        ]


def import_memory(bench: Bench) -> list[Line]:
    """The peak of memory of an import of many conversations, against that of a quarter of them."""
    number = bench.sizes.long
    return [
        compare_bytes(
            f"memory: import of {what}, {number:,} messages",
            f"that of {number // 4:,}",
            _peak(bench, what, number),
            max(_peak(bench, what, number // 4), 1),
            target=1.5,
        )
        for what in FILES
    ]


def _peak(bench: Bench, what: str, number: int) -> int:
    """Bytes, of a process of its own."""
    folder = bench.folder.new_file()
    folder.mkdir()
    talks = _talks(number)
    together = OF_A_FILE if what in ONE_CONVERSATION else len(talks)
    for at in range(0, len(talks), together):
        first = talks[at][0]["parts"][0]
        first["text"] = f"{at}: {first['text']}"  # lists without an id are named by what they begin with
        text = FILES[what](talks[at : at + together])
        (folder / f"{at}").write_text(text.replace('"long"', f'"long {at}"'))
    command = [sys.executable, "-m", "tests.benchmarks.memory", "import", str(folder)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
