"""The named steps of a write, where a test may stop, kill or fail the process. Off by default.

A write passes `SEAMS` in this order. What must hold at each: before "committed" nothing of the write lasts, from
"committed" on all of it does; listeners hear of it only after "committed".
"""

from __future__ import annotations

from collections.abc import Callable

SEAMS = ("begun", "decided", "logged", "applied", "committed", "emitted")

hook: Callable[[str], object] | None = None
"""Called with the name of each seam as it is passed. For tests; one for the whole process."""


def reach(name: str) -> None:
    """Passes the seam `name`."""
    if hook is not None:
        hook(name)
