"""Every failure that a caller can cause, under one root.

    EventStoreError
    ├── InvalidMessage (ValueError)       a message of the wrong shape
    ├── NotSerializable (TypeError)       a value that JSON can't hold, and where it is
    ├── InvalidArgument (ValueError)      any other argument that can't be meant
    ├── InvalidCompaction (ValueError)    a range that can't be summarised
    ├── UnknownMessage (LookupError)      ids that the session doesn't hold
    ├── LeafChanged                       the active leaf is not the expected one
    ├── StoreBusy (TimeoutError)          another writer held the store for too long
    ├── StoreClosed (RuntimeError)        use after close()
    │   └── StoreForked                   use in a forked child
    ├── StoreFull (OSError)               no room on the disk
    └── CannotOpen (OSError)              the file can't be opened or read
        ├── NotAStore                     it is something else
        ├── NewerStore                    a later version wrote it
        ├── ReadOnlyStore                 it can be read but not written
        └── DamagedStore                  SQLite, or a digest, says that it is damaged

A message says what was wanted, what was found and what to do. It is built here from the attributes, so that the
attributes are the fact and the text can't differ from place to place.
"""

from __future__ import annotations

from collections.abc import Iterable

SHOWN_PLACE = 200  # characters of a place that a message shows; the attribute has it whole
SHOWN_IDS = 5  # more ids than this are counted in a message, not listed


class EventStoreError(Exception):
    """The root: `except EventStoreError` catches all that this package raises on purpose."""


class InvalidMessage(EventStoreError, ValueError):
    """A message isn't a mapping with a non-empty `id` and `role` and a list of typed `parts`."""


class NotSerializable(EventStoreError, TypeError):
    """A message holds a value that JSON can't hold. `place` is where: `parts[2].input.when`."""

    def __init__(self, place: str, reason: str) -> None:
        self.place = place
        self.reason = reason
        shown = place if len(place) <= SHOWN_PLACE else f"{place[:SHOWN_PLACE]}…"
        super().__init__(f"{shown or 'the message'} can't be stored as JSON: {reason}")

    def __reduce__(self) -> tuple[type[NotSerializable], tuple[str, str]]:
        return NotSerializable, (self.place, self.reason)


class InvalidArgument(EventStoreError, ValueError):
    """An argument has a value that can't be meant."""


class InvalidCompaction(EventStoreError, ValueError):
    """A compaction's range isn't two messages of one path, in order, or its summary is blank."""


class UnknownMessage(EventStoreError, LookupError):
    """The session doesn't hold these ids. `message_ids` names them all."""

    def __init__(self, message_ids: Iterable[str], session_id: str, wanted_as: str = "a message") -> None:
        self.message_ids = tuple(message_ids)
        self.session_id = session_id
        self.wanted_as = wanted_as
        shown = ", ".join(map(repr, self.message_ids[:SHOWN_IDS]))
        more = len(self.message_ids) - SHOWN_IDS
        if more > 0:
            shown += f" and {more} more"
        super().__init__(
            f"wanted {wanted_as}, but session {session_id!r} holds no message {shown}: "
            "it was never stored there, or was deleted"
        )

    def __reduce__(self) -> tuple[type[UnknownMessage], tuple[tuple[str, ...], str, str]]:
        return UnknownMessage, (self.message_ids, self.session_id, self.wanted_as)


class LeafChanged(EventStoreError):
    """The active leaf is `actual`, not the `expected_leaf` that the write was based on. Nothing was written."""

    def __init__(self, expected: str | None, actual: str | None) -> None:
        self.expected = expected
        self.actual = actual
        super().__init__(
            f"expected the active leaf to be {expected!r}, but it is {actual!r}: "
            "read the conversation again, then decide again"
        )

    def __reduce__(self) -> tuple[type[LeafChanged], tuple[str | None, str | None]]:
        return LeafChanged, (self.expected, self.actual)


class StoreBusy(EventStoreError, TimeoutError):
    """Another writer held the store for longer than `busy_timeout` seconds. Nothing was written."""


class StoreClosed(EventStoreError, RuntimeError):
    """The store was used after `close()`."""


class StoreForked(StoreClosed):
    """The store was opened in another process and came here by fork: open one store per worker."""


class StoreFull(EventStoreError, OSError):
    """There is no room left on the disk. The write was rolled back whole."""


class CannotOpen(EventStoreError, OSError):
    """The file can't be opened or read: a missing folder, no permission, no locks, an I/O error."""


class NotAStore(CannotOpen):
    """The file isn't an eventstore file."""


class NewerStore(CannotOpen):
    """The file was written by a later version of this package. It was not touched."""


class ReadOnlyStore(CannotOpen):
    """The file can only be read, or the store was opened with `read_only=True`."""


class DamagedStore(CannotOpen):
    """The file is damaged. `verify()` says where."""
