"""`python -m tests.benchmarks profile`: where the time of an append and of a read goes.

- *statements*: for an append the time inside apsw's calls, BEGIN and COMMIT too, as cProfile counts it in a run of its
  own; for a read the same statements with the same values again, their rows fetched and nothing done with them.
- *JSON*: what orjson alone takes to read the same texts; for an append to make them too, since each is read again as it
  is made, and compared.
- *Python*: the rest of the call.
- *with a listener*: how much more the same call takes with one that does nothing.
"""

from __future__ import annotations

import argparse
import cProfile
from collections.abc import Callable
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

import apsw
import attrs
import orjson

from eventstore import Message, Sessions
from tests.benchmarks.bench import Bench
from tests.benchmarks.material import messages, opened, serialized
from tests.benchmarks.measure import FULL, QUICK, seconds
from tests.benchmarks.pages import DESIGN, replace, said
from tests.benchmarks.table import amount

NEWEST = 50


@attrs.frozen
class Round:
    """What one round said, in seconds of one call, or of one message of it."""

    whole: float
    statements: float
    number: float  # of calls of SQLite by one of ours
    json: float
    heard: float | None = None  # the whole, with a listener


@attrs.frozen
class Profile:
    """A call's time, and its parts' shares."""

    what: str
    whole: float
    statements: float
    number: float
    json: float
    signals: float | None

    @property
    def python(self) -> float:
        """The share that is neither SQLite's nor JSON's."""
        return max(1 - self.statements - self.json, 0)


def _profile(what: str, rounds: list[Round]) -> Profile:
    """The least of all rounds, of the whole and of each part: what a machine that others use too disturbed least."""
    whole = min(each.whole for each in rounds)
    heard = [each.heard for each in rounds if each.heard is not None]
    return Profile(
        what,
        whole,
        min(each.statements for each in rounds) / whole,
        rounds[0].number,
        min(each.json for each in rounds) / whole,
        min(heard) / whole - 1 if heard else None,
    )


def _inside_apsw(work: Callable[[], object]) -> tuple[float, int]:
    """Seconds that a run spends in apsw, and how many statements it gives to it."""
    profile = cProfile.Profile()
    profile.runcall(work)
    found = [entry for entry in profile.getstats() if "apsw" in str(entry.code)]
    return sum(entry.inlinetime for entry in found), sum(
        entry.callcount for entry in found if "execute" in str(entry.code)
    )  # fmt: skip


def _again(connection: apsw.Connection, work: Callable[[], object], times: int) -> tuple[float, int]:
    """Seconds that the statements of a run take alone, run so many times, and their number."""
    ran: list[tuple[str, Any]] = []

    def note(_: apsw.Cursor, sql: str, values: Any) -> bool:
        ran.append((sql, values))
        return True

    connection.exec_trace = note
    work()
    connection.exec_trace = None

    def again() -> None:
        for _ in range(times):
            for sql, values in ran:
                connection.execute(sql, values).fetchall()

    return seconds(again) / times, len(ran)


def _append(bench: Bench, batch: int) -> Profile:
    """`batch` messages a call; of one message each if it is 1."""
    sizes = bench.sizes
    number = max(sizes.normal_appends // batch, 1) * batch
    seeds = count(1)
    with opened(bench.folder.new_file()) as store:

        def write() -> float:
            made = messages(number, next(seeds))
            return seconds(lambda: _write(store, made, batch)) / number

        def one() -> Round:
            whole = write()
            made = messages(number, next(seeds))
            statements, times = _inside_apsw(lambda: _write(store, made, batch))
            encoding = seconds(lambda: [orjson.loads(orjson.dumps(message)) for message in made])
            with store.subscribe(lambda _: None):
                heard = write()
            return Round(whole, statements / number, times * batch / number, encoding / number, heard)

        write()
        what = "append_message" if batch == 1 else f"append_messages of {batch:,}"
        return _profile(f"{what}, a message", [one() for _ in range(sizes.runs)])


def _write(store: Sessions, made: list[Message], batch: int) -> None:
    session = store.session()
    if batch == 1:
        for message in made:
            session.append_message(message)
    else:
        for start in range(0, len(made), batch):
            session.append_messages(made[start : start + batch])


def _read(bench: Bench, what: str, number: int, calls: int, read: Callable[[Sessions], object]) -> Profile:
    """A call that reads so many messages."""
    texts = [serialized(message) for message in messages(number)]
    with opened(bench.conversations.store(bench.sizes.medium)) as store:
        with store._store.database.read() as connection:
            reader = connection  # the next reads take the same one

        def work() -> float:
            return seconds(lambda: [read(store) for _ in range(calls)]) / calls

        def one() -> Round:
            whole = work()
            statements, times = _again(reader, lambda: read(store), calls)
            decoding = seconds(lambda: [[orjson.loads(text) for text in texts] for _ in range(calls)]) / calls
            return Round(whole, statements, times, decoding)

        work()
        return _profile(what, [one() for _ in range(bench.sizes.runs)])


def profiles(bench: Bench) -> list[Profile]:
    """Each call."""
    number = bench.sizes.medium
    newest = min(NEWEST, number)
    return [
        _append(bench, 1),
        _append(bench, bench.sizes.batch),
        _read(bench, f"get_recent_history(max_messages={newest})", newest, bench.sizes.calls,
              lambda store: store.session().get_recent_history(max_messages=newest)),
        _read(bench, f"get_history of {number:,}", number, 1, lambda store: store.session().get_history()),
    ]  # fmt: skip


def table(found: list[Profile]) -> list[str]:
    """As Markdown."""
    lines = ["| | whole | statements | JSON | Python | with a listener |", "| --- |" + " ---: |" * 5]
    for each in found:
        statements = f"{each.statements:.0%}, {each.number:.3g} of them"
        heard = "" if each.signals is None else f"{each.signals:+.0%}"
        cells = (amount(each.whole, "s"), statements, f"{each.json:.0%}", f"{each.python:.0%}", heard)
        lines.append(f"| `{each.what}` | {' | '.join(cells)} |")
    return lines


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks profile", description="Where time goes.")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, for a first look")
    parser.add_argument("--write", action="store_true", help="put the table into docs/design.md")
    parser.add_argument("--folder", type=Path, default=Path(gettempdir()), help="a folder on the disk to measure")
    chosen = parser.parse_args(arguments)
    with TemporaryDirectory(prefix="benchmarks-", dir=chosen.folder) as path:
        lines = table(profiles(Bench(QUICK if chosen.quick else FULL, Path(path))))
    print("\n".join(lines))
    if chosen.write:
        replace(DESIGN, "profile", [said(), "", *lines])
    return 0
