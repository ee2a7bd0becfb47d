"""`python -m tests.soak [NAME…] [--minutes N] [--seed S]`: trouble for as long as you like, and a table of what it was.

The time is shared out among the sections; each does a least amount however short it is. What is wrong is printed with
its seed, counted, and makes the exit code 1; the soak goes on.
"""

from __future__ import annotations

import argparse
import logging
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

import attrs

from tests.crash.kills import prepare_courses
from tests.soak.sections import SECTIONS, Section

REPORT_EVERY = 10.0  # seconds


@attrs.define
class Line:
    """What came of one section."""

    name: str
    seconds: float = 0.0
    steps: int = 0
    wrong: int = 0
    counted: Counter[str] = attrs.Factory(Counter)

    def __str__(self) -> str:
        counts = ", ".join(f"{count:,} {what}" for what, count in self.counted.items())
        return f"{self.name:<12} {self.wrong:>5} {self.steps:>6} {self.seconds:>8.0f}  {counts}"


def soak(name: str, section: Section, seconds: float, seed: int) -> Line:
    """Runs one section for so long."""
    line = Line(name)
    began = reported = time.monotonic()
    while line.steps < section.least or time.monotonic() - began < seconds:
        if section.most is not None and line.steps >= section.most:
            break
        folder = Path(tempfile.mkdtemp(prefix="soak-"))
        try:
            line.counted += section.step(folder, seed + line.steps)
        except Exception:  # noqa: BLE001 - whatever it is, it is what a soak is for
            line.wrong += 1
            print(f"{name}, seed {seed + line.steps}:\n{traceback.format_exc()}", file=sys.stderr)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        line.steps += 1
        line.seconds = time.monotonic() - began
        if time.monotonic() - reported > REPORT_EVERY:
            reported = time.monotonic()
            print(line, file=sys.stderr, flush=True)
    return line


def main(arguments: list[str]) -> int:
    sections = "\n".join(f"  {name:<12}  {section.told}" for name, section in SECTIONS.items())
    parser = argparse.ArgumentParser(
        prog="python -m tests.soak",
        description="Kills, starves, races and spoils stores, and says what was lost: nothing, or the exit code is 1.",
        epilog=f"The sections:\n{sections}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a section; without one all of them")
    parser.add_argument(
        "--minutes",
        type=float,
        default=0.0,
        help="for all of them together; each does its least anyway, which is some minutes in all",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="of the first step; the next has the next number. Default: 0"
    )
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.names if name not in SECTIONS]
    if unknown:
        parser.error(f"{unknown[0]} is none of {', '.join(SECTIONS)}")
    names = chosen.names or list(SECTIONS)
    logging.getLogger("eventstore").disabled = True  # failures of automatic compactions, which are meant here
    sys.unraisablehook = lambda _: None  # errors of the failing disks that SQLite passes over
    prepare_courses()
    lines = []
    for name in names:
        lines.append(soak(name, SECTIONS[name], chosen.minutes * 60 / len(names), chosen.seed))
        print(lines[-1], file=sys.stderr, flush=True)
    print(f"{'section':<12} {'wrong':>5} {'steps':>6} {'seconds':>8}  done")
    for line in lines:
        print(line)
    return 1 if any(line.wrong for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
