"""The command that saves what can be read of a damaged file: `recover`."""

from __future__ import annotations

import click

import eventstore
from eventstore.cli import render
from eventstore.cli.frame import as_json, database, require_file
from eventstore.cli.progress import bar
from eventstore.cli.screen import Screen, to_json


@click.command()
@click.argument("target", metavar="TARGET")
@database("The damaged file.")
@as_json
@click.pass_context
def recover(context: click.Context, target: str, path: str, as_json: bool) -> None:
    """Write what can be read of a damaged store into a new file.

    The damaged file is left as it is, and nobody may have it open. The new one is sound, events keep their numbers, and
    nothing is in it that wasn't written. Each thing that is lost is named; exit status 1 when there is any. With --json
    it is one object.
    """
    screen = Screen()
    require_file(path)
    with bar("recovering") as progress:
        report = eventstore.recover(path, target, progress=progress)
    if as_json:
        screen.write(to_json(report.to_dict()) + "\n")
    else:
        for what, why in report.lost:
            screen.print(screen.one_line(f"{what}: {why}"))
        saved = f"{render.count(report.events, 'event')}, {render.count(report.messages, 'message')}"
        lost = render.count(len(report.lost), "fault") if report.lost else "nothing is lost"
        screen.print(screen.one_line(f"{target}: {saved}; {lost}"))
    if report.lost:
        context.exit(1)
