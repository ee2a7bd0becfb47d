"""The command that counts: `stats`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

import click

from eventstore.cli import render, table
from eventstore.cli.frame import as_json, at_store, database, open_to_read, require_session
from eventstore.cli.progress import bar
from eventstore.cli.screen import Screen
from eventstore.measuring import FileStats, SessionStats, Share, StoreStats, measure_session, measure_store
from eventstore.shape import Shape


@click.command()
@click.argument("session_id", metavar="[SESSION]", required=False)
@database()
@as_json
def stats(session_id: str | None, path: str, as_json: bool) -> None:
    """Count what a store or a session holds.

    Messages, branches, sizes, token estimates, attachments, by role and by model. Of a store the models are those that
    its sessions name, and where the bytes of its file are is told; of a session, the models that its messages name.
    With --json it is one object.
    """
    screen = Screen()
    with open_to_read(path) as store:
        found: StoreStats | SessionStats
        if session_id is None:
            with bar("counting"):
                found = measure_store(store._store)
        else:
            require_session(store, path, session_id)
            with bar("counting") as progress:
                found = measure_session(store._store, session_id, progress)
    if as_json:
        screen.json(found.to_dict())
        return
    name = path if session_id is None else shlex.quote(session_id)
    screen.print(screen.name(name))
    for title, value in _numbers(found):
        screen.print(f"  {title.ljust(16)}{value}")
    for title, shares in (("role", found.roles), ("model", found.models)):
        _print_shares(screen, title, shares)
    if session_id is None and isinstance(found, StoreStats):
        _print_file(screen, found.file)
        screen.hint(f"\nNext: eventstore stats SESSION{at_store(path)}")


def _numbers(found: StoreStats | SessionStats) -> Iterator[tuple[str, str]]:
    if isinstance(found, StoreStats):
        yield "sessions", f"{found.sessions:,}"
    yield "messages", f"{found.messages:,}"
    yield "size", render.size(found.bytes)
    yield "tokens", f"about {found.token_estimate:,}"
    yield from _of_shape(found.shape)
    attached = f" ({render.size(found.attachment_bytes)})" if found.attachments else ""
    yield "attachments", f"{found.attachments:,}{attached}"
    if isinstance(found, SessionStats):
        yield "summaries", f"{found.compactions:,}"
    yield "events", f"{found.events:,}"
    if isinstance(found, StoreStats):
        yield "replaced texts", "kept" if found.retain == "all" else "gone"


def _of_shape(shape: Shape) -> Iterator[tuple[str, str]]:
    yield "branch points", f"{shape.branch_points:,}"
    yield "leaves", f"{shape.leaves:,}"
    yield "longest path", render.count(shape.depth, "message")


_NUMBERS = (table.Column("messages", right=True), table.Column("size", right=True), table.Column("tokens", right=True))


def _print_shares(screen: Screen, title: str, shares: Sequence[Share]) -> None:
    if not shares:
        return
    screen.print()
    rows = [
        (screen.name(share.name), f"{share.messages:,}", render.size(share.bytes), f"{share.token_estimate:,}")
        for share in shares
    ]
    for line in table.lines(screen, (table.Column(title, style="bold"), *_NUMBERS), rows):
        screen.print(line)


def _print_file(screen: Screen, file: FileStats) -> None:
    screen.print()
    sizes = (
        ("log", file.log),
        ("read tables", file.tables),
        ("search index", file.index),
        ("free pages", file.free),
        ("whole file", file.file),
        ("WAL beside it", file.wal),
    )
    rows = [(name, render.size(size)) for name, size in sizes]
    for line in table.lines(screen, (table.Column("file", style="bold"), table.Column("size", right=True)), rows):
        screen.print(line)
