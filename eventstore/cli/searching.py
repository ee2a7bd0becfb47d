"""The command that finds: `search`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import click
from rich.text import Text

from eventstore import MessageInfo, SearchResult, Session, Sessions
from eventstore.cli import render
from eventstore.cli.frame import as_json, database, open_to_read, require_session
from eventstore.cli.progress import bar
from eventstore.cli.screen import Screen, visible

LIMIT = 20
FOUND = "bold reverse"


@click.command()
@click.argument("query")
@click.option("--session", "session_id", metavar="SESSION", help="Search this session only.")
@click.option("--limit", type=click.IntRange(0), default=LIMIT, show_default=True, help="Show the best so many.")
@database()
@as_json
def search(query: str, session_id: str | None, limit: int, path: str, as_json: bool) -> None:
    """Find messages by the words in their text.

    Best first, of all branches. Words may stand in any order; "a phrase" (in quotes of its own) stands as it is; word*
    is the beginning of a word. Each is shown with its place: whether it is on the active path, which one of how many
    siblings it is, and what it follows. With --json each line is a result.
    """
    screen = Screen()
    with open_to_read(path) as store:
        where = store if session_id is None else require_session(store, path, session_id)
        with bar("searching"):
            results = where.search(query, limit=limit)
        if as_json:
            for result in results:
                screen.json(result.to_dict())
            return
        if not results:
            screen.print("Nothing found.")
            screen.hint("Fewer words find more; word* finds every word that begins so.")
        places = _Places(store)
        for result in results:
            for line in _heading(screen, result, places):
                screen.print(line)
            snippet = render.indented(screen, _snippet(screen, result))
            snippet.rstrip()
            screen.print(snippet)


class _Places:
    """Where messages stand in the trees of their sessions. What is on an active path is looked up once a session."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._active: dict[str, set[str]] = {}

    def is_active(self, result: SearchResult) -> bool:
        """Whether a message is on the active path."""
        active = self._active.get(result.session_id)
        if active is None:
            stats = self._sessions.session(result.session_id).get_history_row_stats()
            active = self._active[result.session_id] = {info.id for info in stats}
        return result.id in active

    def about(self, screen: Screen, result: SearchResult) -> Iterator[str]:
        """Which of its siblings a message is, and what it follows."""
        session = self._sessions.session(result.session_id)
        info = session.get_message_info(result.id)
        if info is None:
            yield "deleted meanwhile"
            return
        siblings = _siblings(session, info)
        if len(siblings) > 1:
            number = siblings.index(result.id) + 1 if result.id in siblings else 0
            yield screen.pick("‹{}/{}›", "<{}/{}>").format(number, len(siblings))
        yield "a root" if info.parent_id is None else f"follows {screen.name(info.parent_id)}"


def _siblings(session: Session, info: MessageInfo) -> list[str]:
    return [each["id"] for each in session.get_branches(info.parent_id)]


def _heading(screen: Screen, result: SearchResult, places: _Places) -> Iterator[Text]:
    """The mark of the active path, session, id, role, place and time: in more lines where one is too narrow for all.

    Nothing is cut: the session and the id are what the next command is given.
    """
    active = places.is_active(result)
    line = Text(screen.pick("●", "*") if active else screen.pick("○", "o"), style="bold" if active else "dim")
    line.append(f" {screen.name(shlex.quote(result.session_id))}", style="bold")
    rest = Text(screen.name(result.id), style="dim")
    role = screen.name(result.role)
    rest.append(f" {role}", style=f"not dim {render.STYLES.get(role, 'blue')}")
    rest.append("  " + "  ".join((*places.about(screen, result), render.moment(result.created_at))))
    if screen.width is None or line.cell_len + 1 + rest.cell_len <= screen.width:
        yield line.append(" ").append_text(rest)
    else:
        yield line
        yield from render.indented(screen, rest).split("\n")


def _snippet(screen: Screen, result: SearchResult) -> Text:
    """The snippet, with what matched marked."""
    line = Text()
    end = 0
    for low, high in result.highlights:
        line.append(_shown(screen, result.snippet[end:low]))
        line.append(_shown(screen, result.snippet[low:high]), style=FOUND)
        end = high
    line.append(_shown(screen, result.snippet[end:]))
    return line


def _shown(screen: Screen, text: str) -> str:
    return screen.name(visible(text.replace("…", screen.pick("…", "..."))))
