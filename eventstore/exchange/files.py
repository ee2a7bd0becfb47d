"""Any file into a store, whatever its format: other systems' exports and our own."""

from __future__ import annotations

import os
from collections.abc import Iterator

from eventstore.exchange import format_of, jsonl
from eventstore.exchange.elements import HEAD
from eventstore.exchange.store import store
from eventstore.sessions import Sessions
from eventstore.types import ImportReport, Progress


def recognise(path: str | os.PathLike[str]) -> str:
    """The name of the format of the file at `path`, told by its content.

    Raises `InvalidExport` if none knows it, `OSError` if it can't be read.
    """
    with open(path, "rb") as file:
        head = file.read(HEAD)
    return jsonl.FORMAT if jsonl.recognises(head) else format_of(path).FORMAT


def import_file(
    sessions: Sessions, path: str | os.PathLike[str], progress: Progress | None = None
) -> Iterator[tuple[str, ImportReport]]:
    """Stores the conversations of a file, and gives (session, report) of each when it is committed.

    Each is stored whole or not at all. Storing the same file again writes nothing, a later export of it adds what is
    new. Raises as `recognise`, and `InvalidExport` where the file stops making sense: what was committed stays.
    `progress` is told bytes of the file for our own format, messages stored for the others.
    """
    if recognise(path) == jsonl.FORMAT:
        yield from jsonl.import_file(sessions, path, progress)
        return
    for conversation in format_of(path).read(path):
        yield conversation.session_id, store(sessions, conversation, progress)
