"""The commands that keep a file in order: `prune`, `backup`, `scavenge`, `rebuild`."""

from __future__ import annotations

import os
import re
import sys
from datetime import timedelta

import click

from eventstore import SessionInfo, Sessions
from eventstore.cli import render
from eventstore.cli.frame import as_json, database, open_to_read
from eventstore.cli.progress import bar
from eventstore.cli.screen import Screen, to_json

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def _length_of_time(_context: click.Context, _parameter: click.Parameter, value: str) -> timedelta:
    found = re.fullmatch(r"(\d{1,9})([smhdw])", value)
    if found is None:
        raise click.BadParameter(f"{value!r} is no length of time: 90d, 12h, 30m, 45s or 8w is")
    try:
        return timedelta(**{_UNITS[found[2]]: int(found[1])})
    except OverflowError:
        return timedelta.max


def _open_to_write(path: str) -> Sessions:
    open_to_read(path).close()  # no command here makes a store: an empty file is refused as well
    return Sessions(path)


# ---- prune


@click.command()
@click.option(
    "--idle", required=True, callback=_length_of_time, metavar="TIME", help="Not written to for longer than this: 90d."
)
@click.option("--yes", is_flag=True, help="Don't ask: for scripts.")
@click.option("--dry-run", is_flag=True, help="Say what would go, and delete nothing.")
@database()
@as_json
def prune(idle: timedelta, yes: bool, dry_run: bool, path: str, as_json: bool) -> None:
    """Delete the sessions that nobody has written to for long.

    What counts is when a session was last written to, not the times of its messages: what was just imported stays. TIME
    is a number with s, m, h, d or w. It asks before it deletes. With --json it is one object for each session.
    """
    if not yes and not dry_run and (as_json or not sys.stdin.isatty()):
        raise click.UsageError("Nobody is there to be asked: give --yes to delete, or --dry-run to see what would go.")
    screen = Screen()
    with open_to_read(path) if dry_run else _open_to_write(path) as store:
        if dry_run or not yes:
            going = store.prune(idle, dry_run=True)
            _list(screen, going, as_json)
            if dry_run or not going:
                if going and not as_json:
                    screen.print(f"{render.count(len(going), 'session')} would go. Nothing was deleted.")
                return
            if not click.confirm(f"Delete {render.count(len(going), 'session')}?", err=True):
                screen.print("Nothing was deleted.")
                raise click.exceptions.Exit(1)
            screen.print(f"Deleted {render.count(len(store.prune(idle)), 'session')}.")
        else:
            _list(screen, store.prune(idle), as_json)


def _list(screen: Screen, infos: list[SessionInfo], as_json: bool) -> None:
    for info in infos:
        if as_json:
            screen.write(to_json(info.to_dict()) + "\n")
        else:
            about = f"{render.count(info.messages, 'message')}, last written {render.moment(info.updated_at)}"
            screen.print(f"{screen.name(info.session_id or repr(''))}: {about}")
    if not infos and not as_json:
        screen.print("No session has been idle for so long.")


# ---- backup


@click.command()
@click.argument("target", metavar="TARGET")
@database()
@as_json
def backup(target: str, path: str, as_json: bool) -> None:
    """Copy a store into a new file, while others use it.

    The copy is the store as it is at one moment. A file that is there already is never replaced; a failure leaves none.
    With --json it is one object.
    """
    screen = Screen()
    with open_to_read(path) as store, bar("copying") as progress:
        store.backup(target, progress=progress)
    size = os.path.getsize(target)
    if as_json:
        screen.write(to_json({"path": os.path.abspath(target), "bytes": size}) + "\n")
    else:
        screen.print(screen.one_line(f"{path} is copied to {target}: {render.size(size)}"))


# ---- scavenge and rebuild


@click.command()
@click.option("--vacuum", is_flag=True, help="Give the space that becomes free back to the disk.")
@database()
@as_json
def scavenge(vacuum: bool, path: str, as_json: bool) -> None:
    """Take away all that was replaced or deleted and is still kept.

    For a store that keeps every version: from then on it keeps the current ones. Others can go on writing. It can be
    broken off, and called again to finish. With --json it is one object.
    """
    screen = Screen()
    with _open_to_write(path) as store:
        before = _size(path)
        with bar("scavenging") as progress:
            dropped = store.scavenge(vacuum=vacuum, progress=progress)
    after = _size(path)
    if as_json:
        screen.write(to_json({"dropped": dropped, "bytes_before": before, "bytes": after}) + "\n")
    else:
        told = f"{render.count(dropped, 'old version')} taken away"
        sizes = f"{render.size(before)} became {render.size(after)}" if after < before else render.size(after)
        screen.print(screen.one_line(f"{path}: {told}, {sizes}"))


def _size(path: str) -> int:
    """A store's bytes, with its WAL, which lies beside the file that a link names."""
    path = os.path.realpath(path)
    return sum(os.path.getsize(each) for each in (path, f"{path}-wal") if os.path.exists(each))


@click.command()
@database()
@as_json
def rebuild(path: str, as_json: bool) -> None:
    """Make the tables that reads use anew from the log.

    For a store of which `verify` says that a table isn't what the log gives. No event and no message is changed. With
    --json it is one object.
    """
    screen = Screen()
    with _open_to_write(path) as store:
        with bar("replaying") as progress:
            store.rebuild(progress=progress)
        events = store.latest_seq
    if as_json:
        screen.write(to_json({"events": events}) + "\n")
    else:
        screen.print(screen.one_line(f"{path}: made anew from {render.count(events, 'event')}"))
