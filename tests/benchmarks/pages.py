"""The parts of the docs that commands write: what stands between two marks."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from tests.benchmarks.fresh import ROOT

README = ROOT / "README.md"
PERFORMANCE = ROOT / "docs" / "performance.md"
DESIGN = ROOT / "docs" / "design.md"


def machine() -> str:
    """What it runs on, and how busy that is."""
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    python = platform.python_version()
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, load {load}, Python {python}"


def now() -> str:
    """The time, to the minute."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def said() -> str:
    """When and where something was measured, for the docs."""
    return f"{now()}, {machine()}."


def replace(page: Path, name: str, lines: Iterable[str]) -> None:
    """Replaces the lines between `<!-- NAME: … -->` and `<!-- end of NAME -->`. Raises `LookupError` without marks."""
    text = page.read_text()
    marks = re.compile(rf"(<!-- {name}: [^\n]*-->\n).*?(<!-- end of {name} -->)", re.DOTALL)
    if not marks.search(text):
        raise LookupError(f"{page} has no marks for {name!r}")
    written = "\n".join(lines)
    page.write_text(marks.sub(lambda found: f"{found[1]}\n{written}\n\n{found[2]}", text))
