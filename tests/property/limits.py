"""The store's windows and thresholds, and those of search, made so small that a handful of messages passes each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from eventstore import (
    copying,
    deltas,
    feed,
    history,
    importing,
    index,
    log,
    reading,
    replay,
    searching,
    sessions,
    snippets,
    store,
    texts,
    totals,
    tree,
    weighing,
    words,
)

SMALL: tuple[tuple[object, str, int], ...] = (
    (copying, "REPORT_EVERY", 2),
    (deltas, "LEAST_BASE", 1),
    (deltas, "PIECE_WEIGHT", 1),
    (deltas, "SLICE_BYTES", 40),
    (feed, "WINDOW_EVENTS", 3),
    (history, "_MOST_AT_ONCE", 2),
    (importing, "BATCH_ROWS", 2),
    (log, "WINDOW", 3),
    (reading, "TREE_WINDOW", 3),
    (replay, "WINDOW_BYTES", 200),
    (sessions, "LIST_WINDOW", 1),
    (store, "GROWING_MESSAGES", 1),
    (totals, "MOST_EVENTS", 5),
    (totals, "TAIL", 2),
    (tree, "_WINDOW", 2),
)


SMALL_SEARCH: tuple[tuple[object, str, object], ...] = (
    (index, "ERASE_EACH", 2),
    (searching, "IDLE_EVENTS", 2),
    (snippets, "BLOCK", 20),
    (texts, "BATCH_BYTES", 150),
    (texts, "BATCH_MESSAGES", 2),
    (texts, "_BATCH_EVENTS", 3),
    (texts, "_TOGETHER", 1),
    (weighing, "_SORTED", 1),
    (weighing, "_TOGETHER", 2),
    (weighing, "_WIDEST_WINDOW", 2),
    (weighing, "_WINDOW", 1),
    (words, "PIECE", 25),
    (words.pieces, "__defaults__", (25,)),
)


@contextmanager
def small_limits() -> Iterator[None]:
    """Inside, they are small."""
    with ExitStack() as stack:
        for module, name, value in SMALL:
            stack.enter_context(patch.object(module, name, value))
        stack.enter_context(small_search_limits())
        yield


@contextmanager
def small_search_limits() -> Iterator[None]:
    """Inside, those of search are small."""
    with ExitStack() as stack:
        for owner, name, value in SMALL_SEARCH:
            stack.enter_context(patch.object(owner, name, value))
        yield
