"""What goes in and what comes out: messages, results and infos. Plain values, no behaviour but `to_dict()`."""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal, NotRequired, TypeAlias, TypedDict

import attrs

from eventstore.errors import InvalidArgument


class Message(TypedDict):
    """One message: the AI SDK's `UIMessage`, with whatever other keys its writer put there.

    Source: https://ai-sdk.dev/docs/reference/ai-sdk-core/ui-message
    """

    id: str
    role: str
    parts: list[dict[str, Any]]
    metadata: NotRequired[dict[str, Any]]


MessageLike: TypeAlias = Mapping[str, Any]
Source: TypeAlias = Literal["server", "client"]
Progress: TypeAlias = Callable[[int, int | None], object]
"""Called with what is done so far and, where it is known, how much there is in all."""


class Sentinel(enum.Enum):
    """Defaults that no id can be mistaken for."""

    LATEST = "the active leaf"
    UNCHECKED = "any leaf"

    def __repr__(self) -> str:
        return self.name


LATEST: Final = Sentinel.LATEST
UNCHECKED: Final = Sentinel.UNCHECKED
ParentId: TypeAlias = str | Literal[Sentinel.LATEST] | None
ExpectedLeaf: TypeAlias = str | Literal[Sentinel.UNCHECKED] | None


def as_json(value: Any) -> Any:
    """A result, event or part of one in JSON's own types: times as ISO 8601, tuples as lists."""
    if isinstance(value, datetime):
        return value.isoformat()
    if attrs.has(type(value)):
        return {field.name: as_json(getattr(value, field.name)) for field in attrs.fields(type(value))}
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    return value


class JsonReady:
    """Gives a frozen attrs class its `to_dict()`."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON-ready values: times as ISO 8601 in UTC, tuples as lists, messages as they are."""
        fields: dict[str, Any] = as_json(self)
        return fields


def check_aware(name: str, when: datetime) -> datetime:
    """`when` in UTC. Raises `InvalidArgument` for a naive datetime or anything else."""
    if type(when) is datetime and when.tzinfo is UTC:
        return when
    if not isinstance(when, datetime) or when.tzinfo is None or when.utcoffset() is None:
        raise InvalidArgument(f"{name} must be an aware datetime (datetime.now(UTC)), not {when!r}")
    try:
        return when.astimezone(UTC)
    except OverflowError:
        raise InvalidArgument(f"{name} must be a time that UTC can tell, year 1 to 9999; not {when!r}") from None


@attrs.frozen
class AppendResult(JsonReady):
    """`inserted` is false when the id was there already; `message` is the stored form; `seq` the event written."""

    inserted: bool
    message: Message
    seq: int | None


@attrs.frozen
class RecentHistory(JsonReady):
    """The newest messages of a path, oldest first.

    `truncated` says that older ones were left out, `total_content_bytes` is the stored size of the whole path, and
    `seq` the log position that the answer shows: `mirror(after=recent.seq)` carries on from it.
    """

    messages: list[Message]
    truncated: bool
    total_content_bytes: int
    seq: int


@attrs.frozen
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


@attrs.frozen
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


@attrs.frozen
class ImportRow:
    """One message to import, with its place and its time (aware)."""

    message: MessageLike
    parent_id: str | None = attrs.field(kw_only=True)
    created_at: datetime = attrs.field(kw_only=True)


@attrs.frozen
class ImportReport(JsonReady):
    """How many messages were stored, how many were there already, and (what, why) for each one left out."""

    imported: int
    known: int
    skipped: tuple[tuple[str, str], ...] = ()


@attrs.frozen
class VerifyReport(JsonReady):
    """`problems` says what is wrong, a line each; `ok` when there is none."""

    ok: bool
    problems: tuple[str, ...]


@attrs.frozen
class RecoveryReport(JsonReady):
    """How many events and living messages were saved, and (what, why) for each thing that is lost or was mended."""

    events: int
    messages: int
    lost: tuple[tuple[str, str], ...]


@attrs.frozen
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


@attrs.frozen
class Compaction(JsonReady):
    """A stored summary and the messages that it stands for on reads. `id` is without the `compaction_` prefix."""

    id: str
    from_message_id: str
    to_message_id: str
    summary: str
    created_at: datetime
    seq: int


@attrs.frozen
class CompactResult:
    """What a compact function gives: a summary of the messages from one to another, both of them covered.

    The id of a summary that was given stands for the first or the last message that it covers.
    """

    from_message_id: str
    to_message_id: str
    summary: str


CompactFunction: TypeAlias = Callable[[list[Message]], CompactResult | None]
AsyncCompactFunction: TypeAlias = Callable[[list[Message]], Awaitable[CompactResult | None]]
