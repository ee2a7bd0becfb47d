"""Files of JSON Lines that are one session each, found by the id that a row of theirs gives the session."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import attrs

from eventstore.exchange.conversation import Conversation, Found
from eventstore.exchange.lines import Lines
from eventstore.exchange.sources import digest_of


def find_sessions(
    format: str,
    paths: Sequence[str | os.PathLike[str]],
    session_of: Callable[[Any], str | None],
    make: Callable[[Lines], Conversation],
) -> Iterator[Found]:
    """The sessions of files, unread. `session_of` gives the session that a row names as its own, `make` reads one.

    Raises `OSError` if a file can't be read, `InvalidExport` if an archive is damaged; and so does reading them.
    """
    for path in paths:
        with Lines(path).open() as lines:
            name = next((name for line in lines if (name := session_of(line.value))), None)
        digest = digest_of([path])
        yield Found(f"{format}:{name}" if name else None, (digest,), partial(_read, path, make, digest))


def _read(path: str | os.PathLike[str], make: Callable[[Lines], Conversation], digest: str) -> Iterator[Conversation]:
    with Lines(path).open() as lines:
        yield attrs.evolve(make(lines), digest=digest)
