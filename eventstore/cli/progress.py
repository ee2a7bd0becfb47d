"""Progress bars on standard error, when that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from eventstore import Progress
from eventstore.cli.screen import one_line


@contextmanager
def bar(title: str, *, unless: bool = False) -> Iterator[Progress | None]:
    """What to pass as `progress`; it draws a bar, which is gone at the end. `None` when nobody would see it."""
    console = Console(file=sys.stderr)
    if unless or not console.is_terminal:
        yield None
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(show_speed=False),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=console, transient=True) as bars:
        task = bars.add_task(one_line(title), total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)
