"""Processes of their own: with compiled modules, as any installed package has them, wherever the benchmark runs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]


def environment(folder: Path) -> dict[str, str]:
    """The environment, but modules are compiled once: into a folder that goes with the run, if not where they are."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    if sys.dont_write_bytecode:
        kept["PYTHONPYCACHEPREFIX"] = str(folder / "compiled")
    path = os.pathsep.join(filter(None, (str(ROOT), kept.get("PYTHONPATH"))))
    return {**kept, "PYTHONPATH": path}


def python(folder: Path, arguments: Sequence[str]) -> subprocess.Popen[str]:
    """A Python that runs `arguments`, with pipes to it and from it."""
    return subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=environment(folder),
    )


def seconds_to_line(folder: Path, arguments: Sequence[str]) -> float:
    """From the start of a process to the first line that it writes."""
    begin = time.perf_counter()
    with python(folder, arguments) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        taken = time.perf_counter() - begin
        assert line, f"{arguments} wrote nothing"
    return taken
