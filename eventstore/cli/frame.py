"""What all commands share: the options `--db` and `--json`, and opening the store that is meant."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from typing import Any, TypeVar

import click

from eventstore import Session, Sessions
from eventstore.cli.endings import Failure, system_error

__all__ = [
    "DEFAULT",
    "VARIABLE",
    "Failure",
    "as_json",
    "at_store",
    "database",
    "find_message",
    "open_to_read",
    "open_to_write",
    "require_file",
    "require_session",
    "system_error",
]

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT = "conversations.db"
VARIABLE = "EVENTSTORE_DB"


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


def at_store(path: str) -> str:
    """What a command line that is shown must add to mean this store: nothing where it is the one without `--db`."""
    meant = os.environ.get(VARIABLE) or DEFAULT
    if path == meant:
        return ""
    from eventstore.cli.screen import visible

    return f" --db {visible(shlex.quote(path))}"


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


def open_to_write(path: str) -> Sessions:
    """The store in the file, for a command that changes what is there and makes no new one."""
    open_to_read(path).close()  # an empty file is refused so, where the next line would make a store of it
    return Sessions(path)


def require_session(sessions: Sessions, path: str, name: str) -> Session:
    """The session with this name. Fails unless it is there."""
    if not any(info.session_id == name for info in sessions.list_sessions(prefix=name)):
        raise Failure(f"{path}: there is no session {name!r}; `eventstore sessions` lists those that are there")
    return sessions.session(name)


def find_message(session: Session, given: str) -> str:
    """The id that is meant: that of a message, or the only one that begins so."""
    if session.get_message_info(given) is not None:
        return given
    found = [info.id for info in session.tree() if info.id.startswith(given)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise Failure(f"session {session.session_id!r} holds no message {given!r}; `eventstore tree` shows their ids")
    some = ", ".join(map(repr, found[:3]))
    raise Failure(f"{given!r} is the beginning of {len(found)} ids ({some}{', ...' if found[3:] else ''}): say more")
