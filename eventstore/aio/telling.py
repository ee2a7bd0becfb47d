"""`progress` on an event loop: called from the thread of a long call, which waits until it returns."""

from __future__ import annotations

import contextvars
import threading
from typing import Any

from eventstore.aio.loops import Loop, result_of
from eventstore.aio.threads import Threads
from eventstore.errors import InvalidArgument
from eventstore.types import Progress


class _Telling:
    """One call of a `progress`."""

    def __init__(self, thread: threading.Thread, outer: _Telling | None) -> None:
        self.thread = thread  # that waits for it
        self.is_over = False
        self.outer = outer  # that waits for what this tells of


_telling: contextvars.ContextVar[_Telling | None] = contextvars.ContextVar("eventstore_telling", default=None)
"""The call inside which this runs, in its own task or in one that it started."""


def on_loop(loop: Loop, progress: Progress) -> Progress:
    """A function for a thread to call, which calls `progress` on the loop, and awaits it if it can be."""
    outer = _telling.get()  # a thread has no context of ours

    def tell(done: int, total: int | None) -> object:
        return loop.call_from_thread(_tell, progress, _Telling(threading.current_thread(), outer), done, total)

    return tell


async def _tell(progress: Progress, telling: _Telling, done: int, total: int | None) -> Any:
    before = _telling.set(telling)
    try:
        return await result_of(progress, done, total)
    finally:
        telling.is_over = True
        _telling.reset(before)


def check_can_wait(*threads: Threads) -> None:
    """Raises `InvalidArgument` inside a `progress` that one of these threads waits for: neither would ever end."""
    telling = _telling.get()
    while telling is not None:
        if not telling.is_over and any(each.holds(telling.thread) for each in threads):
            raise InvalidArgument(
                "progress can't wait for what waits for the call that it tells of, as a write to the same store does: "
                "keep what it has to say, and write that when the call has returned"
            )
        telling = telling.outer
