"""What may name a session."""

from __future__ import annotations

from eventstore.codec import has_surrogate
from eventstore.errors import InvalidArgument


def check_session_id(session_id: object) -> None:
    """Raises `InvalidArgument` unless `session_id` is a string that SQLite can hold."""
    if not isinstance(session_id, str):
        raise InvalidArgument(f"a session is named by a string, not {session_id!r}")
    if has_surrogate(session_id):
        raise InvalidArgument(f"a session's name must not hold half a surrogate pair: {session_id!r}")
