"""What the rarer calls take and give: imports, searches, compact functions, checks and recovery.

Apart from `types`, since most processes make none of these calls, and a class of attrs takes long to make.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TypeAlias

import attrs

from eventstore.types import JsonReady, Message, MessageLike, Value


@attrs.frozen(eq=False, repr=False)
class ImportRow(Value):
    """One message to import, with its place and its time (aware)."""

    message: MessageLike
    parent_id: str | None = attrs.field(kw_only=True)
    created_at: datetime = attrs.field(kw_only=True)


@attrs.frozen(eq=False, repr=False)
class ImportReport(JsonReady):
    """How many messages were stored, how many were there already, and (what, why) for each one left out."""

    imported: int
    known: int
    skipped: tuple[tuple[str, str], ...] = ()


@attrs.frozen(eq=False, repr=False)
class VerifyReport(JsonReady):
    """`problems` says what is wrong, a line each; `ok` when there is none."""

    ok: bool
    problems: tuple[str, ...]


@attrs.frozen(eq=False, repr=False)
class RecoveryReport(JsonReady):
    """How many events and living messages were saved, and (what, why) for each thing that is lost or was mended."""

    events: int
    messages: int
    lost: tuple[tuple[str, str], ...]


@attrs.frozen(eq=False, repr=False)
class SearchResult(JsonReady):
    """A message that was found. `content` is the text of its text parts, with a space between them.

    `snippet` is a stretch of it around what matched, on one line and cut between whole characters; `highlights` are
    (start, end) in the snippet of what matched. The larger `score`, the better; it compares within one search.
    """

    session_id: str
    id: str
    role: str
    content: str
    snippet: str
    highlights: tuple[tuple[int, int], ...]
    created_at: datetime
    score: float


@attrs.frozen(eq=False, repr=False)
class CompactResult(Value):
    """What a compact function gives: a summary of the messages from one to another, both of them covered.

    The id of a summary that was given stands for the first or the last message that it covers.
    """

    from_message_id: str
    to_message_id: str
    summary: str


CompactFunction: TypeAlias = Callable[[list[Message]], CompactResult | None]
AsyncCompactFunction: TypeAlias = Callable[[list[Message]], Awaitable[CompactResult | None]]
