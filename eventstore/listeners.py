"""Who hears a store's events: the registry, listeners on their way into it, and what takes them out again.

The registry is blinker's signal, for its senders and its users, with an order.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Generator, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

from blinker import ANY, Signal

from eventstore import hints
from eventstore.errors import InvalidArgument

if TYPE_CHECKING:
    from eventstore.events import Event

F = TypeVar("F", bound=Callable[..., Any])
Listener: TypeAlias = Callable[["hints.Event"], object]


class OrderedSet(dict[Any, None]):
    """What blinker keeps the receivers of a sender in: in the order of their coming."""

    def add(self, item: Any) -> None:
        """Adds, keeping an older place."""
        self.setdefault(item)

    def discard(self, item: Any) -> None:
        """Removes, if it is there."""
        self.pop(item, None)

    def remove(self, item: Any) -> None:
        """Removes."""
        del self[item]

    def copy(self) -> OrderedSet:
        """A copy in the same order."""
        return OrderedSet(self)

    def update(self, items: Iterable[Any]) -> None:  # type: ignore[override]
        """Adds each."""
        for item in items:
            self.add(item)


class OrderedSignal(Signal):
    """A signal that keeps an order: those connected to all senders first, each lot in the order of its connecting.

    Receivers come and go in any thread. blinker goes over its senders to disconnect one, and fails if another thread
    brings a new sender meanwhile; so one thread at a time is in its tables.
    """

    set_class = OrderedSet  # type: ignore[assignment]

    def __init__(self, doc: str | None = None) -> None:
        super().__init__(doc)
        self._tables = threading.RLock()

    def connect(self, receiver: F, sender: Any = ANY, weak: bool = True) -> F:
        """As blinker's."""
        with self._tables:
            return super().connect(receiver, sender, weak)

    def disconnect(self, receiver: Callable[..., Any], sender: Any = ANY) -> None:
        """As blinker's."""
        with self._tables:
            super().disconnect(receiver, sender)

    def receivers_for(self, sender: Any) -> Generator[Callable[..., Any], None, None]:
        """As blinker's, those of this moment."""
        with self._tables:
            receivers = list(super().receivers_for(sender))
        yield from receivers


class Subscription:
    """What undoes a subscription: call it, `close()` it, or leave its `with`. Doing it twice is no error."""

    def __init__(self, close: Callable[[], object]) -> None:
        self._close: Callable[[], object] | None = close

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, {'open' if self._close is not None else 'closed'}>"

    def close(self) -> None:
        """Ends the subscription. No event comes after it."""
        close, self._close = self._close, None
        if close is not None:
            close()

    def __call__(self) -> None:
        """As `close()`."""
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


class Joining:
    """A listener on its way in, and then its receiver."""

    def __init__(
        self, listener: Listener, sender: object | None, replay: Callable[[int], Iterable[Event]] | None
    ) -> None:
        self.sender = sender
        self.replay = replay
        self.told = 0  # of the replay
        self.closed = False
        self._listener = listener

    def receiver(self, _sender: object, *, event: Event) -> None:
        """Calls the listener, unless one that heard this event before has closed it."""
        if not self.closed:
            self._listener(event)


def check_listener(listener: object) -> None:
    """Raises `InvalidArgument` for what can't be called as a listener, or would only make a coroutine."""
    if not callable(listener):
        raise InvalidArgument(f"a listener must be callable, not {type(listener).__name__}")
    if inspect.iscoroutinefunction(listener):
        raise InvalidArgument("a listener must be a plain function: nobody would await a coroutine function here")
