"""Threads that begin together, and are waited for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

LONG = 30.0  # seconds that a thread is waited for: a test that needs them has failed


def all_at_once(*work: Callable[[], object]) -> None:
    """Runs each in a thread of its own, begun together; raises what one of them raised."""
    together = threading.Barrier(len(work))

    def begin(each: Callable[[], object]) -> None:
        together.wait(LONG)
        each()

    with ThreadPoolExecutor(len(work)) as pool:
        for future in [pool.submit(begin, each) for each in work]:
            future.result(LONG)
