"""The oracle of what a path shows: positions in plain lists, and the rule for overlays walked step by step.

A chain is a list of positions, dead ones too, and where it forks. Nothing is indexed, linked or kept: every answer is
worked out anew from the whole.
"""

from __future__ import annotations

from typing import Any

import attrs

Entry = tuple[str, str]
"""What a read shows: ("message", its id) or ("summary", its text)."""


@attrs.define
class Place:
    """A position: dead or alive, it stays where it was."""

    id: str
    chain: int
    alive: bool = True


@attrs.frozen
class Chain:
    """`places` in order; it hangs on `parent` before the place numbered `fork` there."""

    places: list[Place]
    parent: int | None
    fork: int


@attrs.frozen
class Summary:
    first: Place
    last: Place
    text: str


@attrs.define
class Oracle:
    chains: list[Chain] = attrs.Factory(list)
    summaries: list[Summary] = attrs.Factory(list)  # oldest first

    def living(self) -> list[Place]:
        return [place for chain in self.chains for place in chain.places if place.alive]

    def place(self, message_id: str) -> Place:
        return next(place for place in self.living() if place.id == message_id)

    def _bound(self, place: Place) -> int:
        """How many places of its chain the path to a living place takes: up to before the next living one."""
        places = self.chains[place.chain].places
        later = range(places.index(place) + 1, len(places))
        return next((index for index in later if places[index].alive), len(places))

    def _upto(self, number: int, count: int) -> list[Place]:
        chain = self.chains[number]
        above = [] if chain.parent is None else self._upto(chain.parent, chain.fork)
        return above + chain.places[:count]

    def path(self, place: Place) -> list[Place]:
        """The places on the path to a living one."""
        return self._upto(place.chain, self._bound(place))

    def path_to_end(self, place: Place) -> list[Place]:
        """The places up to one, dead or alive."""
        return self._upto(place.chain, self.chains[place.chain].places.index(place) + 1)

    def append(self, message_id: str, parent_id: str | None) -> None:
        if parent_id is None:
            self._open(message_id, None, 0)
            return
        parent = self.place(parent_id)
        bound, places = self._bound(parent), self.chains[parent.chain].places
        if bound == len(places):
            places.append(Place(message_id, parent.chain))
        else:
            self._open(message_id, parent.chain, bound)

    def _open(self, message_id: str, parent: int | None, fork: int) -> None:
        self.chains.append(Chain([Place(message_id, len(self.chains))], parent, fork))

    def delete(self, message_ids: list[str]) -> None:
        for message_id in message_ids:
            self.place(message_id).alive = False

    def clear(self) -> None:
        self.chains.clear()
        self.summaries.clear()

    # ---- summaries

    def shown_on(self, places: list[Place]) -> list[Summary]:
        """At each place the newest summary that starts here and ends on this path wins and is skipped over whole."""
        shown = []
        index = 0
        while index < len(places):
            here = [s for s in self.summaries if s.first is places[index] and is_in(s.last, places)]
            if here:
                shown.append(here[-1])
                index = index_of(here[-1].last, places)
            index += 1
        return shown

    def add(self, first: Place, last: Place, text: str) -> None:
        self.summaries.append(Summary(self._start(first, last), last, text))

    def _start(self, first: Place, last: Place) -> Place:
        """Under a summary that is shown somewhere, a range that starts at its first survivor starts where it does."""
        path = self.path_to_end(last)
        start = index_of(first, path)
        for summary in self.summaries:
            if not is_in(summary.first, path) or index_of(summary.first, path) >= start:
                continue
            own = self.path_to_end(summary.last)
            dead_between = not any(p.alive for p in path[index_of(summary.first, path) : index_of(first, path)])
            covers = is_in(first, own)
            meets = is_in(last, own) or is_in(summary.last, path)
            if dead_between and covers and meets and summary in self.shown_on(own):
                start = min(start, index_of(summary.first, path))
        return path[start]

    def shows(self, leaf: Place, *, before: str | None = None) -> list[Entry]:
        """What a history shows, root first; `before` a message, what stands before it or before its summary."""
        entries: list[Entry] = []
        covered: list[Place] = []
        places = self.path(leaf)
        shown = self.shown_on(places)
        for place in places:
            starts = [summary for summary in shown if summary.first is place]
            for summary in starts:
                covered = places[index_of(summary.first, places) : index_of(summary.last, places) + 1]
                if any(each.alive and each.id == before for each in covered):
                    return entries
                if any(each.alive for each in covered):
                    entries.append(("summary", summary.text))
            if place.alive and place.id == before:
                return entries
            if place.alive and not is_in(place, covered):
                entries.append(("message", place.id))
        return entries


def is_in(place: Place, places: list[Place]) -> bool:
    return any(each is place for each in places)


def index_of(place: Place, places: list[Place]) -> int:
    return next(index for index, each in enumerate(places) if each is place)


def entries(messages: list[Any]) -> list[Entry]:
    """What was read, as the oracle says it. Messages' ids in these tests never begin with `compaction_`."""
    return [
        ("summary", message["parts"][0]["text"])
        if message["id"].startswith("compaction_")
        else ("message", message["id"])
        for message in messages
    ]
