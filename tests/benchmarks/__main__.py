"""`python -m tests.benchmarks [NAME…]`: one table of what is measured, beside its floor and its target."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import gettempdir

from tests.benchmarks import plot, profile
from tests.benchmarks.measure import FULL, QUICK, Line
from tests.benchmarks.peers import command as peers
from tests.benchmarks.suite import BENCHMARKS, ON_REQUEST, choose, run
from tests.benchmarks.table import as_json, print_table


def docs(arguments: list[str]) -> int:
    """Writes every table of the docs anew, `--quick` and `--folder` as for each of the commands."""
    return max(main([*arguments, "--write"]) for main in (plot.main, profile.main, peers.main))


COMMANDS = {"peers": peers.main, "plot": plot.main, "profile": profile.main, "docs": docs}
"""What is more than lines with a floor."""


def main(arguments: list[str]) -> int:
    if arguments and arguments[0] in COMMANDS:
        return COMMANDS[arguments[0]](arguments[1:])
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description="Measure against raw SQLite.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"beginnings of: {', '.join(BENCHMARKS)}; {', '.join(ON_REQUEST)}"
    )
    parser.add_argument("--quick", action="store_true", help="smaller sizes, for a first look; targets are about full")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--folder", type=Path, default=Path(gettempdir()), help="a folder on the disk to measure")
    chosen = parser.parse_args(arguments)
    try:
        wanted = choose(chosen.names)
    except LookupError as error:
        parser.error(str(error))
    lines: list[tuple[str, Line]] = []
    for name, line in run(wanted, QUICK if chosen.quick else FULL, chosen.folder):
        lines.append((name, line))
        print(f"{line.what}: {line.ratio:.2f} ×", file=sys.stderr)
    if chosen.json:
        print(as_json(lines))
    else:
        print_table([line for _, line in lines])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
