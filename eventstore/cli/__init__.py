"""The command `eventstore`: looks into stores, brings conversations in and out. `main` is its entry point.

It reads and writes through the public names of the package and through `eventstore.exchange`. It needs click and rich,
which only the extra `[cli]` brings: importing this module needs neither.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Runs the command with the process's arguments. Exit status: 0 done, 1 failed, 2 misused."""
    try:
        import click  # noqa: F401  (asked for first, to say what to install)
        import rich  # noqa: F401
    except ModuleNotFoundError as error:
        sys.exit(f"eventstore: this command needs {error.name}: pip install 'eventstore-sessions[cli]'")
    from eventstore.cli.app import app

    app(prog_name="eventstore")
