"""The command `eventstore`: looks into stores, brings conversations in and out. `main` is its entry point.

It reads and writes through the public names of the package and through `eventstore.exchange`; what it counts for
`stats`, `eventstore.measuring` counts. It needs click and rich, which only the extra `[cli]` brings: importing this
module needs neither.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec


def main() -> None:
    """Runs the command with the process's arguments. Exit status: 0 done, 1 failed, 2 misused, 130 interrupted."""
    for name in ("click", "rich"):  # asked for first, to say what to install; rich is loaded when it is needed
        if _is_missing(name):
            sys.exit(f"eventstore: this command needs {name}: pip install 'eventstore-sessions[cli]'")
    for stream, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, stream) is None:  # closed by the caller (`<&-`, `>&-`): nobody writes it, nobody reads it
            setattr(sys, stream, open(os.devnull, mode))  # noqa: SIM115 - the process's own, to its end
    from eventstore.cli.app import app

    try:
        app(prog_name="eventstore")
    finally:
        _let_go()


def _let_go() -> None:
    """Drops what can't be written: it was told, and the interpreter would tell it again as it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_missing(name: str) -> bool:
    try:
        return find_spec(name) is None
    except ModuleNotFoundError:
        return True
