"""One conversation of a store: the reads of `ReadableSession`, and the writes. Thin: each verb has a module.

The modules of what most processes don't do are imported as it is first done: an import is paid at every start.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Self

from eventstore import appending, hints
from eventstore.compaction import Compactor
from eventstore.feed import INTERVAL
from eventstore.listeners import Listener, Subscription
from eventstore.reading import ReadableSession
from eventstore.store import Store
from eventstore.types import (
    LATEST,
    UNCHECKED,
    AppendResult,
    ExpectedLeaf,
    Message,
    MessageLike,
    ParentId,
    Progress,
    Source,
)


class Session(ReadableSession):
    """One conversation. Get it from `Sessions.session()`, which returns the same object for the same name.

    Messages are JSON objects with `id`, `role` and `parts`. What a write returns is the stored form, equal to what a
    read gives, and never the caller's own object. Every write is one transaction; its event reaches all listeners
    before the call returns. A message of the wrong shape raises `InvalidMessage`, one that JSON can't hold
    `NotSerializable`, an id that the session doesn't hold `UnknownMessage`; then nothing was written or emitted.
    """

    def __init__(self, sessions: hints.Sessions, store: Store, session_id: str) -> None:
        super().__init__(store, session_id)
        self.sessions = sessions
        self._store = store
        self._compactor = Compactor(store, session_id)

    # ---- adding

    def append_message(
        self,
        message: MessageLike,
        *,
        parent_id: ParentId = LATEST,
        expected_leaf: ExpectedLeaf = UNCHECKED,
        source: Source = "server",
    ) -> AppendResult:
        """Appends a message to the active leaf, or under `parent_id` (`None`: as a root), and makes it the active leaf.

        An id that the session already holds stores nothing, so a retried append is safe: `inserted` is false and
        `message` the stored one. `expected_leaf` raises `LeafChanged` when the active leaf is another. With
        `source="client"` the store's reserved metadata keys are removed.
        """
        return appending.append_message(self._store, self.session_id, message, parent_id, expected_leaf, source)

    def append_messages(
        self,
        messages: Iterable[MessageLike],
        *,
        parent_id: ParentId = LATEST,
        expected_leaf: ExpectedLeaf = UNCHECKED,
        source: Source = "server",
    ) -> list[AppendResult]:
        """Appends messages, each on the one before, in one transaction. After a known id the next attaches to it."""
        return appending.append_messages(self._store, self.session_id, messages, parent_id, expected_leaf, source)

    def import_message(self, message: MessageLike, *, parent_id: str | None, created_at: datetime) -> AppendResult:
        """Stores a message as given, with its own place and time (aware). A known id stores nothing."""
        from eventstore import importing

        return importing.import_message(self._store, self.session_id, message, parent_id, created_at)

    def import_messages(
        self, rows: Iterable[hints.ImportRow], *, progress: Progress | None = None
    ) -> hints.ImportReport:
        """Stores any number of messages as given, in transactions of at most 1,000 messages or 8 MiB.

        A row may come before its parent: it waits for it. Rows that still wait at the end raise `UnknownMessage`, which
        names them; like any other error it leaves what was committed before.
        """
        from eventstore import importing

        return importing.import_messages(self._store, self.session_id, rows, progress)

    # ---- changing

    def update_message(self, message: MessageLike, *, source: Source = "server") -> Message | None:
        """Replaces the message with this id; `None` when it isn't there. An equal message writes and emits nothing."""
        from eventstore import updating

        return updating.update_message(self._store, self.session_id, message, source)

    def upsert_message(
        self, message: MessageLike, *, parent_id: ParentId = LATEST, source: Source = "server"
    ) -> AppendResult:
        """Appends a message when its id is new, else updates it: then `inserted` is false, and `seq` the update's."""
        from eventstore import updating

        return updating.upsert_message(self._store, self.session_id, message, parent_id, source)

    # ---- taking away

    def delete_messages(self, message_ids: Iterable[str]) -> list[str]:
        """Deletes messages, and returns the ids of those that were there.

        What followed a deleted message follows its nearest surviving ancestor; a deleted root's children become roots.
        """
        from eventstore import deleting

        return deleting.delete_messages(self._store, self.session_id, message_ids)

    def delete_branch(self, message_id: str) -> list[str]:
        """Deletes a message and everything under it, and returns their ids."""
        from eventstore import deleting

        return deleting.delete_branch(self._store, self.session_id, message_id)

    def clear_messages(self) -> None:
        """Empties the session: messages, overlays, attachments. Its metadata stays. Always an event."""
        from eventstore import deleting

        deleting.clear_messages(self._store, self.session_id)

    # ---- the session itself

    def select_leaf(self, message_id: str) -> None:
        """Makes the path to a message, an inner one too, the active one. Already active: writes nothing."""
        from eventstore import describing

        describing.select_leaf(self._store, self.session_id, message_id)

    def set_metadata(self, metadata: Mapping[str, Any]) -> None:
        """Replaces the session's metadata: JSON about the session itself. An equal one writes nothing."""
        from eventstore import describing

        describing.set_metadata(self._store, self.session_id, metadata)

    def copy_to(
        self, other: Session, *, leaf_id: str | None = None, progress: Progress | None = None
    ) -> hints.ImportReport:
        """Copies the whole session into an empty session of any store, so that every read is the same.

        With `leaf_id` only the path to that message: a fork into a conversation of its own. Whole or not at all. Raises
        `InvalidArgument` when the other holds messages.
        """
        from eventstore import copying  # with the first copy

        copying.check_target(other, Session)
        return copying.copy_session(self._store, self.session_id, other._store, other.session_id, leaf_id, progress)

    # ---- search

    def search(
        self,
        query: str,
        *,
        limit: int | None = 20,
        role: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> list[hints.SearchResult]:
        """The messages of this session whose text has all the words of `query`: see `Sessions.search`."""
        from eventstore import searching  # with the first search: six modules

        return searching.search(self._store, self.session_id, query, limit=limit, role=role, since=since, until=until)

    # ---- compaction

    def on_compaction(self, function: hints.CompactFunction | None) -> Self:
        """Registers what makes summaries (see `create_compact_function`), `None` for nothing. Returns the session.

        The function is given what `get_history()` gives, earlier summaries included, and runs outside every lock and
        transaction. It isn't kept in the file. An async one is refused.
        """
        self._compactor.set_function(function)
        return self

    def compact_after(self, tokens: int | None) -> Self:
        """Compacts in the append that takes `token_estimate()` above this, once its event was delivered.

        `None` switches it off. Returns the session. A failure is logged and never fails the append; after one, and
        after a compaction that left the estimate above the threshold, the next try waits until it has grown by another
        tenth of it. Other threads' appends don't wait meanwhile.
        """
        self._compactor.threshold.set(tokens)
        return self

    def compact(self, *, leaf_id: str | None = None) -> hints.Compaction | None:
        """Compacts a path now. `None`: there was nothing to compact, or what was summarised has changed meanwhile.

        Raises what the compact function raises, `InvalidArgument` without one or inside a transaction, and
        `InvalidCompaction` for a result that can't be meant.
        """
        return self._compactor.compact(leaf_id)

    def add_compaction(
        self, summary: str, from_message_id: str, to_message_id: str, *, created_at: datetime | None = None
    ) -> hints.Compaction:
        """Shows `summary` on reads in the place of a range of messages, both ends included. No message is deleted.

        The id of a summary stands for its first or last message. Raises `InvalidCompaction` when the two aren't on one
        path, in order, or the summary is blank.
        """
        from eventstore import compacting

        return compacting.add_compaction(
            self._store, self.session_id, summary, from_message_id, to_message_id, created_at
        )

    # ---- the feed

    def subscribe(self, listener: Listener, *, after: int | None = None) -> Subscription:
        """Calls `listener(event)` for every event of this session, and keeps it alive: see `Sessions.subscribe`."""
        from eventstore import tailing

        return tailing.subscribe(self._store, self, listener, after)

    def events(self, after: int = 0) -> Iterator[hints.Event]:
        """This session's events with `seq` above `after`, up to the newest at the call, in bounded windows."""
        from eventstore import tailing

        return tailing.events(self._store, self, after)

    def tail(
        self, after: int | None = None, *, interval: float = INTERVAL, timeout: float | None = None
    ) -> Iterator[hints.Event]:
        """This session's events above `after`, then new ones as they are written: see `Sessions.tail`."""
        from eventstore import tailing

        return tailing.tail(self._store, self, after, interval, timeout)
