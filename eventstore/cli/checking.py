"""The command that checks: `verify`."""

from __future__ import annotations

import click

from eventstore.cli import render
from eventstore.cli.frame import as_json, at_store, database, open_to_read
from eventstore.cli.progress import bar
from eventstore.cli.screen import Screen


@click.command()
@database()
@as_json
@click.pass_context
def verify(context: click.Context, path: str, as_json: bool) -> None:
    """Check a store against itself.

    The file as SQLite sees it, every body against its digest, and what is read against the log. Writes nothing. Exit
    status 1 when something is wrong. With --json it is one object.
    """
    screen = Screen()
    with open_to_read(path) as store:
        with bar("checking") as progress:
            report = store.verify(progress=progress)
        if as_json:
            screen.json(report.to_dict())
        else:
            for problem in report.problems:
                screen.print(screen.one_line(problem))
            found = "no problems" if report.ok else render.count(len(report.problems), "problem")
            events = f" in {render.count(store.latest_seq, 'event')}" if report.ok else ""
            screen.print(screen.one_line(f"{path}: {found}{events}"))
            if not report.ok:
                _what_next(screen, path)
    if not report.ok:
        context.exit(1)


def _what_next(screen: Screen, path: str) -> None:
    """What mends a store: the first if only the tables that reads use are wrong, the second if it is the log."""
    screen.hint(f"\nNext: eventstore rebuild{at_store(path)}           # if it names tables only")
    screen.hint(f"      eventstore recover NEW.db{at_store(path)}    # or else, if there is no backup")
