"""Recorded names for what the store makes up itself, and back: overlay ids, and summaries that repeat a prompt.

The recordings call compactions c1, c2, … in the order in which the reference stored them; ours have random ids. A
summary that repeats its prompt is in the reference's words there, and in ours here. Everything else is compared as it
is. A compaction that only one of the two stored keeps the numbers of the others as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import attrs

from tests.conformance.recording import Json, shortened

OVERLAY_PREFIX = "compaction_"


class Record(dict[str, Any]):
    """A result or event of ours under recorded field names. Only the fields that a recording has are compared."""


class Names:
    """Both directions: `recorded()` for what comes out of the store, `ours()` for what goes in."""

    def __init__(self) -> None:
        self._recorded: dict[str, Json] = {}
        self._ours: dict[str, str] = {}
        self._compactions = 0

    def learn_compactions(self, stored_here: list[str], stored_there: int) -> None:
        """Number the compactions of one step: the ids stored here, and how many the reference stored."""
        for place, compaction_id in enumerate(stored_here):
            number = f"c{self._compactions + place + 1}" if place < stored_there else f"only here: {compaction_id}"
            self._recorded[compaction_id] = number
            self._recorded[OVERLAY_PREFIX + compaction_id] = OVERLAY_PREFIX + number
            self._ours[OVERLAY_PREFIX + number] = OVERLAY_PREFIX + compaction_id
        self._compactions += stored_there

    def learn_wording(self, ours: str, theirs: Json) -> None:
        """A text in our words, and what the recording has in its place."""
        self._recorded[ours] = theirs

    def ours(self, value: Any) -> Any:
        """A recorded operation with the ids that this store uses."""
        match value:
            case str():
                return self._ours.get(value, value)
            case Mapping():
                return {key: self.ours(item) for key, item in value.items()}
            case list():
                return [self.ours(item) for item in value]
            case _:
                return value

    def recorded(self, value: Any) -> Json:
        """A result, event or message of this store as a recording would show it."""
        match value:
            case str():
                return self._recorded[value] if value in self._recorded else shortened(value)
            case dict():
                return {key: self.recorded(item) for key, item in value.items()}
            case list() | tuple():
                return [self.recorded(item) for item in value]
            case datetime():
                return value.isoformat()
            case _ if attrs.has(type(value)):
                fields = (field.name for field in attrs.fields(type(value)))
                return Record({camel_case(name): self.recorded(getattr(value, name)) for name in fields})
            case _:
                return value


def camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)
