"""What a benchmark is given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from tests.benchmarks.material import Conversations
from tests.benchmarks.measure import Folder, Line, Sizes


class Bench:
    """Sizes, a folder, and conversations to read."""

    def __init__(self, sizes: Sizes, path: Path) -> None:
        self.sizes = sizes
        self.folder = Folder(path)
        self.conversations = Conversations(self.folder)


Benchmark: TypeAlias = Callable[[Bench], list[Line]]
