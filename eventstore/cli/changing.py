"""The commands that change what is there: `select` and `delete`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import Any

import attrs
import click

from eventstore import MessageInfo, Session, Sessions
from eventstore.cli import render, table
from eventstore.cli.frame import (
    as_json,
    at_store,
    database,
    find_message,
    open_to_read,
    open_to_write,
    require_session,
)
from eventstore.cli.screen import Screen

_SESSION = click.argument("session_id", metavar="SESSION")
SHOWN = 10  # messages listed before they go; more are counted


# ---- select


@click.command()
@_SESSION
@click.argument("message", metavar="MESSAGE")
@database()
@as_json
def select(session_id: str, message: str, path: str, as_json: bool) -> None:
    """Make the path to a message the active one.

    MESSAGE is its id, or how its id begins. It is then what `show` shows, and what the next message is appended to. An
    inner message can be selected, too: what follows it stays. With --json it is one object.
    """
    screen = Screen()
    with open_to_write(path) as store:
        session = require_session(store, path, session_id)
        before, chosen = _leaf(session), find_message(session, message)
        session.select_leaf(chosen)
        if as_json:
            screen.json({"session_id": session_id, "active_leaf": chosen, "active_leaf_before": before})
            return
        if before == chosen:
            screen.print(f"{screen.name(chosen)} is the active leaf already.")
            return
        length = len(session.get_history_row_stats())
        path_of = f"a path of {render.count(length, 'message')}"
        screen.print(
            f"The active leaf is {screen.name(chosen)} now, {path_of}; it was {screen.name(before or 'none')}."
        )
        screen.hint(f"Next: eventstore show {screen.name(shlex.quote(session_id))}{at_store(path)}")


def _leaf(session: Session) -> str | None:
    leaf = session.get_latest_leaf()
    return None if leaf is None else leaf["id"]


# ---- delete


@attrs.frozen
class Going:
    """What a deletion takes away."""

    session_id: str
    whole: bool  # the session, with its metadata
    messages: tuple[MessageInfo, ...]

    def to_dict(self, *, deleted: bool) -> dict[str, Any]:
        """As JSON."""
        return {
            "session_id": self.session_id,
            "whole_session": self.whole,
            "deleted": deleted,
            "messages": [info.to_dict() for info in self.messages],
        }

    def told(self, screen: Screen) -> str:
        """As the object of a sentence."""
        name = screen.name(shlex.quote(self.session_id))
        about = f"{render.count(len(self.messages), 'message')}, {render.size(sum(i.bytes for i in self.messages))}"
        return f"session {name} with all that it holds ({about})" if self.whole else f"{about}, of session {name}"


@click.command()
@_SESSION
@click.argument("messages", nargs=-1, metavar="[MESSAGE]...")
@click.option("--branch", metavar="MESSAGE", help="Delete this message and everything under it.")
@click.option("--yes", is_flag=True, help="Don't ask: for scripts.")
@click.option("--dry-run", is_flag=True, help="Say what would go, and delete nothing.")
@database()
@as_json
def delete(
    session_id: str, messages: Sequence[str], branch: str | None, yes: bool, dry_run: bool, path: str, as_json: bool
) -> None:
    """Delete a session, a branch, or messages.

    The whole session where nothing else is named. A MESSAGE is an id, or how an id begins; what followed a deleted
    message follows the nearest one above it that is left. It asks before it deletes. Deleted texts are overwritten in
    the file, unless the store keeps every version. With --json it is one object.
    """
    if messages and branch is not None:
        raise click.UsageError("--branch names one message and all under it: leave the other messages out.")
    if not yes and not dry_run and (as_json or not sys.stdin.isatty()):
        raise click.UsageError("Nobody is there to be asked: give --yes to delete, or --dry-run to see what would go.")
    screen = Screen()
    with open_to_read(path) if dry_run else open_to_write(path) as store:
        going = _going(require_session(store, path, session_id), messages, branch)
        if not as_json:
            _tell(screen, going)
        if dry_run:
            if not as_json:
                screen.print("Nothing was deleted.")
        elif yes or click.confirm("Delete?", err=True):
            _delete(store, going)
            if not as_json:
                screen.print("Deleted.")
        else:
            screen.print("Nothing was deleted.")
            raise click.exceptions.Exit(1)
        if as_json:
            screen.json(going.to_dict(deleted=not dry_run))


def _going(session: Session, messages: Sequence[str], branch: str | None) -> Going:
    if branch is not None:
        under = {find_message(session, branch)}
        found = []
        for info in session.tree():  # parents come before their children
            if info.id in under or info.parent_id in under:
                under.add(info.id)
                found.append(info)
        return Going(session.session_id, False, tuple(found))
    if not messages:
        return Going(session.session_id, True, tuple(session.tree()))
    ids = dict.fromkeys(find_message(session, each) for each in messages)
    infos = (session.get_message_info(each) for each in ids)
    return Going(session.session_id, False, tuple(info for info in infos if info is not None))


def _delete(store: Sessions, going: Going) -> None:
    """Deletes what was shown: a message that came under a branch meanwhile stays, and follows what is left."""
    if going.whole:
        store.delete_session(going.session_id)
    else:
        store.session(going.session_id).delete_messages([info.id for info in going.messages])


_COLUMNS = (
    table.Column("message", style="bold"),
    table.Column("role"),
    table.Column("size", right=True),
    table.Column("time"),
)


def _tell(screen: Screen, going: Going) -> None:
    screen.print(f"To be deleted: {going.told(screen)}.")
    if going.whole:
        return
    rows = [
        (screen.name(info.id), screen.name(info.role), render.size(info.bytes), render.moment(info.created_at))
        for info in going.messages[:SHOWN]
    ]
    for line in table.lines(screen, _COLUMNS, rows):
        screen.print(line)
    more = len(going.messages) - SHOWN
    if more > 0:
        screen.print(f"and {more:,} more")
