"""The commands that bring conversations in and out: `import` and `export`."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO

import click

from eventstore import EventStoreError, ImportReport, Progress, Sessions
from eventstore.cli import render
from eventstore.cli.frame import Failure, database, open_to_read, require_session, system_error
from eventstore.cli.progress import bar
from eventstore.cli.screen import Screen, one_line, safe_json
from eventstore.exchange import InvalidExport, files, jsonl

STDIN = STDOUT = "-"


# ---- import


@click.command("import")
@click.argument("paths", nargs=-1, required=True, metavar="FILE...")
@click.option("--skipped", "list_skipped", is_flag=True, help="Name each message that was left out or mended.")
@database("The store's file, made when it is new.")
@click.pass_context
def import_files(context: click.Context, paths: Sequence[str], list_skipped: bool, path: str) -> None:
    """Bring conversations in.

    FILE is a ChatGPT export (conversations.json) or an export of this command, told by content; - reads standard
    input. What is known already is left as it is, so a file can be imported again. Each conversation is stored whole
    or not at all, and a file that can't be read stops none of the others.
    """
    screen = Screen()
    failed = False
    store: Sessions | None = None
    try:
        for name in paths:
            try:
                with _regular(name) as source:
                    files.recognise(source)  # before a store is made for it
                    store = store or Sessions(path)
                    _import(screen, store, source, name, list_skipped)
            except InvalidExport as error:
                failed = _complain(str(InvalidExport(name, error.line, error.reason)))
            except OSError as error:
                if isinstance(error, (EventStoreError, BrokenPipeError)):
                    raise
                failed = _complain(system_error(error))
    finally:
        if store is not None:
            store.close()
    if failed:
        context.exit(1)


def _complain(text: str) -> bool:
    click.echo(f"eventstore: {one_line(text)}", err=True)
    return True


@contextmanager
def _regular(name: str) -> Iterator[str]:
    """The path of a file that can be read more than once: pipes are copied into one."""
    if name != STDIN and not _is_stream(name):
        yield name
        return
    with tempfile.NamedTemporaryFile(prefix="eventstore-") as copy:
        if name == STDIN:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        else:
            with open(name, "rb") as source:
                shutil.copyfileobj(source, copy)
        copy.flush()
        yield copy.name


def _is_stream(name: str) -> bool:
    mode = os.stat(name).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def _import(screen: Screen, store: Sessions, source: str, name: str, list_skipped: bool) -> None:
    done: list[tuple[str | None, ImportReport]] = []
    try:
        with bar(f"importing {name}") as progress:
            for session_id, report in files.import_file(store, source, progress, reread=list_skipped):
                done.append((session_id, report))
    finally:  # what came before a fault is stored, and told
        for session_id, report in done:
            about = screen.name(name) if session_id is None else screen.name(session_id or "''")
            screen.print(f"{about}: {_told(report)}")
            for what, why in report.skipped if list_skipped else ():
                screen.print(f"  {screen.one_line(what)}: {screen.one_line(why)}")
        conversations = [report for session_id, report in done if session_id is not None]
        if len(conversations) > 1:
            new = sum(report.imported for report in conversations)
            screen.print(f"{render.count(len(conversations), 'conversation')}, {render.count(new, 'new message')}")


def _told(report: ImportReport) -> str:
    parts = [render.count(report.imported, "new message"), f"{report.known:,} known"]
    if report.skipped:
        parts.append(f"{len(report.skipped):,} left out or mended")
    return ", ".join(parts)


# ---- export


@click.command()
@click.argument("session_ids", nargs=-1, metavar="SESSION...")
@click.option("--all", "everything", is_flag=True, help="Export every session.")
@click.option(
    "-o", "--output", default=STDOUT, metavar="FILE", help="Write to this file, which is replaced when whole."
)
@database()
def export(session_ids: Sequence[str], everything: bool, output: str, path: str) -> None:
    """Write sessions as JSON Lines.

    `import` reads them back as equal sessions: branches, times, the active leaf and metadata are in the file. What was
    replaced or deleted isn't.
    """
    if everything == bool(session_ids):
        raise click.UsageError("Name the sessions to export, or give --all.")
    with open_to_read(path) as store:
        for session_id in session_ids:
            require_session(store, path, session_id)
        names = None if everything else session_ids
        if output == STDOUT:
            with bar("exporting", unless=sys.stdout.isatty()) as progress:
                _to_stdout(store, names, progress)
            return
        if any(_is_same(output, path + suffix) for suffix in ("", "-wal", "-shm")):
            raise Failure(f"{output}: that is the store itself; name another file")
        with _replacing(output) as file, bar(f"exporting to {output}") as progress:
            jsonl.export(store, names, file, progress)


class _ForTerminal:
    """Passes JSON text on with what a terminal would obey escaped: the same values, spelt otherwise."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, data: bytes) -> None:
        """Writes whole lines of JSON."""
        self._stream.write(safe_json(data.decode()).encode())


def _to_stdout(store: Sessions, names: Sequence[str] | None, progress: Progress | None) -> None:
    stream = sys.stdout.buffer
    target: jsonl.Writable = _ForTerminal(stream) if stream.isatty() else stream
    jsonl.export(store, names, target, progress)
    stream.flush()


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


@contextmanager
def _replacing(output: str) -> Iterator[BinaryIO]:
    """A file that takes the place of `output` when it is whole: a failure leaves what was there."""
    target = os.path.realpath(output)
    if os.path.exists(target) and not os.path.isfile(target):  # a device or a pipe: nothing to replace
        with open(target, "wb") as file:
            yield file
        return
    part = f"{target}.{os.getpid()}.part"
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except OSError as error:
        raise OSError(error.errno, error.strerror, output) from error
    try:
        with open(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(handle)
        os.replace(part, target)
    except BaseException:
        os.unlink(part)
        raise
