"""The commands that look: `sessions`, `tree` and `show`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

import click
from rich.text import Text

from eventstore import Message, MessageInfo, Session, SessionInfo
from eventstore.cli import drawing, render, table
from eventstore.cli.compacting import covered
from eventstore.cli.frame import as_json, at_store, database, find_message, open_to_read, require_session
from eventstore.cli.screen import Screen, to_json

_SESSION = click.argument("session_id", metavar="SESSION")


# ---- sessions


@click.command()
@database()
@as_json
def sessions(path: str, as_json: bool) -> None:
    """List the sessions of a store.

    Newest activity first: name, messages, size, last activity, title. With --json each line is a session.
    """
    screen = Screen()
    with open_to_read(path) as store:
        infos = store.list_sessions()
        if as_json:
            for info in infos:
                screen.json(info.to_dict())
            return
        rows = [_session_row(screen, info) for info in infos]
    if not rows:
        screen.print("No sessions.")
        screen.hint(f"Next: eventstore import FILE{at_store(path)}")
        return
    for line in table.lines(screen, _COLUMNS, rows):
        screen.print(line)
    screen.hint(f"\nNext: eventstore tree SESSION{at_store(path)}, or show SESSION")


_COLUMNS = (
    table.Column("session", style="bold"),
    table.Column("messages", right=True),
    table.Column("size", right=True),
    table.Column("updated"),
    table.Column("title", style="cyan"),
)


def _session_row(screen: Screen, info: SessionInfo) -> tuple[str, ...]:
    """Name (as a shell takes it), messages, size, last activity, title."""
    title = info.metadata.get("title")
    return (
        screen.name(shlex.quote(info.session_id)),
        f"{info.messages:,}",
        render.size(info.bytes),
        f"{info.updated_at:%Y-%m-%d %H:%M}",
        screen.one_line(title) if isinstance(title, str) else "",
    )


# ---- tree


@click.command()
@_SESSION
@database()
@as_json
def tree(session_id: str, path: str, as_json: bool) -> None:
    """Draw the branches of a session.

    Messages on the active path are marked, the active leaf is named. One run of messages stays in its column; a branch
    beside it begins a column further in. A summary stands above the first message that it covers. Ids are shortened to
    what tells them apart: every command takes them so. With --json it is one object.
    """
    screen = Screen()
    with open_to_read(path) as store:
        session = require_session(store, path, session_id)
        leaf = session.get_latest_leaf()
        leaf_id = None if leaf is None else leaf["id"]
        active = dict.fromkeys(info.id for info in session.get_history_row_stats(leaf_id=leaf_id))
        if as_json:
            _write_tree(screen, session, active, leaf_id)
            return
        _print_tree(screen, session, active, leaf_id)
        if len(active) < session.info().messages:
            name = screen.name(shlex.quote(session_id))
            screen.hint(f"\nNext: eventstore show {name} --leaf ID{at_store(path)}, or select {name} ID")


def _write_tree(screen: Screen, session: Session, active: Mapping[str, None], leaf_id: str | None) -> None:
    about = f'"session_id":{to_json(session.session_id)},"active_leaf":{to_json(leaf_id)}'
    compactions = to_json([compaction.to_dict() for compaction in session.get_compactions()])
    screen.write(f'{{{about},"compactions":{compactions},"messages":[')
    between = "\n"
    for info in session.tree():
        screen.write(between + to_json({**info.to_dict(), "on_active_path": info.id in active}))
        between = ",\n"
    screen.write("]}\n")


def _print_tree(screen: Screen, session: Session, active: Mapping[str, None], leaf_id: str | None) -> None:
    infos = list(session.tree())
    screen.print(_summary(screen, session.info(), len(session.get_leaves())), crop=True)
    summaries = {each.message_ids[0]: each for each in covered(session)}
    id_length = drawing.short_ids(info.id for info in infos)
    for row in drawing.rows(infos, active, leaf_id):
        if row.begins_tree:
            screen.print()
        if row.info.id in summaries:
            line = screen.pick("│ ", "| ") * row.depth + summaries[row.info.id].line(screen)
            screen.print(Text(line, style="bold"), crop=True)
        screen.print(render.row_text(screen, row, session.get_message(row.info.id), id_length), crop=True)


def _summary(screen: Screen, info: SessionInfo, leaves: int) -> Text:
    title = info.metadata.get("title")
    line = Text(screen.name(shlex.quote(info.session_id)), style="bold")
    about = [
        render.count(info.messages, "message"),
        render.count(leaves, "leaf", "leaves"),
        render.size(info.bytes),
        f"about {render.count(info.token_estimate, 'token')}",
    ]
    line.append(": " + ", ".join(about), style="not bold")
    if isinstance(title, str):
        line.append(f"  {screen.one_line(title)}", style="not bold cyan")
    return line


# ---- show


@click.command()
@_SESSION
@click.option("--leaf", "leaf", metavar="ID", help="Show the path to this message (its id, or how its id begins).")
@click.option("--all", "everything", is_flag=True, help="Show the messages of all branches, each once.")
@click.option("--compacted", is_flag=True, help="Show summaries in the place of what they cover, as a model reads it.")
@database()
@as_json
def show(session_id: str, leaf: str | None, everything: bool, compacted: bool, path: str, as_json: bool) -> None:
    """Show the messages of a session.

    Those of its active path, oldest first, unless another path or all of them are asked for. With --json each line is a
    message.
    """
    if everything and leaf is not None:
        raise click.UsageError("--leaf names one path and --all means every one: leave one out.")
    if everything and compacted:
        raise click.UsageError("--compacted shows one path and --all every message: leave one out.")
    screen = Screen()
    with open_to_read(path) as store:
        session = require_session(store, path, session_id)
        leaf_id = None if leaf is None else find_message(session, leaf)
        shown = _everything(session) if everything else _path(session, leaf_id, compacted)
        empty = True
        for message, info, note in shown:
            empty = False
            if as_json:
                screen.json(message)
            else:
                screen.print(render.message_text(screen, message, info, screen.name(note)))
        if empty and not as_json:
            screen.print("No messages.")


def _path(session: Session, leaf_id: str | None, compacted: bool) -> Iterator[tuple[Message, MessageInfo | None, str]]:
    infos = {info.id: info for info in session.get_history_row_stats(leaf_id=leaf_id)}
    for message in session.history(leaf_id=leaf_id, compacted=compacted):
        info = infos.get(message["id"])
        yield message, info, "a summary" if info is None and compacted else ""


def _everything(session: Session) -> Iterator[tuple[Message, MessageInfo, str]]:
    """Every message; a note says what it follows where that isn't the one before."""
    previous: str | None = None
    for info in session.tree():
        message = session.get_message(info.id)
        if message is None:  # deleted meanwhile
            continue
        note = ""
        if info.parent_id != previous:
            note = "a root" if info.parent_id is None else f"follows {info.parent_id}"
        yield message, info, note
        previous = info.id
