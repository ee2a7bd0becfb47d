"""What goes in and what comes out: messages, results and infos. Plain values, no behaviour but `to_dict()`."""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import repeat
from typing import Any, Final, Literal, NoReturn, NotRequired, TypeAlias, TypedDict

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


class Value:
    """Gives a frozen attrs class the equality, the hash and the repr that attrs would compile for it as it is made: for
    all the classes here and in `events`, that takes as long as importing a third of this package."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return _values(self) == _values(other) if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(_values(self))

    def __repr__(self) -> str:
        kind: Any = type(self)
        fields = zip((field.name for field in attrs.fields(kind)), _values(self), strict=True)
        return f"{kind.__qualname__}({', '.join(f'{name}={value!r}' for name, value in fields)})"


def _values(value: object) -> tuple[object, ...]:
    kind: Any = type(value)
    return tuple(getattr(value, field.name) for field in attrs.fields(kind))


class JsonReady(Value):
    """Gives a frozen attrs class its `to_dict()`."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON-ready values: times as ISO 8601 in UTC, tuples as lists, messages as they are."""
        fields: dict[str, Any] = as_json(self)
        return fields


class Handle:
    """What stands on an open file, and so stays in the process that opened it."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise InvalidArgument(
            f"{self!r} can't be copied, pickled or sent to another process: open the file there, with Sessions(path)"
        )


def check_flag(name: str, given: object) -> None:
    """Raises `InvalidArgument` for what is neither `True` nor `False`: any text is true, "no" too."""
    if given is not True and given is not False:
        raise InvalidArgument(f"{name} must be True or False, not {given!r}")


def check_progress(given: object, *, allow_async: bool = False) -> None:
    """Raises `InvalidArgument` for what can't be called with progress; nothing awaits a coroutine function's."""
    if given is None:
        return
    if not callable(given):
        raise InvalidArgument(f"progress must be a function of what is done and of how much there is, not {given!r}")
    from inspect import iscoroutinefunction  # takes long to import

    if not allow_async and iscoroutinefunction(given):
        raise InvalidArgument(f"progress must be a plain function: this store awaits none, and not {given!r}")


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


@attrs.frozen(eq=False, repr=False)
class AppendResult(JsonReady):
    """`inserted` is false when the id was there already; `message` is the stored form; `seq` the event written."""

    inserted: bool
    message: Message
    seq: int | None


def results_of_new(messages: Sequence[Message], seqs: Sequence[int]) -> list[AppendResult]:
    """What a batch of new messages answers: set by columns, which takes half of what `__init__` does of each."""
    results = list(map(AppendResult.__new__, repeat(AppendResult, len(messages))))
    for field, column in (("inserted", repeat(True)), ("message", messages), ("seq", seqs)):
        deque(map(getattr(AppendResult, field).__set__, results, column), maxlen=0)
    return results


@attrs.frozen(eq=False, repr=False)
class RecentHistory(JsonReady):
    """The newest messages of a path, oldest first.

    `truncated` says that older ones were left out, `total_content_bytes` is the stored size of the whole path, and
    `seq` the log position that the answer shows: `mirror(after=recent.seq)` carries on from it.
    """

    messages: list[Message]
    truncated: bool
    total_content_bytes: int
    seq: int
