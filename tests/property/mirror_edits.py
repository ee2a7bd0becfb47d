"""What the owner of a list may do to it between two events. Each edit takes the list, two numbers and new entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
from hypothesis import strategies as st

Rows = list[Any]
Edit = Callable[[Rows, int, int, Rows], None]


def push(rows: Rows, _first: int, _second: int, new: Rows) -> None:
    rows.extend(new)


def pop(rows: Rows, first: int, _second: int, _new: Rows) -> None:
    del rows[max(0, len(rows) - 1 - first % 3) :]


def replace_end(rows: Rows, first: int, _second: int, new: Rows) -> None:
    """Other rows at the end, as many as there were."""
    start = max(0, len(rows) - 1 - first % 4)
    rows[start:] = (new * 4)[: len(rows) - start]


def insert(rows: Rows, first: int, _second: int, new: Rows) -> None:
    place = first % (len(rows) + 1)
    rows[place:place] = new


def delete(rows: Rows, first: int, second: int, _new: Rows) -> None:
    place = first % (len(rows) + 1)
    del rows[place : place + 1 + second % 3]


def exchange(rows: Rows, first: int, _second: int, new: Rows) -> None:
    if rows:
        rows[first % len(rows)] = new[0]


def assign(rows: Rows, first: int, second: int, new: Rows) -> None:
    start, end = sorted((first % (len(rows) + 1), second % (len(rows) + 1)))
    rows[start:end] = new


def assign_same_length(rows: Rows, first: int, second: int, new: Rows) -> None:
    start, end = sorted((first % (len(rows) + 1), second % (len(rows) + 1)))
    rows[start:end] = (new * len(rows))[: end - start]


def swap(rows: Rows, first: int, second: int, _new: Rows) -> None:
    if rows:
        one, other = first % len(rows), second % len(rows)
        rows[one], rows[other] = rows[other], rows[one]


def move(rows: Rows, first: int, second: int, _new: Rows) -> None:
    if rows:
        row = rows.pop(first % len(rows))
        rows.insert(second % (len(rows) + 1), row)


def reverse(rows: Rows, _first: int, _second: int, _new: Rows) -> None:
    rows.reverse()


def sort(rows: Rows, _first: int, _second: int, _new: Rows) -> None:
    rows.sort(key=repr)


def rotate(rows: Rows, first: int, _second: int, _new: Rows) -> None:
    if rows:
        place = first % len(rows)
        rows[:] = rows[place:] + rows[:place]


def copy_all(rows: Rows, _first: int, _second: int, _new: Rows) -> None:
    """As an owner does that never changes a row in place."""
    rows[:] = [dict(row) if isinstance(row, dict) else row for row in rows]


def rename(rows: Rows, first: int, _second: int, new: Rows) -> None:
    """A row's id, changed in place."""
    row = rows[first % len(rows)] if rows else None
    if isinstance(row, dict) and isinstance(new[0], dict):
        row["id"] = new[0].get("id")


def repeat(rows: Rows, first: int, _second: int, _new: Rows) -> None:
    if rows:
        rows.append(rows[first % len(rows)])


def empty(rows: Rows, _first: int, _second: int, _new: Rows) -> None:
    rows.clear()


AT_THE_END: list[Edit] = [push, pop, replace_end]
ANYWHERE: list[Edit] = [insert, delete, swap, move, reverse, sort, rotate, copy_all, empty]
HIDDEN: list[Edit] = [exchange, assign, assign_same_length, rename, repeat]
"""Edits that leave no trace but in the row itself."""

PLACES = st.integers(0, 10_000)


@attrs.frozen
class Change:
    """One edit, at places that are taken modulo the length of the list, with rows of the owner's."""

    edit: Edit
    first: int
    second: int
    new: Rows

    def __call__(self, rows: Rows) -> None:
        self.edit(rows, self.first, self.second, [dict(row) if isinstance(row, dict) else row for row in self.new])


def owners_rows(message_ids: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """Pending rows, and what else an owner may keep in the list."""
    return st.one_of(
        st.builds(lambda message_id: {"id": message_id, "role": "user", "parts": [], "pending": True}, message_ids),
        st.builds(dict, note=st.integers(0, 3)),
        st.builds(lambda number: {"id": number}, st.sampled_from([1, None, "compaction_1", ("m1",)])),
        st.sampled_from(["m1", None, 7]),
    )


def changes(choice: list[Edit], message_ids: st.SearchStrategy[str]) -> st.SearchStrategy[Change]:
    """One of these edits, anywhere."""
    rows = st.lists(owners_rows(message_ids), min_size=1, max_size=2)
    return st.builds(Change, st.sampled_from(choice), PLACES, PLACES, rows)
