"""Which overlays a path shows: a plan over positions. Pure: no database in sight.

An overlay covers the positions `first` to `last` of every path that holds its end; since a path that holds a position
holds all that lies before it, its start is on that path too. The rule: from the root on, at each position the newest
overlay that starts there is taken, and is skipped over whole.

`choose` is that rule as it stands. So that a read needn't look at all overlays of a path, three links are kept, which
depend on no path, since all overlays of a path that ends at `last` are known from `last` alone:

    below     the overlay whose end comes before this one's, on the path to it
    shown     the newest-most one that is taken on the path to this one's end: itself, or one that it gives way to
    earlier   if it is itself taken: the one taken before it

An overlay that isn't taken on the path to its own end is taken on none. One that is, is followed down by `earlier` on
every path that shows it. So a path shows what `shown` of its last end gives, and down from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple


class Overlay(NamedTuple):
    """A row of the table: an overlay's ends, dead positions too, and its links."""

    seq: int
    first: int
    first_chain: int
    last: int
    last_chain: int
    below: int | None = None
    shown: int = 0
    earlier: int | None = None

    def goes_before(self, other: Overlay) -> bool:
        """Whether it is asked before `other`, walking from the root: it starts earlier, or is the newer one."""
        return self.first < other.first or (self.first == other.first and self.seq > other.seq)


def choose(overlays: Iterable[Overlay]) -> list[Overlay]:
    """Those of one path's overlays that it shows, from the root on."""
    chosen: list[Overlay] = []
    for overlay in sorted(overlays, key=lambda each: (each.first, -each.seq)):
        if not chosen or overlay.first > chosen[-1].last:
            chosen.append(overlay)
    return chosen


def linked(overlay: Overlay, get: Callable[[int], Overlay]) -> Overlay:
    """An overlay with `shown` and `earlier` as they follow from its `below`. `get` gives others by their seq."""
    top = None if overlay.below is None else get(overlay.below).shown
    before = None if top is None else get(top)
    while before is not None and not before.goes_before(overlay):
        earlier = None if before.earlier is None else get(before.earlier)
        if earlier is not None and earlier.last >= before.first:
            raise LookupError(f"overlay {before.seq} comes before itself, by the file")
        before = earlier
    if top is not None and before is not None and before.last >= overlay.first:
        return overlay._replace(shown=top, earlier=None)
    return overlay._replace(shown=overlay.seq, earlier=None if before is None else before.seq)
