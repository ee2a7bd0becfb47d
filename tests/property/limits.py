"""The store's windows and thresholds, made so small that a handful of messages passes every one of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from eventstore import copying, deltas, history, importing, log, reading, replay, sessions, store, totals, tree

SMALL: tuple[tuple[object, str, int], ...] = (
    (copying, "REPORT_EVERY", 2),
    (copying, "WAITING_BYTES", 1),
    (deltas, "LEAST_BASE", 1),
    (deltas, "PIECE_WEIGHT", 1),
    (deltas, "SLICE_BYTES", 40),
    (history, "_MOST_AT_ONCE", 2),
    (importing, "BATCH_ROWS", 2),
    (log, "WINDOW", 3),
    (reading, "TREE_WINDOW", 3),
    (replay, "WINDOW_BYTES", 200),
    (replay, "WINDOW_EVENTS", 3),
    (sessions, "LIST_WINDOW", 1),
    (store, "GROWING_MESSAGES", 1),
    (totals, "MOST_EVENTS", 5),
    (totals, "TAIL", 2),
    (tree, "_WINDOW", 2),
)


@contextmanager
def small_limits() -> Iterator[None]:
    """Inside, they are small."""
    with ExitStack() as stack:
        for module, name, value in SMALL:
            stack.enter_context(patch.object(module, name, value))
        yield
