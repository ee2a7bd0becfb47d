"""Times: microseconds since 1970 in the file, aware datetimes in UTC outside. No order of events rests on them."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def now() -> int:
    """The present, in microseconds."""
    return time.time_ns() // 1000


def to_microseconds(when: datetime) -> int:
    """An aware datetime in microseconds, exactly."""
    return (when - _EPOCH) // _MICROSECOND


def to_datetime(microseconds: int) -> datetime:
    """The aware datetime in UTC, exactly."""
    return _EPOCH + timedelta(0, 0, microseconds)
