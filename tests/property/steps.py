"""What the store machine does in one step beside a single write: nested transactions, and calls with their outcomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
from hypothesis import strategies as st

from eventstore import EventStoreError
from eventstore.testing.writes import write_kinds

NAMES = ("", "other")
WRITES = st.one_of(*write_kinds().values())
ANY_SESSION = st.sampled_from((*NAMES[:1] * 3, *NAMES[1:]))


class RolledBack(Exception):
    """Ends a transaction that is to leave nothing."""


@attrs.frozen
class Nested:
    """A transaction inside another: what is done in it, and whether it is kept."""

    steps: Sequence[Any]
    kept: bool


def nested(depth: int = 2) -> st.SearchStrategy[Nested]:
    step: st.SearchStrategy[Any] = st.tuples(ANY_SESSION, WRITES)
    if depth:
        step = st.one_of(step, step, nested(depth - 1))
    return st.builds(Nested, st.lists(step, min_size=1, max_size=3), st.booleans())


def outcome(call: Callable[[], Any]) -> Any:
    """What a call returned or raised, comparable."""
    try:
        result = call()
    except EventStoreError as error:
        facts = {name: vars(error).get(name) for name in ("expected", "actual")}
        return [type(error).__name__, facts, sorted(vars(error).get("message_ids", ()))]
    if isinstance(result, list):
        return [attrs.asdict(each) if attrs.has(type(each)) else each for each in result]
    return attrs.asdict(result) if result is not None and attrs.has(type(result)) else result
