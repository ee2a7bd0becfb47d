"""How the command ends when it can't do what it was asked: one text on standard error, never a traceback.

Exit status 0: done; 1: it failed; 2: misused; 130: interrupted. A pipe whose reader has gone ends it in silence, as
status 1.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import click

from eventstore import EventStoreError

INTERRUPTED = 130  # what a shell gives a command that SIGINT ended
_ASKS_FOR_HELP: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())  # since click 8.2: help is shown, status 2


class Failure(click.ClickException):
    """The end of a command that failed: its text on standard error, exit status 1."""

    def show(self, file: IO[Any] | None = None) -> None:
        """Prints the text, on one line, safe for a terminal."""
        from eventstore.cli.screen import one_line  # it brings rich, which help and most ends don't need

        click.echo(f"eventstore: {one_line(self.message)}", file=file, err=file is None)


class Misuse(Failure):
    """The end of a command that was called wrongly: exit status 2."""

    exit_code = 2

    @classmethod
    def of(cls, error: click.UsageError) -> Misuse:
        """What is wrong, and where the right use stands."""
        command = "eventstore" if error.ctx is None else error.ctx.command_path
        said = error.format_message().strip()
        return cls(f"{said}{'' if said.endswith(('.', '?')) else '.'} See `{command} --help`")


class Interrupted(click.ClickException):
    """The end of a command that Ctrl-C ended: nothing is said, exit status 130."""

    exit_code = INTERRUPTED

    def __init__(self) -> None:
        super().__init__("interrupted")

    def show(self, file: IO[Any] | None = None) -> None:
        """Ends the line that the cursor stands in, when that is a terminal's."""
        if file is None and sys.stderr.isatty():
            click.echo(err=True)


@contextmanager
def told() -> Iterator[None]:
    """Turns our own errors, and the system's, into these ends."""
    try:
        yield
    except BrokenPipeError:  # click ends these two
        raise
    except _ASKS_FOR_HELP:
        raise
    except click.UsageError as error:
        raise Misuse.of(error) from error
    except (KeyboardInterrupt, click.Abort) as error:
        raise Interrupted from error
    except EventStoreError as error:
        raise Failure(str(error)) from error
    except OSError as error:
        raise Failure(system_error(error)) from error


def system_error(error: OSError) -> str:
    """What the system says, with the file that it speaks of."""
    text = error.strerror or str(error)
    return f"{os.fsdecode(error.filename)}: {text}" if isinstance(error.filename, (str, bytes)) else text
