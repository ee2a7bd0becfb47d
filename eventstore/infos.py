"""What reads answer that give no messages: a module of its own, that comes with the first of them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import attrs

from eventstore.types import JsonReady


@attrs.frozen(eq=False, repr=False)
class MessageInfo(JsonReady):
    """A message without its content. `bytes` is its stored size, `seq` the event that appended it."""

    id: str
    parent_id: str | None
    role: str
    bytes: int
    token_estimate: int
    created_at: datetime
    updated_at: datetime
    seq: int


@attrs.frozen(eq=False, repr=False)
class SessionInfo(JsonReady):
    """A session without its messages. The numbers are totals over all branches; `seq` is its last event."""

    session_id: str
    messages: int
    bytes: int
    token_estimate: int
    metadata: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    seq: int


@attrs.frozen(eq=False, repr=False)
class Compaction(JsonReady):
    """A stored summary and the messages that it stands for on reads. `id` is without the `compaction_` prefix."""

    id: str
    from_message_id: str
    to_message_id: str
    summary: str
    created_at: datetime
    seq: int
