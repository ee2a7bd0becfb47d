"""What a path shows, piece by piece: stretches of messages, and summaries between them.

Found from the leaf down and only as far as it is asked for: behind a summary the walk goes on at its start, whatever
lies between, and where a path shows no summary is known without a look at its chains. What is found is that of the
first look; a later one may be over another connection, after other writes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TypeAlias

from eventstore import messages, summaries, tree
from eventstore.driver import Connection
from eventstore.messages import Stretch
from eventstore.paths import Path
from eventstore.summaries import Shown
from eventstore.tree import Range
from eventstore.types import Message

Segment: TypeAlias = Stretch | Shown
OVERLAYS_AT_ONCE = 16  # looked up together, when a path is read from its leaf


class Descent:
    """The segments of a path from its leaf to its root, none of them empty by its bounds."""

    def __init__(self, connection: Connection, path: Path, *, compacted: bool, whole: bool = False) -> None:
        self._session = path.session
        self._cut = path.cut
        self._top = path.leaf.seq + 1  # what a later write puts behind the leaf is not on this path
        self._newest = summaries.newest(connection, path.session) if compacted else 0
        # Positions behind the leaf that died count for overlays: those that end there are on this path too.
        self._next: Range | None = (
            tree.bound(connection, path.leaf) if self._newest else Range(path.leaf.chain, self._top)
        )
        self._ranges: deque[Range] = deque()  # looked up, and not yet walked
        # Where no summary is looked for, a read may end in the leaf's own chain, which needs no look.
        self._walked = None if whole or self._newest else self._next
        if self._walked is not None:
            self._ranges.append(self._walked)
        self._looked = self._walked is not None  # at the first look the leaf's own chain was there a moment ago
        self._searching = self._newest > 0  # for the overlay that ends last on this path
        self._following: int | None = None  # the first overlay that isn't looked up yet
        self._overlays: deque[Shown] = deque()
        self._limit = tree.ENDLESS if whole else OVERLAYS_AT_ONCE
        self._found: deque[Segment] = deque()

    def next(self, connection: Connection) -> Segment | None:
        """The next segment, `None` behind the last."""
        while not self._found and (self._ranges or self._next is not None):
            if self._ranges:
                self._walk(connection)
            else:
                self._look_up(connection)
        return self._found.popleft() if self._found else None

    def all(self, connection: Connection) -> Iterator[Segment]:
        """The segments that are left."""
        while (segment := self.next(connection)) is not None:
            yield segment

    def _look_up(self, connection: Connection) -> None:
        """Finds a bounded number of chains further down."""
        start = self._start(connection)
        if start is None:
            self._next = None
            return
        ranges, self._next = tree.range_block(connection, start)
        if start == self._walked:
            del ranges[0]
        self._search(connection, ranges)
        self._ranges.extend(ranges)

    def _walk(self, connection: Connection) -> None:
        """Goes to the end of a chain, or behind the next overlay."""
        chain, end = self._ranges[0]
        overlay = self._overlay(connection)
        if overlay is None or overlay.last_chain != chain or overlay.last >= end:
            self._add(Stretch(chain, 0, end))
            self._ranges.popleft()
            return
        if overlay.first > overlay.last or overlay.first_chain > overlay.last_chain:
            raise LookupError(f"overlay {overlay.seq} starts behind its end, by the file")
        self._add(Stretch(chain, overlay.last + 1, end))
        self._show(connection, self._overlays.popleft())
        while self._ranges and self._ranges[0].chain != overlay.first_chain:
            self._ranges.popleft()
        behind = Range(overlay.first_chain, overlay.first)
        if self._ranges:
            self._ranges[0] = behind
        else:
            self._next = behind

    def _start(self, connection: Connection) -> Range | None:
        assert self._next is not None
        if not self._looked or tree.has_chain(connection, self._next.chain):
            self._looked = True
            return self._next
        # Else all of it was deleted since the last look.
        alive = tree.ancestor_of_dead(connection, self._session, self._next.chain)
        return None if alive is None else Range(alive.chain, alive.seq + 1)

    def _search(self, connection: Connection, ranges: list[Range]) -> None:
        if self._searching:
            self._following = summaries.last_end(connection, ranges)
            self._searching = self._following is None

    def _overlay(self, connection: Connection) -> Shown | None:
        """The next overlay that the path shows."""
        if not self._overlays and self._following is not None:
            if summaries.newest(connection, self._session) == self._newest:
                found = summaries.shown(connection, self._session, self._following, self._limit)
                self._following = found[-1].earlier if found else None
            else:
                from eventstore import linking

                found = linking.shown_then(connection, self._session, self._following, self._newest)
                self._following = None
            self._overlays.extend(found)
        return self._overlays[0] if self._overlays else None

    def _show(self, connection: Connection, overlay: Shown) -> None:
        """A cut inside what an overlay covers leaves that overlay out: it shows the message that was named."""
        if overlay.last < self._cut and (overlay.alive or summaries.is_alive(connection, overlay)):
            self._found.append(overlay)

    def _add(self, stretch: Stretch) -> None:
        high = min(stretch.high, self._top, self._cut)
        if stretch.low < high:
            self._found.append(Stretch(stretch.chain, stretch.low, high))


def read_all(connection: Connection, segments: list[Segment]) -> list[Message]:
    """The messages of segments, each oldest first, in the order given."""
    runs = iter(messages.read_stretches(connection, [s for s in segments if isinstance(s, Stretch)]))
    overlays = [segment.seq for segment in segments if isinstance(segment, Shown)]
    shown = iter(summaries.read(connection, overlays) if overlays else ())
    found: list[Message] = []
    for segment in segments:
        if isinstance(segment, Stretch):
            found += next(runs)
        else:
            found.append(next(shown))
    return found


def stretches_of(connection: Connection, path: Path) -> list[Stretch]:
    """The messages of a path, covered ones too, root first."""
    found = Descent(connection, path, compacted=False).all(connection)
    return [segment for segment in found if isinstance(segment, Stretch)][::-1]


def shown_on(connection: Connection, path: Path) -> list[Shown]:
    """The summaries that a path shows, newest first."""
    found = Descent(connection, path, compacted=True, whole=True).all(connection)
    return [segment for segment in found if isinstance(segment, Shown)]
