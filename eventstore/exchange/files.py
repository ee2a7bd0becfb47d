"""Any file, folder or zip archive into a store, whatever the formats: other systems' exports and our own."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial

import attrs

from eventstore.errors import NotSerializable
from eventstore.exchange import Format, format_of, head_of, jsonl, kind_of, plain, told_by
from eventstore.exchange.conversation import InvalidExport, Skipped
from eventstore.exchange.sources import Source, found_at
from eventstore.exchange.store import Noted, store
from eventstore.reports import ImportReport
from eventstore.sessions import Sessions
from eventstore.types import Progress, check_flag, check_progress


def recognise(path: str | os.PathLike[str]) -> str:
    """The name of the format of what lies at `path`, told by its content: of a folder or archive, the first known one.

    Raises `InvalidExport` if there is none, `CannotOpen` if it can't be read.
    """
    with found_at(path) as found:
        skipped = found.skipped
        for source in found.sources:
            try:
                format = _format_of(source, found.several)
            except (InvalidExport, OSError) as error:
                if not found.several:
                    raise
                skipped.append((f"file {source.name!r}", plain.reason_of(error, source.name)))
            else:
                return jsonl.FORMAT if format is None else format.FORMAT
    raise _nothing(path, skipped)


def _nothing(path: str | os.PathLike[str], skipped: Sequence[Skipped]) -> InvalidExport:
    """What is raised where no file is of a known kind. It names the first: there may be something to do about it."""
    first = "".join(f": {what}: {why}" for what, why in skipped[:1])
    more = f"; and {len(skipped) - 1} more" if skipped[1:] else ""
    return InvalidExport(path, None, f"wanted a file of a known kind in it, found none{first}{more}")


def import_file(
    sessions: Sessions, path: str | os.PathLike[str], progress: Progress | None = None, *, reread: bool = False
) -> Iterator[tuple[str | None, ImportReport]]:
    """Stores the conversations at `path`, and gives (session, report) of each when it is committed.

    `path` is a file, a folder or a zip archive; of these every file of a known kind is read, in the order of their
    names, and the others are named in one report more, the first, whose session is `None`. Each conversation is stored
    whole or not at all. Storing the same file again writes nothing, a later export of it adds what is new. `progress`
    is told the bytes that were read and stored, and how many there are. A conversation that the last import left as it
    is isn't read again, and its report names nothing, unless `reread` is true.

    Raises as `recognise`, `InvalidArgument` for what isn't a `Sessions`, and `InvalidExport` where a file stops making
    sense: what was committed stays. In a folder or archive the other files are stored before that.
    """
    jsonl.check_store(sessions)
    check_flag("reread", reread)
    check_progress(progress)
    with found_at(path) as found:
        groups, skipped = _groups(found.sources, found.several)
        skipped = [*found.skipped, *skipped]
        if not groups:
            raise _nothing(path, skipped)
        if skipped:
            yield None, ImportReport(0, 0, tuple(skipped))
        counter = _Counter(progress, sum(source.size for group in groups for source in group.sources))
        noted = Noted(sessions)
        faults: list[InvalidExport] = []
        for group in groups:
            try:
                yield from _import(sessions, group, counter, noted, reread)
            except InvalidExport as error:
                faults.append(error)
        if faults:
            for fault in faults[1:]:
                faults[0].add_note(str(fault))
            raise faults[0]


@attrs.frozen
class _Group:
    """Files that are read together: one, or all of a format whose sessions may lie in several."""

    format: Format | None  # `None`: our own
    sources: list[Source]


def _groups(sources: Sequence[Source], several: bool) -> tuple[list[_Group], list[Skipped]]:
    """The files of known kinds, and those that are left out. A file that is named by itself isn't left out."""
    groups: list[_Group] = []
    gathered: dict[str, _Group] = {}
    skipped: list[Skipped] = []
    for source in sources:
        try:
            format = _format_of(source, several)
        except (InvalidExport, OSError) as error:
            if not several:
                raise
            skipped.append((f"file {source.name!r}", plain.reason_of(error, source.name)))
            continue
        if format is None or not getattr(format, "GATHERS", False):
            groups.append(_Group(format, [source]))
        elif format.FORMAT in gathered:
            gathered[format.FORMAT].sources.append(source)
        else:
            gathered[format.FORMAT] = _Group(format, [source])
            groups.append(gathered[format.FORMAT])
    return groups, skipped


def _format_of(source: Source, several: bool) -> Format | None:
    """The format of a file, `None` for our own. Of one of several that isn't known less is said."""
    head = head_of(source)
    if jsonl.recognises(head):
        return None
    format = told_by(head) if several else format_of(source)
    if format is None:
        raise InvalidExport(source, None, f"no export of a known kind: {kind_of(head)}")
    return format


class _Counter:
    """Bytes that are done, over all files: those behind, and of the file at hand those that were read and stored."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._total = total
        self._read = 0  # of all files, each as far as it was read
        self._told = 0

    def hear(self, source: Source) -> Source:
        """The source, telling what is read of it."""
        if self._progress is None:
            return source
        before = 0

        def heard(at: int) -> None:
            nonlocal before
            self._read += max(at - before, 0)
            before = max(at, before)

        return attrs.evolve(source, heard=heard)

    def tell_stored(self, rows: int, done: int, _: int | None) -> None:
        """Tells that so many of the rows of a conversation that was read are stored."""
        self.tell(done, rows)

    def tell(self, done: int, known: int | None) -> None:
        """Tells that so many of `known` messages of what was read are stored; `None`: all."""
        if self._progress is None:
            return
        part = 1.0 if not known else min(done / known, 1.0)
        at = self._told + int((self._read - self._told) * part) if known else self._read
        self._progress(min(at, self._total), self._total)
        if not known:
            self._told = self._read


def _import(
    sessions: Sessions, group: _Group, counter: _Counter, noted: Noted, reread: bool
) -> Iterator[tuple[str, ImportReport]]:
    heard = [counter.hear(source) for source in group.sources]
    if group.format is None:
        for source in heard:
            for done in jsonl.import_file(sessions, source, lambda *_: counter.tell(0, None)):
                yield done
                counter.tell(0, None)
        return
    told: set[str] = set()
    for found in group.format.find(heard):
        if not reread and (known := noted.unchanged(found)) is not None:
            yield from ((name, ImportReport(0, messages)) for name, messages in known.items())
            counter.tell(0, None)
            continue
        for conversation in found.read():
            if conversation.session_id in told:  # its metadata as they were told first: the next import finds them so
                conversation = attrs.evolve(conversation, metadata={})
            told.add(conversation.session_id)
            tell = partial(counter.tell_stored, len(conversation.rows))
            try:
                report = store(sessions, conversation, tell)
            except NotSerializable as error:  # nested deeper than messages may be
                what = f"conversation {conversation.session_id!r}"
                report = ImportReport(0, 0, ((what, f"no store can hold it: {error}"),))
            yield conversation.session_id, report
            counter.tell(0, None)
