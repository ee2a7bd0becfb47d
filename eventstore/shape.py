"""The shape of a tree in numbers, from its chains and the seqs of their living messages. Pure.

A chain's first living message follows the newest living message before its fork; where its parent chain has none left
there, what the parent chain itself hangs on. Each later one follows the one before. So branch points, leaves and depths
come from the chains, and the messages are only counted.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import attrs

from eventstore.tree import ROOT_CHAIN
from eventstore.types import JsonReady


@attrs.frozen
class Shape(JsonReady):
    """A tree, or several, in numbers.

    `branch_points` are the messages that more than one follows; several roots are one more. `depth` is the number of
    messages of the longest path.
    """

    roots: int = 0
    branch_points: int = 0
    leaves: int = 0
    depth: int = 0

    def beside(self, other: Shape) -> Shape:
        """Both together."""
        return Shape(
            self.roots + other.roots,
            self.branch_points + other.branch_points,
            self.leaves + other.leaves,
            max(self.depth, other.depth),
        )


def shape_of(chains: Iterable[tuple[int, int, int]], seqs: Mapping[int, Sequence[int]]) -> Shape:
    """The shape of a session: (key, parent, fork) of its chains, parents first, and the living seqs of each. Pure."""
    hangs: dict[int, int | None] = {ROOT_CHAIN: None}  # the living message that each chain hangs on
    depth: dict[int | None, int] = {None: 0}  # of the messages that something hangs on, as far as they are known
    followers: Counter[int | None] = Counter()
    where: dict[int, tuple[int, int]] = {}  # of those messages: chain and place in it
    deepest = 0
    for key, parent, fork in chains:
        living = seqs.get(parent, [])
        place = bisect_left(living, fork) - 1
        above = living[place] if place >= 0 else hangs[parent]
        hangs[key] = above
        if above is not None and above not in where:
            where[above] = (parent, place)
        if above not in depth:
            depth[above] = depth[hangs[parent]] + place + 1
        if seqs.get(key):
            followers[above] += 1
            deepest = max(deepest, depth[above] + len(seqs[key]))
    ends = sum(1 for living in seqs.values() if living[-1] not in followers)
    points = sum(
        1 for above, count in followers.items() if count + (above is not None and _goes_on(above, where, seqs)) > 1
    )
    return Shape(followers[None], points, ends, deepest)


def _goes_on(seq: int, where: dict[int, tuple[int, int]], seqs: Mapping[int, Sequence[int]]) -> bool:
    chain, place = where[seq]
    return place + 1 < len(seqs[chain])
