"""The drawing of trees: every message once, at its place, and never deeper than branches of branches."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventstore import MessageInfo
from eventstore.cli.drawing import Row, rows, short_ids

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def info(message_id: str, parent_id: str | None, seq: int) -> MessageInfo:
    return MessageInfo(message_id, parent_id, "user", 1, 1, NOW, NOW, seq)


def tree(parents: Iterable[int | None]) -> list[MessageInfo]:
    """A tree by the number of each message's parent, an earlier one."""
    return [info(f"m{n}", None if p is None else f"m{p}", n + 1) for n, p in enumerate(parents)]


def path_to(infos: list[MessageInfo], message_id: str | None) -> dict[str, None]:
    parents = {info.id: info.parent_id for info in infos}
    path: dict[str, None] = {}
    while message_id is not None:
        path[message_id] = None
        message_id = parents[message_id]
    return path


def drawn(found: Iterable[Row]) -> list[str]:
    """Rows in short: `|-o m3 1/2`."""
    lines = []
    for row in found:
        guides = "| " * (row.depth - row.forks) + ("|-" if row.forks else "")
        number = "" if row.sibling is None else f" {row.sibling[0]}/{row.sibling[1]}"
        lines += [""] if row.begins_tree else []
        lines.append(f"{guides}{'*' if row.on_path else 'o'} {row.info.id}{number}{' <-' if row.is_leaf else ''}")
    return lines


def test_branches_stand_beside_the_one_that_goes_on() -> None:
    infos = tree([None, 0, 1, 2, 1, 4, 5, 4, 7, 1])
    assert drawn(rows(infos, path_to(infos, "m6"), "m6")) == [
        "* m0",
        "* m1",
        "|-o m2 1/3",
        "| o m3",
        "|-o m9 3/3",
        "* m4 2/3",
        "|-o m7 2/2",
        "| o m8",
        "* m5 1/2",
        "* m6 <-",
    ]


def test_off_the_active_path_the_largest_branch_goes_on_and_of_equal_ones_the_newest() -> None:
    infos = tree([None, 0, 0, 2, 0, 0])
    assert drawn(rows(infos, {"m0": None}, "m0")) == [
        "* m0 <-",
        "|-o m1 1/4",
        "|-o m4 3/4",
        "|-o m5 4/4",
        "o m2 2/4",
        "o m3",
    ]
    infos = tree([None, 0, 0])
    assert drawn(rows(infos, {}, None)) == ["o m0", "|-o m1 1/2", "o m2 2/2"]


def test_roots_stand_apart() -> None:
    infos = tree([None, 0, None, 2, None])
    assert drawn(rows(infos, path_to(infos, "m3"), "m3")) == [
        "o m0 1/3",
        "o m1",
        "",
        "* m2 2/3",
        "* m3 <-",
        "",
        "o m4 3/3",
    ]


def test_a_message_whose_parent_vanished_meanwhile_stands_as_a_root() -> None:
    assert drawn(rows([info("a", None, 1), info("c", "b", 3)], {}, None)) == ["o a 1/2", "", "o c 2/2"]
    assert drawn(rows([], {}, None)) == []


@pytest.mark.parametrize("branches", [False, True])
def test_a_long_conversation_neither_recurses_nor_moves_to_the_side(branches: bool) -> None:
    """10,000 messages in a row, and the same with an alternative to each of them."""
    parents = [None, *(n // 2 * 2 for n in range(19_999))] if branches else [None, *range(9_999)]
    infos = tree(parents)
    found = list(rows(infos, path_to(infos, infos[-1].id), infos[-1].id))
    assert len(found) == len(infos)
    assert {row.depth for row in found} == ({0, 1} if branches else {0})


@given(st.data())
def test_every_message_is_drawn_once_below_its_parent_and_in_its_column(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 40))
    infos = tree(data.draw(st.none() | st.integers(0, n - 1) if n else st.none()) for n in range(size))
    leaf = data.draw(st.sampled_from([None, *(info.id for info in infos)]))
    path = path_to(infos, leaf)
    found = list(rows(data.draw(st.permutations(infos)), path, leaf))
    assert sorted(row.info.id for row in found) == sorted(info.id for info in infos)
    at = {row.info.id: number for number, row in enumerate(found)}
    for row in found:
        assert row.on_path == (row.info.id in path)
        assert row.is_leaf == (row.info.id == leaf)
        if row.info.parent_id is None:
            assert row.depth == 0
            continue
        parent = found[at[row.info.parent_id]]
        assert at[row.info.id] > at[row.info.parent_id]
        assert row.depth == parent.depth + row.forks
        # what stands between a message and the one it follows is further to the right
        assert all(between.depth > parent.depth for between in found[at[row.info.parent_id] + 1 : at[row.info.id]])
    assert max(row.depth for row in found) <= 1 + math.log2(size)
    siblings: dict[str | None, list[Row]] = {}
    for row in found:
        siblings.setdefault(row.info.parent_id, []).append(row)
    for family in siblings.values():
        oldest_first = sorted(family, key=lambda row: row.info.seq)
        numbers = [row.sibling for row in oldest_first]
        assert numbers == ([(n + 1, len(family)) for n in range(len(family))] if len(family) > 1 else [None])


@given(st.lists(st.text("ab", max_size=12), max_size=8))
def test_short_ids_tell_all_ids_apart(ids: list[str]) -> None:
    length = short_ids(ids, least=2)
    assert length >= 2
    assert len({message_id[:length] for message_id in ids}) == len(set(ids))
    assert length == 2 or len({message_id[: length - 1] for message_id in ids}) < len(set(ids))
