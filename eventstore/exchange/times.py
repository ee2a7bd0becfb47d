"""Times as exports spell them. What no calendar holds is `None`: a time says when, never in which order."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Final

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECONDS: Final = 100_000_000_000  # so many seconds are the year 5138: larger numbers count milliseconds


def from_unix(value: object) -> datetime | None:
    """Unix seconds, or milliseconds where a number is too large for seconds."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        seconds = value / 1000 if abs(value) >= MILLISECONDS else value
        return EPOCH + timedelta(seconds=seconds) if math.isfinite(seconds) else None
    except OverflowError:
        return None


def from_iso(value: object) -> datetime | None:
    """ISO 8601 text; UTC where it names no zone."""
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def time_of(value: object) -> datetime | None:
    """A time, in either spelling."""
    return from_iso(value) if isinstance(value, str) else from_unix(value)
