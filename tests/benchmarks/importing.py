"""What an import of other systems' files costs, beside appending the same messages and beside reading the JSON."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Final

from eventstore.exchange import read
from eventstore.exchange.files import import_file
from eventstore.exchange.lists import read_values
from tests.benchmarks.bench import Bench
from tests.benchmarks.exports import FILES
from tests.benchmarks.material import messages, opened
from tests.benchmarks.measure import Line, interleave, seconds

TALK = 100  # messages of a conversation
MEASURED: Final = (
    "ChatGPT export",
    "Claude Code transcript",
    "Open WebUI export",
    "Agents SDK session",
    "LangChain threads",
)
"""One of each kind: a JSON array of trees, rows, records by their ids, items of one conversation, lists by lines."""


def import_export(bench: Bench) -> list[Line]:
    """Files of several formats, with the same messages."""
    number = bench.sizes.history
    given = messages(number)
    talks = [given[start : start + TALK] for start in range(0, number, TALK)]
    path = bench.folder.path / "export"
    lines: list[Line] = []
    for what in MEASURED:
        path.write_text(FILES[what](talks))
        lines += _lines(bench, what, path)
    path.unlink()
    return lines


def _lines(bench: Bench, what: str, path: Path) -> list[Line]:
    talks = [[row.message for row in each.rows] for each in read(path)]  # as they are stored, metadata and all
    what = f"{what} of {sum(map(len, talks)):,} messages"
    runs = bench.sizes.few_runs
    store = bench.folder.new_file()

    def imported() -> float:
        with opened(bench.folder.new_file()) as sessions:
            return seconds(lambda: [report for _, report in import_file(sessions, path)])

    def appended() -> float:
        with opened(bench.folder.new_file()) as sessions:
            names = count()
            return seconds(lambda: [sessions.session(f"{next(names)}").append_messages(talk) for talk in talks])

    with opened(store) as sessions:
        list(import_file(sessions, path))

        def again() -> float:
            return seconds(lambda: [report for _, report in import_file(sessions, path)])

        def parsed() -> float:
            return seconds(lambda: sum(1 for _ in read_values(path, [])))

        return [
            interleave(f"import of a {what}", "append_messages", imported, appended, runs=runs, target=3),
            interleave("the same once more", "parsing its JSON", again, parsed, runs=runs, target=1.5),
        ]
