"""The commands that look: `sessions`, `tree` and `show`."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import click
from rich.text import Text

from eventstore import Message, MessageInfo, Session, SessionInfo
from eventstore.cli import drawing, render
from eventstore.cli.compacting import covered
from eventstore.cli.frame import Failure, as_json, database, open_to_read, require_session
from eventstore.cli.screen import Screen, to_json

_SESSION = click.argument("session_id", metavar="SESSION")


def write_list(screen: Screen, values: Iterable[Any], before: str = "", after: str = "") -> None:
    """A JSON list, an element a line."""
    between = ""
    screen.write(before + "[")
    for value in values:
        screen.write(f"{between}\n{to_json(value)}")
        between = ","
    screen.write(f"\n]{after}\n" if between else f"]{after}\n")


# ---- sessions


@click.command()
@database()
@as_json
def sessions(path: str, as_json: bool) -> None:
    """List the sessions of a store.

    Newest activity first: name, messages, size, last activity, title.
    """
    screen = Screen()
    with open_to_read(path) as store:
        infos = store.list_sessions()
        if as_json:
            write_list(screen, (info.to_dict() for info in infos))
            return
        for line in _session_lines(screen, list(infos)):
            screen.print(line, crop=True)


def _session_lines(screen: Screen, infos: list[SessionInfo]) -> Iterator[Text]:
    """Name (as a shell takes it), messages, size, last activity, title."""
    if not infos:
        yield Text("(no sessions)")
    cells = [
        (
            screen.name(shlex.quote(info.session_id)),
            render.count(info.messages, "message"),
            render.size(info.bytes),
            f"{info.updated_at:%Y-%m-%d %H:%M}",
            screen.one_line(title) if isinstance(title := info.metadata.get("title"), str) else "",
        )
        for info in infos
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for name, messages, size, when, title in cells:
        line = Text(name.ljust(widths[0]), style="bold")
        line.append(f"  {messages.rjust(widths[1])}  {size.rjust(widths[2])}  {when}", style="not bold")
        line.append(f"  {title}" if title else "", style="not bold cyan")
        yield line


# ---- tree


@click.command()
@_SESSION
@database()
@as_json
def tree(session_id: str, path: str, as_json: bool) -> None:
    """Draw the branches of a session.

    Messages on the active path are marked, the active leaf is named. One run of messages stays in its column; a branch
    beside it begins a column further in. A summary stands above the first message that it covers. Ids are shortened to
    what tells them apart: `show --leaf` takes them so.
    """
    screen = Screen()
    with open_to_read(path) as store:
        require_session(store, path, session_id)
        session = store.session(session_id)
        leaf = session.get_latest_leaf()
        leaf_id = None if leaf is None else leaf["id"]
        active = dict.fromkeys(info.id for info in session.get_history_row_stats(leaf_id=leaf_id))
        if as_json:
            infos = ({**info.to_dict(), "on_active_path": info.id in active} for info in session.tree())
            about = f'"session_id":{to_json(session_id)},"active_leaf":{to_json(leaf_id)}'
            compactions = to_json([compaction.to_dict() for compaction in session.get_compactions()])
            write_list(screen, infos, f'{{{about},"compactions":{compactions},"messages":', "}")
            return
        _print_tree(screen, session, active, leaf_id)


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

    Those of its active path, oldest first, unless another path or all of them are asked for.
    """
    if everything and leaf is not None:
        raise click.UsageError("--leaf names one path and --all means every one: leave one out.")
    if everything and compacted:
        raise click.UsageError("--compacted shows one path and --all every message: leave one out.")
    screen = Screen()
    with open_to_read(path) as store:
        require_session(store, path, session_id)
        session = store.session(session_id)
        leaf_id = None if leaf is None else _find(session, leaf)
        shown = _everything(session) if everything else _path(session, leaf_id, compacted)
        if as_json:
            write_list(screen, (message for message, _, _ in shown))
            return
        for message, info, note in shown:
            screen.print(render.message_text(screen, message, info, screen.name(note)))


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


def _find(session: Session, given: str) -> str:
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
