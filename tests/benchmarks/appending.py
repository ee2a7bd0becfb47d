"""What an append costs, beside an INSERT of the same text and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count, pairwise
from typing import TypeAlias

import apsw

from eventstore import ImportRow, Message, Sessions
from tests.benchmarks.bench import Bench
from tests.benchmarks.material import Durability, insert, insert_together, messages, opened, raw, serialized
from tests.benchmarks.measure import Line, interleave, seconds

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TOLD = 10  # messages in each of many conversations

Write: TypeAlias = Callable[[Sessions, list[Message]], object]
Insert: TypeAlias = Callable[[apsw.Connection, list[str]], object]


def append_full(bench: Bench) -> list[Line]:
    """One message, one fsync. Many short runs: a disk's pace changes from second to second."""
    sizes = bench.sizes
    what = "append_message, durability full"
    times = (sizes.full_appends, 1, sizes.many_runs)
    return [_compare(bench, what, _one_by_one, insert, *times, durability="full", target=1.25)]


def append_normal(bench: Bench) -> list[Line]:
    """One message, no fsync but a checkpoint's."""
    what = "append_message, durability normal"
    times = (bench.sizes.normal_appends, 1, bench.sizes.runs)
    return [_compare(bench, what, _one_by_one, insert, *times, durability="normal", target=3)]


def append_batch(bench: Bench) -> list[Line]:
    """Many messages in one transaction, per message. The target is about a store as it is opened by default."""
    sizes = bench.sizes
    what = f"append_messages of {sizes.batch:,}, durability"
    times = (sizes.batch, sizes.batches_a_run, sizes.runs)
    return [
        _compare(bench, f"{what} full", _together, insert_together, *times, durability="full", target=4),
        _compare(bench, f"{what} normal", _together, insert_together, *times, durability="normal"),
    ]


def import_batch(bench: Bench) -> list[Line]:
    """Many messages with their own times and parents, per message."""
    sizes = bench.sizes
    what = f"import_messages of {sizes.batch:,}, durability normal"
    times = (sizes.batch, sizes.batches_a_run, sizes.runs)
    return [_compare(bench, what, _imported, insert_together, *times, durability="normal")]


def append_spread(bench: Bench) -> list[Line]:
    """One message, each into another of very many conversations, and many into a new one among them."""
    sizes = bench.sizes
    among = f"among {sizes.sessions:,} conversations, durability normal"

    def prepare(sessions: Sessions) -> None:
        given = messages(sizes.sessions * TOLD, seed=1)
        with sessions.transaction():
            for number in range(sizes.sessions):
                sessions.session(f"{number}").append_messages(given[number * TOLD : (number + 1) * TOLD])

    def spread(sessions: Sessions, given: list[Message]) -> None:
        for message in given:
            sessions.session(f"{int(message['id'][:8], 16) % sizes.sessions}").append_message(message)

    def new(sessions: Sessions, given: list[Message]) -> None:
        sessions.session(given[0]["id"]).append_messages(given)

    one = (sizes.normal_appends, 1, sizes.runs)
    many = (sizes.batch, sizes.batches_a_run, sizes.runs)
    return [
        _compare(bench, f"append_message {among}", spread, insert, *one, durability="normal", prepare=prepare),
        _compare(
            bench, f"append_messages of {sizes.batch:,} {among}", new, insert_together, *many,
            durability="normal", prepare=prepare,
        ),
    ]  # fmt: skip


def _one_by_one(sessions: Sessions, given: list[Message]) -> None:
    append = sessions.session().append_message
    for message in given:
        append(message)


def _together(sessions: Sessions, given: list[Message]) -> None:
    sessions.session().append_messages(given)


def _imported(sessions: Sessions, given: list[Message]) -> None:
    rows = [ImportRow(given[0], parent_id=None, created_at=NOW)]
    rows += [ImportRow(message, parent_id=parent["id"], created_at=NOW) for parent, message in pairwise(given)]
    sessions.session().import_messages(rows)


def _told_something(sessions: Sessions) -> None:
    sessions.session().append_messages(messages(2, seed=1))


def _compare(
    bench: Bench,
    what: str,
    write: Write,
    insert: Insert,
    number: int,
    times: int,
    runs: int,
    *,
    durability: Durability,
    target: float | None = None,
    prepare: Callable[[Sessions], object] = _told_something,
) -> Line:
    """Time per message of `write`, against `insert` of the same texts: in each run `times` times `number` messages.

    Both files grow from run to run.
    """
    seeds = count(2)
    texts: list[list[str]] = []
    files = bench.folder
    with (
        opened(files.new_file(), durability=durability) as sessions,
        raw(files.new_file(), durability) as connection,
    ):
        prepare(sessions)

        def ours() -> float:
            given = [messages(number, seed=next(seeds)) for _ in range(times)]
            texts[:] = [[serialized(message) for message in some] for some in given]
            return seconds(lambda: [write(sessions, some) for some in given]) / (number * times)

        def floor() -> float:
            return seconds(lambda: [insert(connection, some) for some in texts]) / (number * times)

        floor_is = "an INSERT of the text" if insert is not insert_together else "INSERTs in one transaction"
        return interleave(what, floor_is, ours, floor, runs=runs, target=target)
