"""The parts of the docs that commands write: what stands between two marks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from tests.benchmarks.fresh import ROOT

README = ROOT / "README.md"
PERFORMANCE = ROOT / "docs" / "performance.md"
DESIGN = ROOT / "docs" / "design.md"


def replace(page: Path, name: str, lines: Iterable[str]) -> None:
    """Replaces the lines between `<!-- NAME: … -->` and `<!-- end of NAME -->`. Raises `LookupError` without marks."""
    text = page.read_text()
    marks = re.compile(rf"(<!-- {name}: [^\n]*-->\n).*?(<!-- end of {name} -->)", re.DOTALL)
    if not marks.search(text):
        raise LookupError(f"{page} has no marks for {name!r}")
    written = "\n".join(lines)
    page.write_text(marks.sub(lambda found: f"{found[1]}\n{written}\n\n{found[2]}", text))
