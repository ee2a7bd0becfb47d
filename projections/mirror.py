"""`mirror`: a list that belongs to its owner and that a session's events keep in step.

The list is the owner's: it may be edited between events in any way, and nothing here copies it behind the owner's
back. In place, the cost of an event doesn't grow with the list (see `positions`); with `get` and `set` every change
is one shallow copy. When one of the owner's functions raises, the list is as it was before the event or, for
`on_applied`, as it is after it; the feed logs the error and goes on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, MutableSequence, Sequence
from inspect import iscoroutinefunction
from typing import Any, Generic, TypeVar, overload

from eventstore import (
    Appended,
    AsyncSession,
    AsyncSessions,
    Event,
    InvalidArgument,
    Message,
    Session,
    Sessions,
    Subscription,
    Updated,
)
from projections.positions import MANY, Positions, PositionsById, PositionsOfOwn
from projections.reduce import Entries, puts, reduce
from projections.steps import result_of

T = TypeVar("T")


class InPlace(Generic[T]):
    """The entries of a list that is changed in place."""

    def __init__(self, entries: MutableSequence[T], positions: Positions[T]) -> None:
        self._entries = entries
        self._positions = positions
        positions.align(entries)

    def find(self, message_ids: Collection[str]) -> list[int]:
        return self._positions.find(self._entries, message_ids)

    def push(self, message_id: str, entry: T) -> None:
        self._entries.append(entry)
        self._positions.pushed(message_id, entry)

    def replace(self, position: int, entry: T) -> T:
        previous = self._entries[position]
        self._entries[position] = entry
        self._positions.replaced(position, entry)
        return previous

    def drop(self, positions: list[int]) -> None:
        if len(positions) >= MANY and isinstance(self._entries, list):
            self._entries[:] = without(self._entries, positions)
        else:
            for position in reversed(positions):
                del self._entries[position]
        self._positions.dropped(positions)

    def clear(self) -> None:
        self._entries.clear()
        self._positions.cleared()


class Reassigned(Generic[T]):
    """The entries of a list that is never changed: `set` is given a new one."""

    def __init__(
        self, get: Callable[[], Sequence[T]], set: Callable[[list[T]], object], positions: Positions[T]
    ) -> None:
        self._get = get
        self._set = set
        self._positions = positions
        self._entries: Sequence[T] = []

    def find(self, message_ids: Collection[str]) -> list[int]:
        entries = self._get()
        if entries is not self._entries:
            self._positions.read(entries)
            self._entries = entries
        return self._positions.find(entries, message_ids)

    def push(self, message_id: str, entry: T) -> None:
        self._assign([*self._entries, entry])
        self._positions.pushed(message_id, entry)

    def replace(self, position: int, entry: T) -> T:
        entries = list(self._entries)
        previous, entries[position] = entries[position], entry
        self._assign(entries)
        self._positions.replaced(position, entry)
        return previous

    def drop(self, positions: list[int]) -> None:
        self._assign(without(self._entries, positions))
        self._positions.dropped(positions)

    def clear(self) -> None:
        if len(self._get()):
            self._assign([])
        self._positions.cleared()

    def _assign(self, entries: list[T]) -> None:
        self._set(entries)
        self._entries = entries


def without(entries: Sequence[T], positions: list[int]) -> list[T]:
    """A new list, without the entries at these positions."""
    left_out = set(positions)
    return [entry for position, entry in enumerate(entries) if position not in left_out]


@overload
def mirror(
    session: Session,
    messages: MutableSequence[Message],
    *,
    after: int | None = None,
    transform: None = None,
    intercept: Callable[[Event], bool | None] | None = None,
    on_applied: Callable[[Appended | Updated, Message, Message | None], object] | None = None,
) -> Subscription: ...
@overload
def mirror(
    session: Session,
    messages: MutableSequence[T],
    *,
    after: int | None = None,
    transform: Callable[[Message], T],
    intercept: Callable[[Event], bool | None] | None = None,
    on_applied: Callable[[Appended | Updated, T, T | None], object] | None = None,
) -> Subscription: ...
@overload
def mirror(
    session: Session,
    *,
    get: Callable[[], Sequence[Message]],
    set: Callable[[list[Message]], object],
    after: int | None = None,
    transform: None = None,
    intercept: Callable[[Event], bool | None] | None = None,
    on_applied: Callable[[Appended | Updated, Message, Message | None], object] | None = None,
) -> Subscription: ...
@overload
def mirror(
    session: Session,
    *,
    get: Callable[[], Sequence[T]],
    set: Callable[[list[T]], object],
    after: int | None = None,
    transform: Callable[[Message], T],
    intercept: Callable[[Event], bool | None] | None = None,
    on_applied: Callable[[Appended | Updated, T, T | None], object] | None = None,
) -> Subscription: ...
@overload
def mirror(
    session: AsyncSession,
    messages: MutableSequence[Any] | None = None,
    *,
    get: Callable[[], Sequence[Any]] | None = None,
    set: Callable[[list[Any]], object] | None = None,
    after: int | None = None,
    transform: Callable[[Message], Any] | None = None,
    intercept: Callable[[Event], Awaitable[bool | None] | bool | None] | None = None,
    on_applied: Callable[[Appended | Updated, Any, Any | None], object] | None = None,
) -> Awaitable[Subscription]: ...
def mirror(
    session: Session | AsyncSession,
    messages: MutableSequence[Any] | None = None,
    *,
    get: Callable[[], Sequence[Any]] | None = None,
    set: Callable[[list[Any]], object] | None = None,
    after: int | None = None,
    transform: Callable[[Message], Any] | None = None,
    intercept: Callable[[Event], Any] | None = None,
    on_applied: Callable[[Appended | Updated, Any, Any | None], object] | None = None,
) -> Subscription | Awaitable[Subscription]:
    """Keep a list of messages in step with a session's events, until the returned subscription is closed.

    Give the list itself, which is then changed in place, or `get` and `set`: each change then calls `set` once with
    a new list, and the one that `get` returned is left as it was.

    A new append takes the place of the entry with its id (so a pending row is confirmed) or is pushed; an update takes
    the place of the entry with its id, and stays out when there is none; a delete drops; a clear, or the deletion of
    the session, empties the whole list. Imports, selections, metadata and compactions change nothing. The list may
    hold anything else besides: an entry is a message's when it is a mapping with its `id`.

    `after` starts with the log after that event: `after=recent.seq` carries on from a `get_recent_history()`.
    Default: only what is written from now on.

    `transform(message)` makes the entry. Only entries that this mirror made are then replaced or dropped, those that
    the owner added never, nor any that the owner took out and put back. `intercept(event)` is called before each
    event; when it returns true, the event is left to it. `on_applied(event, entry, previous)` is called after each
    append and update that changed the list; `previous` is the entry that was replaced, `None` when it was pushed.
    All three are called in the thread that writes or polls, as every listener is.

    The list may be edited between events in any way. In place, the cost of an event doesn't grow with the list, also
    while its owner adds and removes at the end; after an edit elsewhere the next event may cost a pass. One edit is not
    noticed at once: an entry exchanged for one with another id (or given another id), more than 32 from the end, with
    nothing moved. That id counts as new until the next pass. With `get` and `set` a list that is another object than
    the one last set is read whole.

    With an `AsyncSession` it is `await mirror(...)`; `transform`, `intercept` and `on_applied` may then be coroutine
    functions, and are called on the loop.

    Raises `InvalidArgument` when not exactly one of the two forms is given, the list isn't a mutable sequence, the
    session is a store, or a function isn't one (a coroutine function among them, with a sync session).
    """
    check_session(session)
    is_async = isinstance(session, AsyncSession)
    check_functions(get=get, set=set)
    check_functions(allow_async=is_async, transform=transform, intercept=intercept, on_applied=on_applied)
    positions: Positions[Any] = PositionsById() if transform is None else PositionsOfOwn()
    entries = _entries(messages, get, set, positions)
    if isinstance(session, AsyncSession):
        return _mirror_async(session, entries, after, transform, intercept, on_applied)

    def listener(event: Event) -> None:
        if event.erased or (intercept is not None and intercept(event)):
            return
        applied = reduce(event, entries, transform)
        if applied is not None and on_applied is not None:
            on_applied(*applied)

    return session.subscribe(listener, after=after)


async def _mirror_async(
    session: AsyncSession,
    entries: Entries[Any],
    after: int | None,
    transform: Callable[[Message], Any] | None,
    intercept: Callable[[Event], Any] | None,
    on_applied: Callable[..., object] | None,
) -> Subscription:
    async def listener(event: Event) -> None:
        if event.erased or (intercept is not None and await result_of(intercept, event)):
            return
        make = transform
        if transform is not None and puts(event, entries):
            entry = await result_of(transform, event.message)
            make = lambda _message: entry  # noqa: E731
        applied = reduce(event, entries, make)
        if applied is not None and on_applied is not None:
            await result_of(on_applied, *applied)

    subscription = session.subscribe(listener, after=after)
    if after is not None:
        try:
            await session.sessions.poll()  # what the log holds is applied when this returns
        except BaseException:
            subscription.close()
            raise
    return subscription


def _entries(
    messages: MutableSequence[T] | None,
    get: Callable[[], Sequence[T]] | None,
    set: Callable[[list[T]], object] | None,
    positions: Positions[T],
) -> Entries[T]:
    if messages is None and get is not None and set is not None:
        return Reassigned(get, set, positions)
    if messages is None or get is not None or set is not None:
        raise InvalidArgument("mirror() needs either the list to change in place, or both get= and set=")
    if not isinstance(messages, MutableSequence):
        raise InvalidArgument(
            f"mirror() changes a list, or another mutable sequence, in place, not {type(messages).__name__}"
        )
    return InPlace(messages, positions)


def check_session(session: object) -> None:
    """Raises `InvalidArgument` for what isn't one conversation: a store, or nothing that can be listened to."""
    if isinstance(session, (Sessions, AsyncSessions)) or not hasattr(session, "subscribe"):
        raise InvalidArgument(f"a list follows one session, store.session(name), not {session!r}")


def check_functions(*, allow_async: bool = False, **functions: object) -> None:
    """Raises `InvalidArgument` for what is neither a plain function nor left out."""
    for name, function in functions.items():
        if function is not None and not callable(function):
            raise InvalidArgument(f"{name} must be a function, not {function!r}")
        if iscoroutinefunction(function) and not allow_async:
            raise InvalidArgument(f"{name} must be a plain function: a session awaits none")
