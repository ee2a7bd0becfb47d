"""The table of all write verbs: how each is done to a prepared session, what it logs, and how it fails.

A new verb gets its line here, and with it all laws of `test_write_verbs`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import attrs

from eventstore import (
    CompactResult,
    EventStoreError,
    ImportRow,
    InvalidArgument,
    InvalidCompaction,
    InvalidMessage,
    LeafChanged,
    Message,
    NotSerializable,
    Session,
    Sessions,
    UnknownMessage,
)

LONG = "a reply that is long enough to be stored as what is added to it. " * 50
WHEN = datetime(2020, 2, 29, 12, 30, 15, 123456, tzinfo=UTC)


def message(message_id: str, text: str = "hello", role: str = "user") -> Message:
    return {"id": message_id, "role": role, "parts": [{"type": "text", "text": text}], "metadata": {"n": 1}}


def prepare(session: Session) -> Session:
    """m1 ─ m2 ─ m3, with m4 beside m3 and selected m3, and metadata. m3 is long."""
    session.append_messages([message("m1"), message("m2", role="assistant"), message("m3", LONG)])
    session.append_message(message("m4", "another try"), parent_id="m2")
    session.select_leaf("m3")
    session.set_metadata({"title": "prepared"})
    return session


def _other(session: Session) -> Session:
    return session.sessions.session(f"{session.session_id} copied")


@attrs.frozen
class Verb:
    """One way to write."""

    method: str
    """The public method that it stands for: `Session.append_message`."""
    perform: Callable[[Session], Any]
    """Does it to a prepared session."""
    events: tuple[str, ...]
    """The types that it logs."""
    fail: Callable[[Session], Any] | None = None
    """A call that is refused; None when nothing can be wrong with its arguments."""
    error: type[EventStoreError] = EventStoreError
    """What it is refused with."""
    in_transaction: bool = True
    """Whether it may be done inside `transaction()`."""


def _rows(*ids: str, parent_id: str | None = "m2") -> list[ImportRow]:
    """Each on the one before."""
    parents = (parent_id, *ids)
    return [
        ImportRow(message(each), parent_id=parent, created_at=WHEN) for each, parent in zip(ids, parents, strict=False)
    ]


UNSTORABLE: Any = {**message("m9"), "parts": [{"type": "data-x", "data": {1, 2}}]}

VERBS: dict[str, Verb] = {
    "prune": Verb(  # first: it deletes every session that is there
        "Sessions.prune",
        lambda s: s.sessions.prune(timedelta()),
        ("delete_session",),
        lambda s: s.sessions.prune(timedelta(microseconds=-1)),
        InvalidArgument,
    ),
    "append": Verb(
        "Session.append_message",
        lambda s: s.append_message(message("m5"), expected_leaf="m3"),
        ("append",),
        lambda s: s.append_message(message("m5"), expected_leaf="m4"),
        LeafChanged,
    ),
    "append under a parent": Verb(
        "Session.append_message",
        lambda s: s.append_message(message("m5"), parent_id="m1"),
        ("append",),
        lambda s: s.append_message(message("m5"), parent_id="nobody"),
        UnknownMessage,
    ),
    "append many": Verb(
        "Session.append_messages",
        lambda s: s.append_messages([message("m5"), message("m6"), message("m7")], expected_leaf="m3"),
        ("append", "append", "append"),
        lambda s: s.append_messages([message("m5"), UNSTORABLE]),
        NotSerializable,
    ),
    "update": Verb(
        "Session.update_message",
        lambda s: s.update_message(message("m2", "changed")),
        ("update",),
        lambda s: s.update_message({"id": "m2", "role": "", "parts": []}),
        InvalidMessage,
    ),
    "update that grows a text": Verb(
        "Session.update_message",
        lambda s: s.update_message(message("m3", LONG + "And more.")),
        ("update",),
        lambda s: s.update_message({**UNSTORABLE, "id": "m3"}),
        NotSerializable,
    ),
    "upsert of a new one": Verb(
        "Session.upsert_message",
        lambda s: s.upsert_message(message("m5")),
        ("append",),
        lambda s: s.upsert_message(message("m5"), parent_id="nobody"),
        UnknownMessage,
    ),
    "upsert of a known one": Verb(
        "Session.upsert_message",
        lambda s: s.upsert_message(message("m1", "changed")),
        ("update",),
        lambda s: s.upsert_message({**UNSTORABLE, "id": "m1"}),
        NotSerializable,
    ),
    "delete": Verb(
        "Session.delete_messages",
        lambda s: s.delete_messages(["m2", "m4"]),
        ("delete",),
        lambda s: s.delete_messages("m2"),
        InvalidArgument,
    ),
    "delete a branch": Verb(
        "Session.delete_branch",
        lambda s: s.delete_branch("m2"),
        ("delete",),
        lambda s: s.delete_branch("nobody"),
        UnknownMessage,
    ),
    "clear": Verb("Session.clear_messages", lambda s: s.clear_messages(), ("clear",)),
    "select": Verb(
        "Session.select_leaf",
        lambda s: s.select_leaf("m4"),
        ("select",),
        lambda s: s.select_leaf("nobody"),
        UnknownMessage,
    ),
    "metadata": Verb(
        "Session.set_metadata",
        lambda s: s.set_metadata({"title": "changed"}),
        ("metadata",),
        lambda s: s.set_metadata({"title": object()}),
        NotSerializable,
    ),
    "import": Verb(
        "Session.import_message",
        lambda s: s.import_message(message("m5"), parent_id="m1", created_at=WHEN),
        ("import",),
        lambda s: s.import_message(message("m5"), parent_id="m1", created_at=datetime(2020, 1, 1)),
        InvalidArgument,
    ),
    "import many": Verb(
        "Session.import_messages",
        lambda s: s.import_messages(reversed(_rows("m5", "m6", "m7"))),
        ("import", "import", "import"),
        lambda s: s.import_messages(_rows("m5", parent_id="nobody")),
        UnknownMessage,
    ),
    "copy": Verb(
        "Session.copy_to",
        lambda s: s.copy_to(_other(s)),
        ("import", "import", "import", "import", "select", "metadata"),
        lambda s: s.copy_to(s),
        InvalidArgument,
    ),
    "copy of a path": Verb(
        "Session.copy_to",
        lambda s: s.copy_to(_other(s), leaf_id="m4"),
        ("import", "import", "import", "metadata"),
        lambda s: s.copy_to(_other(s), leaf_id="nobody"),
        UnknownMessage,
    ),
    "add a compaction": Verb(
        "Session.add_compaction",
        lambda s: s.add_compaction("they met", "m1", "m2"),
        ("compaction",),
        lambda s: s.add_compaction("they met", "m2", "m1"),
        InvalidCompaction,
    ),
    "compact": Verb(
        "Session.compact",
        lambda s: s.on_compaction(lambda _: CompactResult("m2", "m3", "they met")).compact(),
        ("compact",),
        lambda s: s.on_compaction(lambda _: CompactResult("m2", "m3", " ")).compact(),
        InvalidCompaction,
        in_transaction=False,
    ),
    "delete a session": Verb(
        "Sessions.delete_session",
        lambda s: s.sessions.delete_session(s.session_id),
        ("delete_session",),
        lambda s: s.sessions.delete_session("half \ud83d"),
        InvalidArgument,
    ),
}

READS = {
    "Session": {
        "events",
        "get_branches",
        "get_compactions",
        "get_history",
        "get_history_row_stats",
        "get_latest_leaf",
        "get_leaves",
        "get_message",
        "get_message_info",
        "get_metadata",
        "get_recent_history",
        "history",
        "history_batches",
        "info",
        "search",
        "subscribe",
        "tail",
        "token_estimate",
        "tree",
    },
    "Sessions": {
        "at",
        "backup",
        "close",
        "events",
        "list_sessions",
        "poll",
        "search",
        "session",
        "subscribe",
        "tail",
        "transaction",
        "verify",
        "watch",
    },
}
"""Public methods that log nothing."""

REPLAYS = {"Session": {"on_compaction", "compact_after"}, "Sessions": {"rebuild", "scavenge"}}
"""Public methods that change what is in memory, the read tables to what they were, or what nothing shows."""


def perform_all(path: str) -> None:
    """Prepares a session for each verb, and performs it there: what another process does to the file."""
    with Sessions(path) as sessions:
        for name, verb in VERBS.items():
            verb.perform(prepare(sessions.session(name)))


if __name__ == "__main__":
    perform_all(str(Path(sys.argv[1])))
