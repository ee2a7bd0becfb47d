"""What an event costs a mirror, in entries read: as much in any list, unless its owner edited more than the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from eventstore import Message
from projections import mirror
from projections.positions import WATCHED
from tests.unit.recorded import Plain, Recorded, message, pending

Transform: TypeAlias = Callable[[Message], Any] | None
Act: TypeAlias = Callable[[Recorded, Plain, int], None]


def reads_per_event(
    size: int, transform: Callable[[Message], Any] | None, act: Callable[[Recorded, Plain, int], None]
) -> int:
    """The most that one of many events read, of a list of this size."""
    untyped: Any = mirror
    rows, source = Plain(), Recorded()
    untyped(source.session, rows, transform=transform)
    for number in range(size):
        source.append(message(f"m{number}"))
    most = 0
    for turn in range(40):
        rows.reads = 0
        act(source, rows, turn)
        most = max(most, rows.reads)
    return most


def append(source: Recorded, rows: Plain, turn: int) -> None:
    source.append(message(f"new {turn}"))


def update(source: Recorded, rows: Plain, turn: int) -> None:
    source.update(message(f"m{turn}", "new"))


def update_what_is_not_there(source: Recorded, rows: Plain, turn: int) -> None:
    source.update(message(f"absent {turn}"))


def delete(source: Recorded, rows: Plain, turn: int) -> None:
    source.delete([f"m{2 * turn}"])


def confirm(source: Recorded, rows: Plain, turn: int) -> None:
    rows.append(pending(f"new {turn}"))
    rows.append(pending(f"never {turn}"))
    source.append(message(f"new {turn}"))
    del rows[len(rows) - 1]


def give_up(source: Recorded, rows: Plain, turn: int) -> None:
    rows.append(pending(f"new {turn}"))
    source.update(message("m5", f"{turn}"))
    del rows[len(rows) - 1]
    source.append(message(f"new {turn}"))


def remove_the_last_and_append_it_again(source: Recorded, rows: Plain, turn: int) -> None:
    del rows[len(rows) - 1]
    source.append(message("last"))


@pytest.mark.parametrize("transform", [None, lambda m: [m["id"]]], ids=["messages", "transformed"])
@pytest.mark.parametrize(
    "act",
    [append, update, update_what_is_not_there, delete, confirm, give_up, remove_the_last_and_append_it_again],
)
def test_the_cost_of_an_event_does_not_grow_with_the_list(transform: Transform, act: Act) -> None:
    few, many = reads_per_event(100, transform, act), reads_per_event(2_000, transform, act)
    assert many <= few + 4
    assert many <= 5 * WATCHED


def test_an_edit_elsewhere_costs_one_pass() -> None:
    rows, source = Plain(), Recorded()
    mirror(source.session, rows)
    for number in range(2_000):
        source.append(message(f"m{number}"))
    edits: list[Callable[[], object]] = [
        lambda: rows.insert(0, pending("p")),
        lambda: rows.rows.reverse(),
        lambda: rows.__delitem__(1_000),
    ]
    for edit in edits:
        edit()
        rows.reads = 0
        source.update(message("m3", "new"))
        assert 1_000 < rows.reads < 3 * 2_000
        rows.reads = 0
        source.update(message("m3", "newer"))
        assert rows.reads <= 2 * WATCHED


def test_deleting_one_by_one_costs_far_less_than_a_pass_each() -> None:
    rows, source = Plain(), Recorded()
    mirror(source.session, rows)
    for number in range(2_000):
        source.append(message(f"m{number}"))
    rows.reads = 0
    for number in range(0, 2_000, 2):
        source.delete([f"m{number}"])
    assert rows.reads <= 1_000 * 2 * WATCHED
    source.update(message("m1999", "new"))
    assert [row["id"] for row in rows.rows] == [f"m{number}" for number in range(1, 2_000, 2)]
    assert rows.rows[-1] == message("m1999", "new")


def test_a_list_that_was_full_is_read_before_the_first_event() -> None:
    rows, source = Plain(message(f"m{number}") for number in range(2_000)), Recorded()
    mirror(source.session, rows)
    rows.reads = 0
    source.update(message("m1000", "new"))
    assert rows.reads <= 2 * WATCHED


def test_an_id_that_occurs_twice_costs_a_pass_until_it_no_longer_does() -> None:
    rows, source = Plain(), Recorded()
    mirror(source.session, rows)
    for number in range(2_000):
        source.append(message(f"m{number}"))
    rows.append(pending("m3"))
    source.update(message("m3", "new"))
    del rows[2_000]
    source.update(message("m3", "newer"))
    rows.reads = 0
    source.update(message("m3", "newest"))
    assert rows.reads <= 2 * WATCHED
    assert rows.rows[3] == message("m3", "newest")
