"""`follow`: a list that always is what a session's history shows.

The list is the store's to change: its owner reads it, and is told of every change before it comes. `follower` says what
an event does to it; here are the subscription and the calls.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, MutableSequence
from typing import Any, TypeVar, overload

from eventstore import AsyncSession, Event, InvalidArgument, Message, Session, Subscription
from projections.follower import Change, Follower
from projections.mirror import check_functions, check_session
from projections.paths import Reading
from projections.steps import run, run_async

T = TypeVar("T")


class Following(Subscription):
    """What ends a `follow`, and heals its list."""

    def __init__(self, close: Callable[[], object], refresh: Callable[[], object]) -> None:
        super().__init__(close)
        self._refresh = refresh

    def refresh(self) -> None:
        """Reads the history anew, and puts right whatever in the list isn't so. Nothing after `close()`."""
        if self._close is not None:
            self._refresh()


class AsyncFollowing(Subscription):
    """As `Following`, of an `AsyncSession`."""

    def __init__(self, close: Callable[[], object], refresh: Callable[[], Awaitable[None]]) -> None:
        super().__init__(close)
        self._refresh = refresh

    async def refresh(self) -> None:
        """Reads the history anew, and puts right whatever in the list isn't so. Nothing after `close()`."""
        if self._close is not None:
            await self._refresh()


@overload
def follow(
    session: Session,
    messages: MutableSequence[Message],
    *,
    transform: None = None,
    leaf_id: str | None = None,
    compacted: bool = True,
    on_change: Callable[[Change[Message]], object] | None = None,
) -> Following: ...
@overload
def follow(
    session: Session,
    messages: MutableSequence[T],
    *,
    transform: Callable[[Message], T],
    leaf_id: str | None = None,
    compacted: bool = True,
    on_change: Callable[[Change[T]], object] | None = None,
) -> Following: ...
@overload
def follow(
    session: AsyncSession,
    messages: MutableSequence[Message],
    *,
    transform: None = None,
    leaf_id: str | None = None,
    compacted: bool = True,
    on_change: Callable[[Change[Message]], object] | None = None,
) -> Awaitable[AsyncFollowing]: ...
@overload
def follow(
    session: AsyncSession,
    messages: MutableSequence[T],
    *,
    transform: Callable[[Message], Awaitable[T]] | Callable[[Message], T],
    leaf_id: str | None = None,
    compacted: bool = True,
    on_change: Callable[[Change[T]], object] | None = None,
) -> Awaitable[AsyncFollowing]: ...
def follow(
    session: Session | AsyncSession,
    messages: MutableSequence[Any],
    *,
    transform: Callable[[Message], Any] | None = None,
    leaf_id: str | None = None,
    compacted: bool = True,
    on_change: Callable[[Change[Any]], object] | None = None,
) -> Following | Awaitable[AsyncFollowing]:
    """Fill a list with a session's history and keep it so, until the returned `Following` is closed.

    The list always equals `[transform(m) for m in session.get_history(leaf_id=…, compacted=…)]`: after branches, leaf
    selections, updates, deletes, imports, clears and compactions, of this store and, once it polls, of others. Without
    `transform` the entries are the messages. With `leaf_id` it is the path to that message; it is empty while the
    session doesn't hold that message any more.

    It is changed by slice assignment only, at most once an event, and only where it changes: a plain append or update
    costs the same however long it is. `on_change(change)` is called before each change, the first filling too:
    `change.removed`, the entries from `change.start` on, will give way to `change.added`. When it raises, the list
    changes all the same; when `transform` does, the list is made right at the next event. Both are called in the thread
    that writes or polls, as every listener is.

    Events that come late do no harm: what a read has shown already is passed over. A list that its owner changed is put
    right by `refresh()` (and by the next event, when its length is another). Don't call `follow` or `refresh()` inside
    a `transaction()`: they would show what may be rolled back.

    With an `AsyncSession` it is `await follow(...)`, whose result has `await refresh()`; both functions may then be
    coroutine functions, and are called on the loop.

    Raises `UnknownMessage` for a `leaf_id` that the session doesn't hold, and `InvalidArgument` for a list that isn't a
    mutable sequence with slices, a store in the place of a session, or a function that isn't one (a coroutine function
    among them, with a sync session).
    """
    check_session(session)
    check_functions(allow_async=isinstance(session, AsyncSession), transform=transform, on_change=on_change)
    if not isinstance(messages, MutableSequence) or isinstance(messages, deque):  # which has no slices
        found = type(messages).__name__
        raise InvalidArgument(
            f"follow() changes slices of a list, or another mutable sequence with slices, not {found}"
        )
    follower: Follower[Any] = Follower(messages, Reading(session, leaf_id, compacted), transform, on_change)
    if isinstance(session, AsyncSession):
        return _follow_async(session, follower)
    run(follower.fill())
    subscription = session.subscribe(lambda event: run(follower.handle(event)), after=follower.shown)
    return Following(subscription.close, lambda: _reload_alone(session, follower))


def _reload_alone(session: Session, follower: Follower[Any]) -> None:
    """Reloads while no event is delivered: what a subscription replays comes at such a moment."""
    waiting = [None]
    errors: list[Exception] = []

    def once(_event: Event) -> None:
        if waiting:
            waiting.pop()
            try:
                run(follower.reload())
            except Exception as error:  # noqa: BLE001 - it is raised below, to who asked, and not to the feed
                errors.append(error)

    sessions = session.sessions
    with sessions.subscribe(once, after=max(sessions.latest_seq - 1, 0)):
        pass
    if waiting:  # the store has no event, or this is inside a listener: then nothing else is delivered now
        run(follower.reload())
    for error in errors:
        raise error


async def _follow_async(session: AsyncSession, follower: Follower[Any]) -> AsyncFollowing:
    async def listener(event: Event) -> None:
        await run_async(follower.handle(event))

    await run_async(follower.fill())
    subscription = session.subscribe(listener, after=follower.shown)
    try:
        await session.sessions.poll()  # the list is as it will be kept
    except BaseException:
        subscription.close()
        raise
    return AsyncFollowing(subscription.close, lambda: _reload_alone_async(session, follower))


async def _reload_alone_async(session: AsyncSession, follower: Follower[Any]) -> None:
    waiting = [None]
    errors: list[Exception] = []

    async def once(_event: Event) -> None:
        if waiting:
            waiting.pop()
            try:
                await run_async(follower.reload())
            except Exception as error:  # noqa: BLE001 - as above
                errors.append(error)

    sessions = session.sessions
    with sessions.subscribe(once, after=max(await sessions.latest_seq() - 1, 0)):
        await sessions.poll()  # returns once all is delivered
    if waiting:
        await run_async(follower.reload())
    for error in errors:
        raise error
