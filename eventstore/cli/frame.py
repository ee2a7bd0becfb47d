"""What all commands share: the option `--db`, opening a store, and how failures end.

Exit status 0: done; 1: it failed, with one text on standard error; 2: misused, with the usage.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import IO, Any, TypeVar

import click

from eventstore import EventStoreError, Sessions
from eventstore.cli.screen import one_line

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT = "conversations.db"
VARIABLE = "EVENTSTORE_DB"


class Failure(click.ClickException):
    """The end of a command that failed: its text on standard error, exit status 1."""

    def show(self, file: IO[Any] | None = None) -> None:
        """Prints the text, on one line, safe for a terminal."""
        click.echo(f"eventstore: {one_line(self.message)}", file=file, err=file is None)


class App(click.Group):
    """Ends our own errors, and the system's, as failures. A pipe whose reader has gone ends in silence."""

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the subcommand."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except EventStoreError as error:
            raise Failure(str(error)) from error
        except OSError as error:
            raise Failure(system_error(error)) from error


def system_error(error: OSError) -> str:
    """What the system says, with the file that it speaks of."""
    text = error.strerror or str(error)
    return f"{os.fsdecode(error.filename)}: {text}" if isinstance(error.filename, (str, bytes)) else text


def _check_path(_context: click.Context, _parameter: click.Parameter, path: str | None) -> str | None:
    if path is not None and (not path or path == ":memory:"):
        raise click.BadParameter("name a file")
    return path


def database(help: str = "The store's file.", default: str | None = DEFAULT) -> Callable[[F], F]:
    """The option `--db`."""
    return click.option(
        "--db",
        "path",
        envvar=VARIABLE,
        default=default,
        show_default=default is not None,
        show_envvar=True,
        metavar="PATH",
        callback=_check_path,
        help=help,
    )


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON (in ASCII), for programs.")


def require_file(path: str) -> None:
    """Fails unless the file is there."""
    if not os.path.lexists(path):
        raise Failure(
            f"{path}: there is no such file. Name a store with --db PATH or {VARIABLE}; "
            "`eventstore import FILE` and `eventstore demo --db PATH` make one"
        )


def open_to_read(path: str) -> Sessions:
    """The store in the file, opened read-only. No command that reads makes a file."""
    require_file(path)
    return Sessions(path, read_only=True)


def require_session(sessions: Sessions, path: str, name: str) -> None:
    """Fails unless the session is there."""
    if not any(info.session_id == name for info in sessions.list_sessions(prefix=name)):
        raise Failure(f"{path}: there is no session {name!r}; `eventstore sessions` lists those that are there")
