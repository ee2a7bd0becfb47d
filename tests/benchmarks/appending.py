"""What an append costs, beside an INSERT of the same text and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count, pairwise
from typing import TypeAlias

import apsw

from eventstore import ImportRow, Message, Session
from tests.benchmarks.bench import Bench
from tests.benchmarks.material import Durability, insert, insert_together, messages, opened, raw, serialized
from tests.benchmarks.measure import Line, interleave, seconds

NOW = datetime(2026, 1, 1, tzinfo=UTC)

Write: TypeAlias = Callable[[Session, list[Message]], object]
Insert: TypeAlias = Callable[[apsw.Connection, list[str]], object]


def append_full(bench: Bench) -> list[Line]:
    """One message, one fsync."""
    what = "append_message, durability full"
    return [_compare(bench, what, _one_by_one, insert, bench.sizes.full_appends, durability="full", target=1.4)]


def append_normal(bench: Bench) -> list[Line]:
    """One message, no fsync but a checkpoint's."""
    what = "append_message, durability normal"
    return [_compare(bench, what, _one_by_one, insert, bench.sizes.normal_appends, durability="normal", target=5)]


def append_batch(bench: Bench) -> list[Line]:
    """Many messages in one transaction, per message. The target is about a store as it is opened by default."""
    sizes = bench.sizes
    what = f"append_messages of {sizes.batch:,}, durability"
    return [
        _compare(bench, f"{what} full", _together, insert_together, *sizes.batches, durability="full", target=6),
        _compare(bench, f"{what} normal", _together, insert_together, *sizes.batches, durability="normal"),
    ]


def import_batch(bench: Bench) -> list[Line]:
    """Many messages with their own times and parents, per message."""
    sizes = bench.sizes
    what = f"import_messages of {sizes.batch:,}, durability normal"
    return [_compare(bench, what, _imported, insert_together, *sizes.batches, durability="normal")]


def _one_by_one(session: Session, given: list[Message]) -> None:
    for message in given:
        session.append_message(message)


def _together(session: Session, given: list[Message]) -> None:
    session.append_messages(given)


def _imported(session: Session, given: list[Message]) -> None:
    rows = [ImportRow(given[0], parent_id=None, created_at=NOW)]
    rows += [ImportRow(message, parent_id=parent["id"], created_at=NOW) for parent, message in pairwise(given)]
    session.import_messages(rows)


def _compare(
    bench: Bench,
    what: str,
    write: Write,
    insert: Insert,
    number: int,
    times: int = 1,
    *,
    durability: Durability,
    target: float | None = None,
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
        session = sessions.session()
        write(session, messages(2, seed=1))

        def ours() -> float:
            given = [messages(number, seed=next(seeds)) for _ in range(times)]
            texts[:] = [[serialized(message) for message in some] for some in given]
            return seconds(lambda: [write(session, some) for some in given]) / (number * times)

        def floor() -> float:
            return seconds(lambda: [insert(connection, some) for some in texts]) / (number * times)

        floor_is = "an INSERT of the text" if insert is not insert_together else "INSERTs in one transaction"
        return interleave(what, floor_is, ours, floor, runs=bench.sizes.runs, target=target)
