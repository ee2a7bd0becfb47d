"""A conversation into its session.

Storing the same conversation again writes nothing: known messages are left as they are, summaries and metadata that
are already there aren't set again, and the shown branch is selected only when something was added. A later export of it
adds what is new and brings its title up to date; an earlier one (by `updated_at`) doesn't take that back. All of one
conversation is stored in one transaction, or nothing of it.

Two things look at what the session holds. A root whose parent isn't in the file hangs on that parent where the session
has it: files of one session complete each other. A message that may still have been growing (`Conversation.growing`) is
replaced by the export's when its stored parts are the beginning of the export's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from typing import Any, Final

import attrs

from eventstore import codec
from eventstore.errors import InvalidCompaction, UnknownMessage
from eventstore.exchange.conversation import Conversation, Found, Skipped
from eventstore.exchange.values import time_of_text
from eventstore.infos import MessageInfo, SessionInfo
from eventstore.reports import ImportReport, ImportRow
from eventstore.session import Session
from eventstore.sessions import Sessions
from eventstore.types import Progress

VERSION: Final = 2
"""Of the importers: the next one, when they find more than before, so that unchanged files are read again."""
MARK: Final = "eventstore.import"
"""The key of a session's metadata that says what was imported last: see `Noted`."""
_VERSIONED: Final = f"/{VERSION}"


def store(sessions: Sessions, conversation: Conversation, progress: Progress | None = None) -> ImportReport:
    """Writes `conversation` into the session that it names, and says what was stored, known and left out.

    A conversation without rows creates no session. Metadata of the session's own stays beside the export's, which win
    where both have a key. `progress` counts what is new. Where the conversation has a digest, it is noted in the
    metadata when something is written, or when importers of another version noted one. Raises what `import_messages`
    raises; nothing of the conversation is stored then.
    """
    if not conversation.rows:
        return ImportReport(imported=0, known=0, skipped=conversation.skipped)
    session = sessions.session(conversation.session_id)
    with sessions.transaction():
        # Looked up all at once: an import that finds nothing new should cost little more than reading the file.
        held = {info.id: info for info in session.tree()}
        leaf = session.get_latest_leaf() if conversation.aside else None
        report = session.import_messages(_new(conversation, held), progress=progress)
        _grow(session, conversation, held)
        skipped = _summarize(session, conversation)
        before = session.get_metadata()
        after = _described(before, conversation.metadata)
        changed = report.imported or after != before or _is_of_others(before.get(MARK))
        if conversation.digest is not None and changed:
            after |= {MARK: _mark(session.info(), conversation.digest)}
        session.set_metadata(after)  # an equal one writes nothing
        shown = conversation.current if leaf is None or not conversation.aside else leaf["id"]
        if report.imported and shown is not None:
            session.select_leaf(shown)
    known = len(conversation.rows) - report.imported
    return ImportReport(report.imported, known, (*report.skipped, *conversation.skipped, *skipped))


def _described(before: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """The session's metadata with the export's, which win; of an older export only what is missing is added."""
    there, here = time_of_text(before.get("updated_at")), time_of_text(found.get("updated_at"))
    is_older = there is not None and here is not None and here < there
    return found | before if is_older else before | found


class Noted:
    """Which conversations of a store are still as an import of them left them, by the digests that it noted."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def unchanged(self, found: Found) -> dict[str, int] | None:
        """The sessions of `found` and how many messages they hold, if imports of the same content left them so.

        `None` if it has to be read: something else was imported last, or a session was changed since in a way that its
        number of messages or of bytes shows.
        """
        if found.session_id is None and not self._infos:
            return None  # without asking for digests, which may cost
        known: dict[str, int] = {}
        for digest in found.digests:
            name = found.session_id
            info = self._infos.get(digest) if name is None else self._sessions.session(name).info()
            if info is None or info.metadata.get(MARK) != _mark(info, digest):
                return None
            known[info.session_id] = info.messages
        return known or None

    @cached_property
    def _infos(self) -> dict[str, SessionInfo]:
        """The sessions by their digests, as they were when this was asked first: imports take nothing away."""
        return {
            mark["digest"].removesuffix(_VERSIONED): info
            for info in self._sessions.list_sessions()
            if isinstance(mark := info.metadata.get(MARK), dict)
            and isinstance(mark.get("digest"), str)
            and mark.get("session") == info.session_id  # not a copy of one
        }


def _is_of_others(mark: Any) -> bool:
    """Whether importers of another version noted it: what it says of is read at each import, until it is noted anew."""
    digest = mark.get("digest") if isinstance(mark, dict) else None
    return isinstance(digest, str) and not digest.endswith(_VERSIONED)


def _mark(info: SessionInfo, digest: str) -> dict[str, Any]:
    return {
        "digest": f"{digest}{_VERSIONED}",
        "session": info.session_id,
        "messages": info.messages,
        "bytes": info.bytes,
    }


def _new(conversation: Conversation, held: Mapping[str, MessageInfo]) -> Iterator[ImportRow]:
    rows = conversation.rows_where(lambda message_id: message_id not in held)
    return map(partial(_hung, conversation.elsewhere, held), rows) if conversation.elsewhere else rows


def _hung(elsewhere: Mapping[str, str], held: Mapping[str, MessageInfo], row: ImportRow) -> ImportRow:
    """A row, which hangs on a message that only the session has, where it is one of those."""
    parent = elsewhere.get(row.message["id"])
    return row if parent not in held else attrs.evolve(row, parent_id=parent)


def _grow(session: Session, conversation: Conversation, held: Mapping[str, MessageInfo]) -> None:
    """Brings messages up to date that were imported before they were whole: nothing can have followed them then."""
    ends = held.keys() - {info.parent_id for info in held.values()}
    growing = {id for id in ends if id in conversation.growing}
    for row in conversation.rows_where(growing.__contains__) if growing else ():
        if codec.encode(row.message).size <= held[row.message["id"]].bytes:
            continue
        stored = session.get_message(row.message["id"])
        if stored is not None and stored["parts"] == row.message["parts"][: len(stored["parts"])]:
            session.update_message(row.message)


def _summarize(session: Session, conversation: Conversation) -> list[Skipped]:
    """Stores the summaries that aren't there. One that fits on no path, since messages were deleted, is named."""
    if not conversation.summaries:
        return []
    skipped: list[Skipped] = []
    there = {(each.to_message_id, each.summary) for each in session.get_compactions()}
    for each in conversation.summaries:
        if (each.to_message_id, each.summary) in there:
            continue
        try:
            session.add_compaction(each.summary, each.from_message_id, each.to_message_id, created_at=each.created_at)
        except (InvalidCompaction, UnknownMessage) as error:
            skipped.append((f"summary up to {each.to_message_id!r}", str(error)))
    return skipped
