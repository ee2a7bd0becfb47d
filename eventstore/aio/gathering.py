"""What a sync store takes for its feed when it is heard on a loop: each commit goes to the loop's feed, in the thread
that made it, and nothing is delivered here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from eventstore.events import Event
from eventstore.feed import Feed
from eventstore.store import Store


class Collector(Protocol):
    """Who delivers what is gathered."""

    def is_listening(self) -> bool:
        """Whether anybody would hear an event, or is about to."""

    def collect(self, items: Iterable[Event | int], last: int) -> None:
        """Takes events and (an int) what the log holds up to a seq; then what it holds up to `last`."""


class Gathering(Feed):
    """The feed of `store`, whose events `collector` delivers; `cursor` is what was gathered. Called in threads."""

    def __init__(self, store: Store, collector: Collector, sender: Callable[[str], object]) -> None:
        self._collector = collector
        super().__init__(store._read_log, store.committed_seq, sender, store.database.in_transaction)

    def is_listening(self) -> bool:
        return self._collector.is_listening()

    def is_delivering(self) -> bool:
        return False

    def committed(self, events: Iterable[Event | int], last: int) -> None:
        self._collector.collect(events, last)
        self.cursor = max(self.cursor, last)

    def deliver(self) -> None:
        """The loop does."""

    def poll(self) -> int:
        """Gathers what the log holds beyond what was gathered, and returns how many events that is.

        The first of them are read here: if they can't be, it is raised here.
        """
        with self._delivery:
            latest, after = self._latest(), self.cursor
            if latest <= after:
                return 0
            first = self._read_log(after, latest) if self.is_listening() else []
            self._collector.collect(first, latest)
            self.cursor = max(self.cursor, latest)
            return latest - after
