"""Many real processes for little: the command is loaded once, and a fork runs each call with the streams asked for.

`python -m tests.cli.forking` reads calls from standard input, a line each as JSON: {"arguments": [...], "stdout":
"file" | "closed" | "full" | "missing", "as_nobody": true | false}, and answers each on a line: {"status": ...,
"stdout": ..., "stderr": ...}, bytes as latin-1. "closed" is a pipe that nobody reads any more, "full" a full disk,
"missing" no stream at all; only of "file" anything is seen.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import attrs

import eventstore
import projections
from tests.cli.running import environment

NOBODY = 65534
Stdout = Literal["file", "closed", "full", "missing"]


@attrs.frozen
class Ended:
    """How a process ended."""

    status: int
    stdout: bytes
    stderr: str


def run_all(
    calls: Iterable[Iterable[object]],
    stdout: Stdout,
    cwd: Path,
    *,
    as_nobody: bool = False,
    given: Mapping[str, str] | None = None,
) -> list[Ended]:
    """Runs calls one after the other, in this folder, in an environment with what is `given`."""
    lines = [
        json.dumps({"arguments": [str(each) for each in call], "stdout": stdout, "as_nobody": as_nobody})
        for call in calls
    ]
    done = subprocess.run(
        [sys.executable, "-m", "tests.cli.forking"],
        input="\n".join(lines).encode(),
        cwd=cwd,
        env=environment(PYTHONPATH=os.pathsep.join(sys.path), PYTHONDONTWRITEBYTECODE="1", **(given or {})),
        capture_output=True,
        timeout=120,
        check=True,
    )
    answers = map(json.loads, done.stdout.splitlines())
    return [Ended(answer["status"], answer["stdout"].encode("latin-1"), answer["stderr"]) for answer in answers]


def main() -> None:
    """Answers the calls on standard input."""
    from click import Context

    from eventstore.cli.app import app

    for name in app.list_commands(Context(app)):
        app.get_command(Context(app), name)
    _load_all()
    for encoding in ("utf-16-le", "utf-16-be", "utf-8-sig", "ascii"):  # who has no rights can't load them later
        "".encode(encoding)
    gc.freeze()  # no fork goes through what they share
    for line in sys.stdin.buffer.read().splitlines():
        with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
            child = os.fork()
            if not child:
                _run(json.loads(line), stdout.fileno(), stderr.fileno())
            _, status = os.waitpid(child, 0)
            for stream in (stdout, stderr):
                stream.seek(0)
            said = {"stdout": stdout.read().decode("latin-1"), "stderr": stderr.read().decode()}
        print(json.dumps({"status": os.waitstatus_to_exitcode(status), **said}), flush=True)


def _load_all() -> None:
    """Imports whatever a command may import: for all forks at once, and since one without rights can't read the
    interpreter's folder. (None may import hypothesis, which takes as long as all the others.)"""
    for package in (eventstore, projections):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__") and not module.name.startswith("eventstore.testing"):
                importlib.import_module(module.name)


def _run(call: dict[str, Any], stdout: int, stderr: int) -> None:
    from eventstore.cli import main as command

    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(stderr, 2)
    _redirect(call["stdout"], stdout)
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


def _redirect(stdout: Stdout, file: int) -> None:
    """Gives the process the stream that was asked for, in the encoding that the interpreter chose for its own."""
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
        target = file
    os.dup2(target, 1)
    sys.stdout = os.fdopen(1, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors, closefd=False)


if __name__ == "__main__":
    main()
