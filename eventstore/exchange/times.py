"""Times that are text in one file and a number in the next: ISO 8601, Unix seconds, Unix milliseconds."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from eventstore.exchange.values import time_of, time_of_text

MILLISECONDS: Final = 100_000_000_000  # so many seconds are the year 5138: larger numbers count milliseconds
BEYOND: Final = 10**18  # no calendar holds it, and a float need not


def any_time(value: object) -> datetime | None:
    """A time in any of these spellings; `None` for what isn't one."""
    if isinstance(value, str):
        return time_of_text(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and MILLISECONDS <= abs(value) < BEYOND:
        return time_of(value / 1000)
    return time_of(value)
