"""The command `tail`: what was written last, and what is written."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

import click
from rich.text import Text

from eventstore import (
    Appended,
    Compacted,
    Deleted,
    Event,
    Imported,
    LeafSelected,
    MetadataChanged,
    Sessions,
    Updated,
    strict,
)
from eventstore.cli import render
from eventstore.cli.frame import as_json, database, open_to_read
from eventstore.cli.screen import Screen

LAST = 10  # events shown when no cursor is given
SESSION_COLUMNS = 20
ID_COLUMNS = 9
STYLES = {"append": "green", "import": "green", "update": "cyan", "delete": "red", "clear": "red"}


@click.command()
@click.option("--follow", is_flag=True, help="Go on, and show what is written, until Ctrl-C.")
@click.option("--after", metavar="SEQ", type=click.IntRange(min=0), help="Begin behind this event; 0: at the first.")
@database()
@as_json
def tail(follow: bool, after: int | None, path: str, as_json: bool) -> None:
    """Show the events of a store.

    The last ten, unless --after says where to begin: one a line, with its number, time, session, kind and what it is
    about. With --json every line is an event as JSON.
    """
    screen = Screen()
    with open_to_read(path) as store:
        empty = True
        for event in _events(store, after, follow):
            empty = False
            if as_json:
                screen.json(event.to_dict())
            else:
                screen.print(event_line(screen, event), crop=not screen.is_narrow)
                screen.stream.flush()
        if empty and not as_json:
            screen.print("No events." if after is None else f"No events behind number {after}.")


def _events(store: Sessions, after: int | None, follow: bool) -> Iterator[Event]:
    begin = max(store.latest_seq - LAST, 0) if after is None else after
    return store.tail(after=begin) if follow else store.events(after=begin)


def event_line(screen: Screen, event: Event) -> Text:
    """An event on one line. Where it will be cut, long names give way first, so that what it says has room."""
    text = Text(f"{event.seq:>6}  {event.recorded_at:%Y-%m-%d %H:%M:%S}  ", style="dim")
    text.append(_name(screen, shlex.quote(event.session_id), SESSION_COLUMNS), style="not dim bold")
    text.append(f"  {event.type}", style=f"not dim {STYLES.get(event.type, 'magenta')}")
    about, said = _about(event)
    if about:
        text.append("  " + " ".join(_name(screen, each, ID_COLUMNS) for each in about), style="dim")
    if said:
        text.append("  " + render.cut(screen, said), style="not dim")
    return text


def _name(screen: Screen, name: str, columns: int) -> str:
    """A name, to so many columns where the line will be cut."""
    text = Text(screen.name(name))
    if screen.width is not None and not screen.is_narrow:
        text.truncate(columns, overflow="ellipsis" if screen.has_unicode else "crop")
    return text.plain


def _about(event: Event) -> tuple[Sequence[str], str]:
    """(what an event is about: ids and roles; what it says)."""
    match event:
        case Appended(message=message) | Imported(message=message) | Updated(message=message):
            return (message["id"], message["role"]), render.preview(message)
        case Deleted(message_ids=message_ids):
            return message_ids, ""
        case LeafSelected(message_id=message_id):
            return (message_id,), ""
        case MetadataChanged(metadata=metadata):
            return (), strict.encode(metadata)
        case Compacted(compaction=compaction):
            return (compaction.from_message_id, "to", compaction.to_message_id), compaction.summary
        case _:
            return (), ""
