"""How conversations lie in files, and how they are found there: what most formats have in common.

| in a file | | found by |
| --- | --- | --- |
| one session, as JSON Lines | `Transcripts` | the id that a row of it names |
| values that are a conversation each | `Records` | their own ids |
| lists of messages (see `lists`) | `Lists` | the digests of all of them, as their names depend on each other |

Each has `find` and `read`, which are what a module for a format offers. Both raise `InvalidExport` where a file makes
no sense, when they get there, and `CannotOpen` if it can't be read. Only one conversation is in memory at a time, of a
transcript and of loose messages not even that; what is left out on the way is named in `skipped`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias

import attrs

from eventstore.exchange.conversation import Conversation, Found, InvalidExport, Skipped
from eventstore.exchange.lines import Lines
from eventstore.exchange.lists import Listed, Value, read_lists, read_values
from eventstore.exchange.naming import Names
from eventstore.exchange.sources import digest_of
from eventstore.exchange.values import usable

Path: TypeAlias = str | os.PathLike[str]


@attrs.frozen
class Transcripts:
    """Files of JSON Lines that are one session each.

    `session_of` gives the session that a row names as its own, `make` reads one.
    """

    format: str
    session_of: Callable[[Any], str | None]
    make: Callable[[Lines], Conversation]

    def find(self, paths: Sequence[Path]) -> Iterator[Found]:
        """The sessions of files, unread."""
        for path in paths:
            with Lines(path).open() as lines:
                name = next((name for line in lines if (name := self.session_of(line.value))), None)
            digest = digest_of([path])
            yield Found(f"{self.format}:{name}" if name else None, (digest,), partial(self._made, path, digest))

    def read(self, path: Path) -> Iterator[Conversation]:
        """The session of one file."""
        for found in self.find([path]):
            yield from found.read()

    def _made(self, path: Path, digest: str) -> Iterator[Conversation]:
        with Lines(path).open() as lines:
            yield attrs.evolve(self.make(lines), digest=digest)


@attrs.frozen
class Records:
    """Files whose values, in an array, by lines or alone, are one conversation each.

    `id_of` is a conversation's own id, `make` makes it of its value and the value's digest. A file whose first value is
    something else is refused, with `wanted`.
    """

    format: str
    wanted: str
    is_record: Callable[[Any], bool]
    id_of: Callable[[Any], Any]
    make: Callable[[Any, str], Conversation]

    def find(self, paths: Sequence[Path]) -> Iterator[Found]:
        """The conversations of files, unread."""
        for path in paths:
            yield from self._find(path)

    def read(self, path: Path) -> Iterator[Conversation]:
        """The conversations of one file."""
        for found in self._find(path):
            yield from found.read()

    def _find(self, path: Path) -> Iterator[Found]:
        skipped: list[Skipped] = []
        for number, found in enumerate(read_values(path, skipped)):
            if self.is_record(found.value):
                id = self.id_of(found.value)
                yield Found(f"{self.format}:{id}" if usable(id) else None, (found.digest,), partial(self._made, found))
            elif number == 0:
                raise InvalidExport(path, None, f"wanted {self.wanted}, found other JSON")
            else:
                skipped.append((found.where, "it isn't a conversation"))
        yield from left_out(self.format, skipped)

    def _made(self, found: Value) -> Iterator[Conversation]:
        yield self.make(found.value, found.digest)


@attrs.frozen
class Lists:
    """Files that hold messages in lists. `wanted`, `is_message` and `is_whole` are those of `lists.read_lists`.

    `make` makes what a list holds, mostly one conversation, with the digest of the list.
    """

    format: str
    wanted: str
    is_message: Callable[[Any], bool]
    make: Callable[[Listed, Names], Iterable[Conversation]]
    is_whole: Callable[[Any], bool] = lambda _: False

    def find(self, paths: Sequence[Path]) -> Iterator[Found]:
        """The conversations of files, unread: those of a file together."""
        for path in paths:
            yield Found(None, self._digests(path), partial(self.read, path))

    def read(self, path: Path) -> Iterator[Conversation]:
        """The conversations of one file."""
        names = Names(self.format)
        for listed in read_lists(path, self.wanted, self.is_message, self.is_whole):
            yield from self.make(listed, names)

    def _digests(self, path: Path) -> Iterator[str]:
        """Those of the lists that become a session; one that nobody knows where something can't be read."""
        try:
            for listed in read_lists(path, self.wanted, self.is_message, self.is_whole):
                told = sum(map(bool, map(self.is_message, listed.messages)))
                if listed.digest is not None and told:
                    yield listed.digest
                if listed.skipped:
                    yield ""
        except InvalidExport:  # it is told when the file is read
            yield ""


def left_out(format: str, skipped: Sequence[Skipped]) -> Iterator[Found]:
    """What a file holds beside its conversations, as one without messages, so that a report names it."""
    if skipped:
        lost = Conversation(f"{format}:unknown", {}, (), skipped=tuple(skipped))
        yield Found(None, (), partial(iter, [lost]))
