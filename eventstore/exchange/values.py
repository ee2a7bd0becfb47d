"""Values as exports spell them: ids, times, and objects that may be something else."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from eventstore.codec import has_surrogate

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def usable(name: object) -> bool:
    """Whether a store takes `name` as an id or a role."""
    return isinstance(name, str) and name != "" and (name.isascii() or not has_surrogate(name))


def time_of(seconds: object) -> datetime | None:
    """Unix seconds as a time; `None` for null and for what no calendar holds."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        return None
    try:
        return EPOCH + timedelta(seconds=seconds) if math.isfinite(seconds) else None
    except OverflowError:
        return None


def time_of_text(text: object) -> datetime | None:
    """An ISO 8601 text as a time, in UTC where it names no zone; `None` for anything else."""
    if not isinstance(text, str):
        return None
    try:
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def object_of(value: Any) -> dict[str, Any]:
    """`value` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """`value` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def is_nothing(value: Any) -> bool:
    """Whether a value is null, or an empty object or list."""
    return value is None or value == {} or value == []


def without(value: Mapping[str, Any], keys: Collection[str] = ()) -> dict[str, Any]:
    """`value` without these keys, nulls, and empty objects and lists."""
    return {key: item for key, item in value.items() if (item or not is_nothing(item)) and key not in keys}
