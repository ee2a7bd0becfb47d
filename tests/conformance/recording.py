"""The recordings as files: one script of operations each, and what the reference answered to every one.

A recording is JSON: `{name, about, options, ops, expect}`, one expectation an operation. Owns the file's own notations:
`$repeat`, `$concat` and `$date` in operations, digests in the place of long strings in expectations, and mirrored lists
that are left out where nothing changed. What comes out of here has none of these but the digests.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

import attrs

Operation: TypeAlias = Mapping[str, Any]
Json: TypeAlias = Any

LONGEST_STRING = 2000  # code points; a longer string is recorded as its length and digest
LONGEST_MIRROR = 200  # messages; of a longer list the length and both ends are recorded


@attrs.frozen
class Step:
    """One operation and what the reference answered. `mirror` is the whole list that was mirrored after it."""

    number: int
    operation: Operation
    expected: Mapping[str, Json]
    mirror: Json


@attrs.frozen
class Recording:
    """One script. `steps` are numbered from 0, as in the file's `ops`."""

    name: str
    about: str
    reserved_metadata_keys: tuple[str, ...]
    steps: Sequence[Step]

    def operations(self) -> list[Operation]:
        """Every operation of the script, those that a summariser runs before it answers among them."""
        found = [step.operation for step in self.steps]
        for operation in found:
            found.extend(operation.get("summarizer", {}).get("during", ()))
        return found


def read_recording(path: Path) -> Recording:
    """The recording in the file `path`."""
    content = json.loads(path.read_text(encoding="utf-8"))
    mirrors: dict[str, Json] = {}
    steps = []
    for number, (operation, expected) in enumerate(zip(content["ops"], content["expect"], strict=True)):
        session_id = operation.get("session", "")
        mirrors[session_id] = expected.get("mirror", mirrors.get(session_id, []))
        steps.append(Step(number, written_out(operation), expected, mirrors[session_id]))
    keys = tuple(content["options"].get("reservedMetadataKeys", ()))
    return Recording(content["name"], content["about"], keys, tuple(steps))


def written_out(value: Json) -> Any:
    """`value` with the notations of operations replaced by what they stand for."""
    match value:
        case {"$repeat": [text, times]}:
            return text * times
        case {"$concat": pieces}:
            return "".join(map(written_out, pieces))
        case {"$date": text}:
            return datetime.fromisoformat(text)
        case dict():
            return {key: written_out(item) for key, item in value.items()}
        case list():
            return [written_out(item) for item in value]
        case _:
            return value


def shortened(text: str) -> Json:
    """`text` as expectations show it: itself, or its length and digest when it is long."""
    if len(text) <= LONGEST_STRING:
        return text
    return {"$len": len(text), "$sha256": sha256(text.encode("utf-8", "surrogatepass")).hexdigest()}


def shortened_mirror(messages: list[Json]) -> Json:
    """A mirrored list as expectations show it: itself, or its length and both ends when it is long."""
    if len(messages) <= LONGEST_MIRROR:
        return messages
    return {"$count": len(messages), "first": messages[0]["id"], "last": messages[-1]["id"]}
