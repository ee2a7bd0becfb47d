"""The command that takes conversations out: `export`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO

import attrs
import click

from eventstore import Progress, Session, Sessions, codec
from eventstore.cli import markdown
from eventstore.cli.frame import Failure, database, find_message, open_to_read, require_session
from eventstore.cli.progress import bar
from eventstore.cli.screen import safe_json
from eventstore.exchange import jsonl

STDOUT = "-"
FORMATS = ("jsonl", "messages", "markdown")
REPORT_EVERY = 100


@click.command()
@click.argument("session_ids", nargs=-1, metavar="SESSION...")
@click.option("--all", "everything", is_flag=True, help="Export every session.")
@click.option("--format", "kind", type=click.Choice(FORMATS), default="jsonl", show_default=True, help="See above.")
@click.option("--leaf", metavar="ID", help="The path to this message, instead of the active one.")
@click.option("--compacted", is_flag=True, help="Summaries in the place of what they cover.")
@click.option(
    "-o", "--output", default=STDOUT, metavar="FILE", help="Write to this file, which is replaced when whole."
)
@database()
def export(
    session_ids: Sequence[str],
    everything: bool,
    kind: str,
    leaf: str | None,
    compacted: bool,
    output: str,
    path: str,
) -> None:
    """Write sessions to a file or to standard output.

    jsonl: all of a session as JSON Lines. `import` reads them back as equal sessions: branches, times, the active leaf
    and metadata are in the file. What was replaced or deleted isn't.

    messages: the active path of one session, as a JSON array of messages (UIMessage).

    markdown: the active path, for people to read. Long inputs and outputs of tools are shortened.
    """
    _check(session_ids, everything, kind, leaf, compacted)
    with open_to_read(path) as store:
        for session_id in session_ids:
            require_session(store, path, session_id)
        leaf_id = None if leaf is None else find_message(store.session(session_ids[0]), leaf)
        names = None if everything else session_ids
        job = _Job(store, names, kind, leaf_id, compacted)
        if output == STDOUT:
            with bar("exporting", unless=sys.stdout.isatty()) as progress:
                _to_stdout(job, progress)
            return
        if any(_is_same(output, os.path.realpath(path) + suffix) for suffix in ("", "-wal", "-shm", "-journal")):
            raise Failure(f"{output}: that is the store itself; name another file")
        with _replacing(output) as file, bar(f"exporting to {output}") as progress:
            job.write(file, progress)


def _check(session_ids: Sequence[str], everything: bool, kind: str, leaf: str | None, compacted: bool) -> None:
    """Raises `UsageError` for what can't be meant together."""
    if everything == bool(session_ids):
        raise click.UsageError("Name the sessions to export, or give --all.")
    if kind == "jsonl" and (compacted or leaf is not None):
        raise click.UsageError("--format jsonl holds every branch: --leaf and --compacted are for the others.")
    if kind == "messages" and (everything or len(session_ids) > 1):
        raise click.UsageError("--format messages holds one session: name one.")
    if leaf is not None and (everything or len(session_ids) > 1):
        raise click.UsageError("--leaf is of one session: name one.")


@attrs.frozen
class _Job:
    """What is to be written."""

    store: Sessions
    names: Sequence[str] | None
    kind: str
    leaf_id: str | None
    compacted: bool

    def write(self, file: jsonl.Writable, progress: Progress | None) -> None:
        """Writes it, in UTF-8."""
        if self.kind == "jsonl":
            jsonl.export(self.store, self.names, file, progress)
            return
        names = self.names
        if names is None:
            names = [info.session_id for info in self.store.list_sessions()][::-1]
        for number, name in enumerate(dict.fromkeys(names)):
            session = self.store.session(name)
            if self.kind == "messages":
                _messages(session, self.leaf_id, self.compacted, file, progress)
            else:
                file.write(b"\n" if number else b"")
                for block in markdown.session(session, self.leaf_id, compacted=self.compacted, progress=progress):
                    file.write(block.encode())


def _messages(
    session: Session, leaf_id: str | None, compacted: bool, file: jsonl.Writable, progress: Progress | None
) -> None:
    """A JSON array, a message a line."""
    total = len(session.get_history_row_stats(leaf_id=leaf_id))
    before = "[\n"
    for number, message in enumerate(session.history(leaf_id=leaf_id, compacted=compacted), 1):
        file.write(f"{before}{codec.encode(message).text}".encode())
        before = ",\n"
        if progress is not None and number % REPORT_EVERY == 0:
            progress(number, total)
    file.write(b"[]\n" if before == "[\n" else b"\n]\n")


class _ForTerminal:
    """Passes JSON text on with what a terminal would obey escaped: the same values, spelt otherwise.

    Markdown passes as it is: its writer has spelt that out for every reader.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, data: bytes) -> None:
        """Writes whole lines of JSON."""
        self._stream.write(safe_json(data.decode()).encode())


def _to_stdout(job: _Job, progress: Progress | None) -> None:
    stream = sys.stdout.buffer
    target: jsonl.Writable = _ForTerminal(stream) if stream.isatty() else stream
    job.write(target, progress)
    stream.flush()


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:  # one isn't there, yet
        return os.path.realpath(one) == os.path.realpath(other)


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
