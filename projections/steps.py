"""Work that both faces of the store share: generators that yield functions to call, and are sent what those return.

What such a function returns is awaited on an event loop, and is the result itself elsewhere. `UnknownMessage`, the one
error that work has an answer to, is raised where the function was asked for; any other ends the work.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from inspect import isawaitable
from typing import Any, TypeAlias, TypeVar

from eventstore import UnknownMessage

R = TypeVar("R")
Steps: TypeAlias = Generator[Callable[[], Any], Any, R]


def run(steps: Steps[None]) -> None:
    """Does work to its end."""
    with closing(steps):
        call = _next(steps.send, None)
        while call is not None:
            try:
                result = call()
            except UnknownMessage as error:
                call = _next(steps.throw, error)
            else:
                call = _next(steps.send, result)


async def run_async(steps: Steps[None]) -> None:
    """Does work to its end, on an event loop."""
    with closing(steps):
        call = _next(steps.send, None)
        while call is not None:
            try:
                result = await result_of(call)
            except UnknownMessage as error:
                call = _next(steps.throw, error)
            else:
                call = _next(steps.send, result)


async def result_of(function: Callable[..., Any], *arguments: object) -> Any:
    """What a function returns, or what awaiting that gives."""
    result = function(*arguments)
    return await result if isawaitable(result) else result


def _next(resume: Callable[[Any], Callable[[], Any]], value: Any) -> Callable[[], Any] | None:
    """What work asks for next, `None` when it is done."""
    try:
        return resume(value)
    except StopIteration:
        return None
