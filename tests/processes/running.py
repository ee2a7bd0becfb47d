"""Other processes: Python scripts that run to their end, or until a test has seen enough of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[2]
TIMEOUT = 60.0
NOBODY = 65_534

PREAMBLE = """
import os, sys, time
from pathlib import Path
from eventstore import *

def message(message_id, text=""):
    return {"id": message_id, "role": "user", "parts": [{"type": "text", "text": text}]}

def ids(found):
    return [each["id"] for each in found]

def failing(call):
    '''The name of the error that a call raises, "" when it raises none.'''
    try:
        call()
    except EventStoreError as error:
        return type(error).__name__
    return ""
"""

DROP_ROOT = f"""
if os.geteuid() == 0:  # modes don't bind root
    os.setgroups([])
    os.setgid({NOBODY})
    os.setuid({NOBODY})
"""


def environment() -> dict[str, str]:
    """With our packages importable, wherever the script runs."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONWARNINGS": "error"}


def run(script: str, *arguments: object, cwd: Path | None = None, fails: bool = False) -> str:
    """What a script printed. Raises `AssertionError` with what it said when it fails (or, with `fails`, doesn't)."""
    done = subprocess.run(
        [sys.executable, "-c", PREAMBLE + dedent(script), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        env=environment(),
        cwd=cwd,
    )
    assert (done.returncode != 0) == fails, f"exit {done.returncode}: {done.stderr[-3_000:]}"
    return done.stdout.strip()


def run_unprivileged(script: str, *arguments: object) -> str:
    """As `run`, but file modes bind the script: it isn't root once it has imported what it needs."""
    return run(DROP_ROOT + dedent(script), *arguments)


@contextmanager
def running(script: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A script that goes on until the block ends, with pipes to talk through. It is killed then, if it still runs."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", PREAMBLE + dedent(script), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(TIMEOUT)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    """A script that runs beside the test: `finish` waits for it."""
    return subprocess.Popen(
        [sys.executable, "-c", PREAMBLE + dedent(script), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )


def finish(process: subprocess.Popen[str]) -> str:
    """What a started script printed. Raises `AssertionError` with what it said when it fails."""
    printed, said = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 0, f"exit {process.returncode}: {said[-3_000:]}"
    return printed.strip()


def say(process: subprocess.Popen[str], line: str = "go") -> None:
    """Gives a running script a line to read."""
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()


def hear(process: subprocess.Popen[str]) -> str:
    """The next line that a running script prints."""
    assert process.stdout is not None
    return process.stdout.readline().strip()
