"""The drawing of a tree, as rows: what stands where, and nothing about terminals. Pure.

A run of messages that each follow the one before stays in its column, however long it is. At a branch point one child
goes on in that column, behind the others: the one on the active path, or else the one with the most under it. The
others each begin a column further in. So the depth of a drawing grows only with branches of branches, about as the
logarithm of their number. Every walk is a loop.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

import attrs

from eventstore import MessageInfo


@attrs.frozen
class Row:
    """One message in its place."""

    info: MessageInfo
    depth: int  # columns further in
    forks: bool  # it begins a branch beside the one that goes on below
    sibling: tuple[int, int] | None  # (number from 1, how many) at a branch point
    on_path: bool  # on the active path
    is_leaf: bool  # the active leaf
    begins_tree: bool  # a root that isn't the first


@attrs.frozen
class _Waiting:
    info: MessageInfo
    depth: int
    forks: bool
    sibling: tuple[int, int] | None
    begins_tree: bool = False


def rows(infos: Iterable[MessageInfo], path: Mapping[str, object], leaf_id: str | None) -> Iterator[Row]:
    """The rows of a tree, top to bottom. `path` holds the ids of the active path.

    A message whose parent isn't among `infos` (it was deleted while they were read) stands as a root.
    """
    children = _children(infos)
    weights = _weights(children)
    roots = sorted(children.get(None, ()), key=_age)
    waiting = [
        _Waiting(root, 0, False, _number(index, len(roots)), index > 0)
        for index, root in reversed(list(enumerate(roots)))
    ]
    while waiting:
        now = waiting.pop()
        yield Row(
            now.info,
            now.depth,
            now.forks,
            now.sibling,
            now.info.id in path,
            now.info.id == leaf_id,
            now.begins_tree,
        )
        following = sorted(children.get(now.info.id, ()), key=_age)
        if not following:
            continue
        main = max(following, key=lambda child: (child.id in path, weights[child.id], child.seq))
        numbered = [(_number(index, len(following)), child) for index, child in enumerate(following)]
        waiting += [_Waiting(child, now.depth, False, number) for number, child in numbered if child is main]
        waiting += [
            _Waiting(child, now.depth + 1, True, number) for number, child in reversed(numbered) if child is not main
        ]


def _children(infos: Iterable[MessageInfo]) -> dict[str | None, list[MessageInfo]]:
    held = list(infos)
    ids = {info.id for info in held}
    children: defaultdict[str | None, list[MessageInfo]] = defaultdict(list)
    for info in held:
        children[info.parent_id if info.parent_id in ids else None].append(info)
    return dict(children)


def _age(info: MessageInfo) -> int:
    return info.seq


def _number(index: int, count: int) -> tuple[int, int] | None:
    return (index + 1, count) if count > 1 else None


def _weights(children: Mapping[str | None, list[MessageInfo]]) -> dict[str, int]:
    """How many messages there are from each one down."""
    order = [*children.get(None, ())]
    for info in order:  # it grows while it is walked
        order += children.get(info.id, ())
    weights: dict[str, int] = {}
    for info in reversed(order):
        weights[info.id] = 1 + sum(weights[child.id] for child in children.get(info.id, ()))
    return weights


def short_ids(ids: Iterable[str], least: int = 8) -> int:
    """How many first characters tell all ids apart."""
    length = least
    ordered = sorted(set(ids))
    for pair in pairwise(ordered):
        length = max(length, _in_common(*pair) + 1)
    return length


def _in_common(one: str, other: str) -> int:
    for at, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return at
    return min(len(one), len(other))
