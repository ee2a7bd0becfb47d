"""Other processes: Python scripts that run to their end, or until a test has seen enough of them.

Each is a fork of an interpreter that has loaded the packages: loading them takes longer than most of what is done.
"""

from __future__ import annotations

import atexit
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from select import select
from textwrap import dedent
from typing import IO, TextIO

from tests.processes.nursery import ask

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
import urllib.parse  # late, where a store is only read; who has no rights may not get at it
if os.geteuid() == 0:  # modes don't bind root
    os.setgroups([])
    os.setgid({NOBODY})
    os.setuid({NOBODY})
"""


def environment() -> dict[str, str]:
    """With our packages importable, wherever the script runs."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONWARNINGS": "error"}


@cache
def _nursery() -> socket.socket:
    """Where to ask for a fork. One process for all tests of this one."""
    ours, its = socket.socketpair()
    command = [sys.executable, "-m", "tests.processes.nursery", str(its.fileno())]
    process = subprocess.Popen(command, pass_fds=[its.fileno()], stdin=subprocess.DEVNULL, env=environment(), cwd=ROOT)
    its.close()

    def end() -> None:
        ours.close()
        process.wait(TIMEOUT)

    atexit.register(end)
    return ours


class Script:
    """A script that runs, with pipes to talk through. What it says on standard error goes into a file."""

    def __init__(self, script: str, *arguments: object) -> None:
        reading, stdin = os.pipe()
        stdout, writing = os.pipe()
        self._told, telling = os.pipe()
        self._said: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115 - `close` does
        self.stdin: TextIO = os.fdopen(stdin, "w")
        self.stdout: TextIO = os.fdopen(stdout)
        given = {"script": PREAMBLE + dedent(script), "arguments": [str(each) for each in arguments]}
        files = [reading, writing, self._said.fileno(), telling]
        ask(_nursery(), {**given, "environment": environment()}, files)
        for each in (reading, writing, telling):
            os.close(each)
        self.pid = self._hear_number()
        self.returncode: int | None = None

    def _hear_number(self) -> int:
        line = b""
        while not line.endswith(b"\n"):
            more = os.read(self._told, 1)
            assert more, "the nursery has gone"
            line += more
        return int(line)

    def poll(self) -> int | None:
        """Its status once it has ended; negative the signal that ended it."""
        if self.returncode is None and select([self._told], [], [], 0)[0]:
            self.returncode = self._hear_number()
        return self.returncode

    def wait(self, timeout: float = TIMEOUT) -> int:
        """Waits for its end. Gives its status."""
        if self.returncode is None:
            assert select([self._told], [], [], timeout)[0], f"it goes on after {timeout} seconds"
            self.returncode = self._hear_number()
        return self.returncode

    def kill(self) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def said(self) -> str:
        """What it said on standard error, the end of it."""
        self._said.seek(0)
        return self._said.read()[-3_000:]

    def close(self) -> None:
        """Kills it, if it still runs."""
        self.kill()
        self.wait()
        with suppress(BrokenPipeError):
            self.stdin.close()
        self.stdout.close()
        self._said.close()
        os.close(self._told)


def run(script: str, *arguments: object, fails: bool = False) -> str:
    """Starts a script and finishes it."""
    return finish(start(script, *arguments), fails=fails)


def run_unprivileged(script: str, *arguments: object) -> str:
    """As `run`, but file modes bind the script: it isn't root once it has imported what it needs."""
    return run(DROP_ROOT + dedent(script), *arguments)


@contextmanager
def running(script: str, *arguments: object) -> Iterator[Script]:
    """A script that goes on until the block ends. It is killed then, if it still runs."""
    process = start(script, *arguments)
    try:
        yield process
    finally:
        process.close()


def start(script: str, *arguments: object) -> Script:
    """A script that runs beside the test: `finish` waits for it."""
    return Script(script, *arguments)


def finish(process: Script, *, fails: bool = False) -> str:
    """What a started script printed, no more than a pipe holds. Raises `AssertionError` with what it said when it fails
    (or, with `fails`, doesn't)."""
    try:
        process.stdin.close()
        status = process.wait()
        assert (status != 0) == fails, f"exit {status}: {process.said()}"
        return process.stdout.read().strip()
    finally:
        process.close()


def say(process: Script, line: str = "go") -> None:
    """Gives a running script a line to read."""
    process.stdin.write(line + "\n")
    process.stdin.flush()


def hear(process: Script) -> str:
    """The next line that a running script prints."""
    return process.stdout.readline().strip()
