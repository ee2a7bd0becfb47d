"""Many real processes for little: the command is loaded once, and a fork runs each call with the streams asked for.

`python -m tests.cli.forking` reads calls from standard input, a line each as JSON: {"arguments": [...], "stdout":
"pipe" | "closed" | "full" | "missing", "as_nobody": true | false}, and answers each on a line: {"status": ...,
"stderr": ...}. "closed" is a pipe that nobody reads any more, "full" a full disk, "missing" no stream at all.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import attrs

from tests.cli.running import environment

NOBODY = 65534
Stdout = Literal["pipe", "closed", "full", "missing"]


@attrs.frozen
class Ended:
    """How a process ended."""

    status: int
    stderr: str


def run_all(calls: Iterable[Iterable[object]], stdout: Stdout, cwd: Path, *, as_nobody: bool = False) -> list[Ended]:
    """Runs calls one after the other, in this folder."""
    lines = [
        json.dumps({"arguments": [str(each) for each in call], "stdout": stdout, "as_nobody": as_nobody})
        for call in calls
    ]
    done = subprocess.run(
        [sys.executable, "-m", "tests.cli.forking"],
        input="\n".join(lines).encode(),
        cwd=cwd,
        env=environment(PYTHONPATH=os.pathsep.join(sys.path), PYTHONDONTWRITEBYTECODE="1"),
        capture_output=True,
        timeout=120,
        check=True,
    )
    return [Ended(**json.loads(line)) for line in done.stdout.splitlines()]


def main() -> None:
    """Answers the calls on standard input."""
    from click import Context

    from eventstore.cli.app import app

    for name in app.list_commands(Context(app)):
        app.get_command(Context(app), name)
    for encoding in ("utf-16-le", "utf-16-be", "ascii"):  # who has no rights can't load them later
        "".encode(encoding)
    for line in sys.stdin.buffer.read().splitlines():
        with tempfile.TemporaryFile() as stderr:
            child = os.fork()
            if not child:
                _run(json.loads(line), stderr.fileno())
            _, status = os.waitpid(child, 0)
            stderr.seek(0)
            said = stderr.read().decode()
        print(json.dumps({"status": os.waitstatus_to_exitcode(status), "stderr": said}), flush=True)


def _run(call: dict[str, Any], stderr: int) -> None:
    from eventstore.cli import main as command

    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(stderr, 2)
    _redirect(call["stdout"])
    if call["as_nobody"] and os.geteuid() == 0:  # modes don't bind root
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    sys.argv = ["eventstore", *call["arguments"]]
    status = 70
    try:
        command()
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except BaseException:  # noqa: BLE001 - what a person would see as a traceback
        import traceback

        traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            status = 120
    os._exit(status)


def _redirect(stdout: Stdout) -> None:
    if stdout == "missing":
        os.close(1)
        sys.stdout = None
        return
    if stdout == "full":
        target = os.open("/dev/full", os.O_WRONLY)
    elif stdout == "closed":
        reader, target = os.pipe()
        os.close(reader)
    else:
        target = os.open(os.devnull, os.O_WRONLY)
    os.dup2(target, 1)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)


if __name__ == "__main__":
    main()
