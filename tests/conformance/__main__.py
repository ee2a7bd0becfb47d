"""`python -m tests.conformance [FOLDER]`: every recording as same or differing, and how many there are of each.

Exits with 1 when a recording differs that shouldn't, or doesn't differ though it is listed.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.conformance.recording import read_recording
from tests.conformance.verdict import Kind, judge

VECTORS = Path(__file__).parent / "vectors"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.conformance", description="Replay recordings of the JavaScript reference."
    )
    parser.add_argument("folder", nargs="?", type=Path, default=VECTORS, help="where the recordings lie")
    folder: Path = parser.parse_args(arguments).folder
    counts: Counter[Kind] = Counter()
    failed = False
    with TemporaryDirectory() as stores:
        for path in sorted(folder.glob("*.json")):
            verdict = judge(read_recording(path), Path(stores))
            counts[verdict.kind] += 1
            failed |= not verdict.ok
            print(f"{path.stem}: {verdict.kind.value}")
            for line in verdict.lines:
                print(f"    {line}")
    print(", ".join(f"{counts[kind]} {kind.value}" for kind in Kind), f"of {counts.total()}")
    if not counts:
        print(f"no recordings in {folder}", file=sys.stderr)
    return 1 if failed or not counts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
