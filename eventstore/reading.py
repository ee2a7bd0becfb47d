"""The reads of a session, as methods: the same for a session of a store and for one of a view in time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import chain
from typing import Any, Protocol

from eventstore import hints, history, paths, reads, tree
from eventstore.driver import Connection
from eventstore.history import WINDOW_BYTES, WINDOW_MESSAGES, Read
from eventstore.totals import PathTotals
from eventstore.tree import Position
from eventstore.types import Handle, Message, RecentHistory, check_flag

TREE_WINDOW = 500


class Source(Protocol):
    """Where a session's reads come from."""

    totals: PathTotals

    def read_session(self, name: str) -> AbstractContextManager[Connection]:
        """A connection that shows one state of a session."""

    def lasting_read(self, name: str) -> Read:
        """As `read_session`, for what is read in steps."""

    def position(self, connection: Connection) -> int:
        """The seq that this state is of."""


class ReadableSession(Handle):
    """One conversation, to read. Paths run from a root to `leaf_id`; left out, to the active leaf.

    Every id given must be one that the session holds, else `UnknownMessage`. All times are aware datetimes in UTC.

    `compacted=True` shows summaries in the place of the messages that they cover (what a model should see), `False`
    every message (what a person should see). A summary reads as an assistant's message with the id `compaction_<id>`.
    """

    def __init__(self, source: Source, session_id: str) -> None:
        self.session_id = session_id
        self._source = source

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.session_id!r}>"

    def _read(self) -> AbstractContextManager[Connection]:
        return self._source.read_session(self.session_id)

    # ---- paths

    def history(
        self,
        *,
        leaf_id: str | None = None,
        newest_first: bool = False,
        compacted: bool = True,
        before: str | None = None,
    ) -> Iterator[Message]:
        """The messages of a path, root first (or newest first), one at a time, in windows of 50 messages or 4 MiB.

        `before` is an id that a read showed: the path is read up to that message, without it. Path and arguments are
        those of the call, bodies those of the moment when their window is read; messages deleted meanwhile are left
        out. Nothing is locked between two messages.
        """
        batches = self.history_batches(leaf_id=leaf_id, newest_first=newest_first, compacted=compacted, before=before)
        return chain.from_iterable(batches)

    def history_batches(
        self,
        *,
        batch_size: int = WINDOW_MESSAGES,
        max_batch_bytes: int = WINDOW_BYTES,
        leaf_id: str | None = None,
        newest_first: bool = False,
        before: str | None = None,
        compacted: bool = True,
    ) -> Iterator[list[Message]]:
        """As `history`, in lists of at most `batch_size` messages and `max_batch_bytes` stored bytes, never empty."""
        check_flag("newest_first", newest_first)
        check_flag("compacted", compacted)
        return history.batches(
            self._source.lasting_read(self.session_id),
            self.session_id,
            leaf_id,
            before,
            newest_first=newest_first,
            compacted=compacted,
            batch_size=batch_size,
            max_batch_bytes=max_batch_bytes,
        )

    def get_history(
        self,
        *,
        leaf_id: str | None = None,
        newest_first: bool = False,
        compacted: bool = True,
        before: str | None = None,
    ) -> list[Message]:
        """A whole path in one list, of one state. `history` reads a long one without holding it in memory."""
        check_flag("newest_first", newest_first)
        check_flag("compacted", compacted)
        with self._read() as connection:
            return history.get_history(
                connection, self.session_id, leaf_id, before, newest_first=newest_first, compacted=compacted
            )

    def get_recent_history(
        self,
        max_bytes: int | None = None,
        *,
        max_messages: int | None = None,
        leaf_id: str | None = None,
        compacted: bool = True,
        before: str | None = None,
    ) -> RecentHistory:
        """The newest messages of a path that fit both limits, oldest first, and at least the newest.

        Every message counts at its full stored size. `before` pages backwards. The cost doesn't grow with the path.
        """
        if max_bytes is not None:
            history.check_limit("max_bytes", max_bytes, None)  # below 0 is no room: the newest alone
        if max_messages is not None:
            history.check_limit("max_messages", max_messages, 1)
        check_flag("compacted", compacted)
        with self._read() as connection:
            return history.get_recent_history(
                connection,
                self.session_id,
                leaf_id,
                before,
                max_bytes=max_bytes,
                max_messages=max_messages,
                compacted=compacted,
                totals=self._source.totals,
                seq=self._source.position(connection),
            )

    def get_history_row_stats(self, *, leaf_id: str | None = None) -> list[hints.MessageInfo]:
        """The infos of every message on a path, root first, without reading content."""
        from eventstore import overviews

        with self._read() as connection:
            return overviews.get_history_row_stats(connection, self.session_id, leaf_id)

    def token_estimate(self, *, leaf_id: str | None = None, compacted: bool = True) -> int:
        """The tokens of a path, by the estimates stamped on its messages, without reading content."""
        check_flag("compacted", compacted)
        with self._read() as connection:
            path = paths.find_path(connection, self.session_id, leaf_id)
            return 0 if path is None else self._source.totals.of(connection, path, compacted=compacted)[1]

    def get_compactions(self) -> list[hints.Compaction]:
        """Every summary of the session, shown or not, in the order in which they were stored.

        Ids are without the prefix `compaction_` that they have in a history. A summary that is gone with all its
        messages is empty.
        """
        from eventstore import overviews

        with self._read() as connection:
            return overviews.get_compactions(connection, self.session_id)

    # ---- messages

    def get_message(self, message_id: str) -> Message | None:
        """A message, `None` when the session doesn't hold it. Raises `InvalidArgument` for what is no string."""
        with self._read() as connection:
            return reads.get_message(connection, self.session_id, message_id)

    def get_message_info(self, message_id: str) -> hints.MessageInfo | None:
        """A message's place, size and times, `None` when the session doesn't hold it. No content is read.

        Raises `InvalidArgument` for what is no string.
        """
        from eventstore import overviews

        with self._read() as connection:
            return overviews.get_message_info(connection, self.session_id, message_id)

    def get_branches(self, message_id: str | None) -> list[Message]:
        """The messages that follow a message, or (`None`) the roots, oldest first."""
        with self._read() as connection:
            return reads.get_branches(connection, self.session_id, message_id)

    def tree(self) -> Iterator[hints.MessageInfo]:
        """The infos of every message that there is at the call, parents before their children. No content is read."""
        read = self._source.lasting_read(self.session_id)
        with read() as connection:
            session = paths.find_session(connection, self.session_id)
            chains = [] if session is None else tree.chains(connection, session)
            upto = self._source.position(connection)
        return self._tree(read, chains, upto)

    def _tree(self, read: Read, chains: list[int], upto: int) -> Iterator[hints.MessageInfo]:
        from eventstore import overviews

        after = Position(0, 0)
        while True:
            with read() as connection:
                found = overviews.next_infos(connection, chains, after, upto, TREE_WINDOW)
            if not found:
                return
            for _, info in found:
                yield info
            after = found[-1][0]

    def get_leaves(self) -> list[hints.MessageInfo]:
        """The messages that nothing follows, most recently appended, imported or selected first."""
        from eventstore import overviews

        with self._read() as connection:
            return overviews.get_leaves(connection, self.session_id)

    def get_latest_leaf(self, *, below: str | None = None) -> Message | None:
        """The active leaf, `None` in an empty session. With `below`, the most recent message under that one."""
        with self._read() as connection:
            return reads.get_latest_leaf(connection, self.session_id, below)

    # ---- the session

    def get_metadata(self) -> dict[str, Any]:
        """The session's own metadata, `{}` when none was set."""
        with self._read() as connection:
            return reads.get_metadata(connection, self.session_id)

    def info(self) -> hints.SessionInfo:
        """The session's totals over all branches, its metadata and times, without reading messages."""
        from eventstore import overviews

        with self._read() as connection:
            return overviews.session_info(connection, self.session_id)
