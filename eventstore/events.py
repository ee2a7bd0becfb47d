"""The change feed's events: what listeners receive, one class a kind.

All are frozen, and equal when their fields are. `seq` is the event's number in the log, `recorded_at` when it was
written, and `erased` says that the content of a message is gone from the log (it was deleted, and the file keeps only
what is current).
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import attrs

from eventstore.infos import Compaction
from eventstore.types import JsonReady, Message


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Event(JsonReady):
    """What every event has. Match on the subclasses, or on `type`."""

    type: str
    seq: int
    session_id: str
    recorded_at: datetime
    erased: bool = False


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Appended(Event):
    """A message was appended under `parent_id` (the resolved parent), or was there already (`inserted` false)."""

    type: Literal["append"] = "append"
    message: Message
    parent_id: str | None
    created_at: datetime
    inserted: bool = True


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Updated(Event):
    """A stored message was replaced."""

    type: Literal["update"] = "update"
    message: Message


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Deleted(Event):
    """Messages were deleted; what followed them now follows their nearest surviving ancestor."""

    type: Literal["delete"] = "delete"
    message_ids: tuple[str, ...]


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Cleared(Event):
    """The session was emptied of messages and overlays. Its metadata stays."""

    type: Literal["clear"] = "clear"


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Imported(Event):
    """A message was stored as given, with the given parent and time."""

    type: Literal["import"] = "import"
    message: Message
    parent_id: str | None
    created_at: datetime


@attrs.frozen(kw_only=True, eq=False, repr=False)
class SessionDeleted(Event):
    """The session was emptied and taken from the list, its metadata too."""

    type: Literal["delete_session"] = "delete_session"


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Compacted(Event):
    """A summary was stored: "compact" by `compact()`, "compaction" by `add_compaction()`."""

    type: Literal["compact", "compaction"]
    compaction: Compaction


@attrs.frozen(kw_only=True, eq=False, repr=False)
class LeafSelected(Event):
    """The path to a message was made the active one."""

    type: Literal["select"] = "select"
    message_id: str


@attrs.frozen(kw_only=True, eq=False, repr=False)
class MetadataChanged(Event):
    """The session's own metadata was replaced."""

    type: Literal["metadata"] = "metadata"
    metadata: dict[str, object]
