"""The command that brings conversations in: `import`."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TypeAlias

import click

from eventstore import CannotOpen, EventStoreError, ImportReport, Sessions
from eventstore.cli import render
from eventstore.cli.frame import as_json, at_store, database, system_error
from eventstore.cli.progress import bar
from eventstore.cli.screen import Screen, one_line
from eventstore.exchange import FORMATS, InvalidExport, files, plain
from eventstore.exchange.spool import copied

STDIN = "-"
CHUNK = 1 << 16

_Done: TypeAlias = tuple[str | None, ImportReport]
"""(session, what became of it); without a session, what was left out of a file as a whole."""


_HELP = f"""Bring conversations in.

FILE is an export of a known kind, told by its content, or a folder or zip archive that holds some; - reads standard
input. What is known already is left as it is, so a file can be imported again. Each conversation is stored whole or not
at all, and a file that can't be read stops none of the others. With --json each line is what became of a conversation.

Kinds: {", ".join(sorted(format.FORMAT for format in FORMATS))}, and what `eventstore export` writes.
"""


@click.command("import", help=_HELP)
@click.argument("paths", nargs=-1, required=True, metavar="FILE...")
@click.option("--skipped", "list_skipped", is_flag=True, help="Name each message that was left out or mended.")
@database("The store's file, made when it is new.")
@as_json
@click.pass_context
def import_files(context: click.Context, paths: Sequence[str], list_skipped: bool, path: str, as_json: bool) -> None:
    """Brings files in, one after the other: one that can't be read stops none of the others."""
    screen = Screen()
    told = _Told(screen, path, list_skipped=list_skipped, as_json=as_json)
    failed = False
    store: Sessions | None = None
    try:
        for name in paths:
            try:
                with _regular(name) as source:
                    try:
                        _check(source)  # before a store is made for it
                        store = store or Sessions(path)
                        _import(store, source, name, told)
                    except InvalidExport as error:
                        for text in (str(error), *getattr(error, "__notes__", ())):  # of a folder: each torn file
                            failed = _complain(_as_given(text, source, name))
            except OSError as error:
                if isinstance(error, (EventStoreError, BrokenPipeError)):
                    raise
                failed = _complain(system_error(error))
    finally:
        if store is not None:
            store.close()
    if failed:
        context.exit(1)
    told.what_next()


def _complain(text: str) -> bool:
    click.echo(f"eventstore: {one_line(text)}", err=True)
    return True


@contextmanager
def _regular(name: str) -> Iterator[str]:
    """The path of a file that can be read more than once: pipes are copied into one."""
    if name != STDIN and not _is_stream(name):
        yield name
        return
    stream = nullcontext(sys.stdin.buffer) if name == STDIN else open(name, "rb")  # noqa: SIM115 - closed below
    with stream as source, copied(source, CHUNK, named=True) as copy:
        yield copy.name


def _is_stream(name: str) -> bool:
    try:
        mode = os.stat(name).st_mode
    except OSError:
        return False  # whoever reads it says what is wrong
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def _as_given(text: str, source: str, name: str) -> str:
    """A text that speaks of a file by the name that it was given: of a pipe, what is read is a copy."""
    return text.replace(source, name)


def _check(source: str) -> None:
    """Raises `InvalidExport` for what can't be read too, which is no trouble of the store's."""
    try:
        files.recognise(source)
    except CannotOpen as error:
        raise InvalidExport(source, None, plain.reason_of(error, source)) from error


def _import(store: Sessions, source: str, name: str, told: _Told) -> None:
    done: list[_Done] = []
    try:
        with bar(f"importing {name}") as progress:
            for session_id, report in files.import_file(store, source, progress, reread=told.lists_skipped):
                skipped = tuple((_as_given(what, source, name), why) for what, why in report.skipped)
                done.append((session_id, ImportReport(report.imported, report.known, skipped)))
    finally:  # what came before a fault is stored, and told
        told.file(name, done)
    if all(session_id is None for session_id, _ in done):
        told.nothing(name)


class _Told:
    """What became of the conversations of each file, as it is printed."""

    def __init__(self, screen: Screen, path: str, *, list_skipped: bool, as_json: bool) -> None:
        self._screen = screen
        self._path = path
        self.lists_skipped = list_skipped
        self._as_json = as_json
        self._stored = False
        self._skipped = False

    def file(self, name: str, done: Sequence[_Done]) -> None:
        """Tells of the conversations of one file."""
        screen = self._screen
        self._stored |= any(report.imported for _, report in done)
        self._skipped |= any(report.skipped for _, report in done)
        if self._as_json:
            for session_id, report in done:
                screen.json({"file": name, "session_id": session_id, **report.to_dict()})
            return
        for session_id, report in done:
            if session_id is None:
                screen.print(f"{screen.name(name)}: {render.count(len(report.skipped), 'file')} left out")
            else:
                screen.print(screen.name(session_id or "''") + f": {_summary(report)}")
            for what, why in report.skipped if self.lists_skipped else ():
                screen.print(f"  {screen.one_line(what)}: {screen.one_line(why)}")
        told = [(session_id, report.imported) for session_id, report in done if session_id is not None]
        if len(told) > 1:
            conversations, new = len(dict(told)), sum(imported for _, imported in told)
            screen.print(f"{render.count(conversations, 'conversation')}, {render.count(new, 'new message')}")

    def nothing(self, name: str) -> None:
        """Tells of a file that holds no conversation."""
        if not self._as_json:
            self._screen.print(f"{self._screen.name(name)}: no conversations")

    def what_next(self) -> None:
        """What to do with what was stored."""
        if self._skipped and not self.lists_skipped and not self._as_json:
            self._screen.hint("\nNext: --skipped names what was left out or mended")
        if self._stored and not self._as_json:
            self._screen.hint(f"\nNext: eventstore sessions{at_store(self._path)}")


def _summary(report: ImportReport) -> str:
    parts = [render.count(report.imported, "new message"), f"{report.known:,} known"]
    if report.skipped:
        parts.append(f"{len(report.skipped):,} left out or mended")
    return ", ".join(parts)
