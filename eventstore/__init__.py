"""An event-sourced store for conversations, embedded on SQLite.

Open a store with `Sessions(path)`, get a conversation with `.session(name)`, and append, branch, read and listen.
"""

from typing import TYPE_CHECKING

from eventstore.hints import HOMES as _HOMES
from eventstore.hints import find as _find

if TYPE_CHECKING:
    from eventstore.aio import AsyncReadableSession, AsyncSession, AsyncSessions, AsyncStoreView
    from eventstore.errors import (
        CannotOpen,
        DamagedStore,
        EventStoreError,
        InvalidArgument,
        InvalidCompaction,
        InvalidMessage,
        LeafChanged,
        NewerStore,
        NotAStore,
        NotSerializable,
        ReadOnlyStore,
        StoreBusy,
        StoreClosed,
        StoreForked,
        StoreFull,
        UnknownMessage,
    )
    from eventstore.events import (
        Appended,
        Cleared,
        Compacted,
        Deleted,
        Event,
        Imported,
        LeafSelected,
        MetadataChanged,
        SessionDeleted,
        Updated,
    )
    from eventstore.infos import Compaction, MessageInfo, SessionInfo
    from eventstore.listeners import Subscription
    from eventstore.prepare import strip_openai_ephemera
    from eventstore.reading import ReadableSession
    from eventstore.recovering import recover
    from eventstore.reports import (
        AsyncCompactFunction,
        CompactFunction,
        CompactResult,
        ImportReport,
        ImportRow,
        RecoveryReport,
        SearchResult,
        VerifyReport,
    )
    from eventstore.session import Session
    from eventstore.sessions import Sessions
    from eventstore.summarizing import create_compact_function
    from eventstore.tokens import estimate_tokens
    from eventstore.types import (
        LATEST,
        UNCHECKED,
        AppendResult,
        Message,
        MessageLike,
        Progress,
        RecentHistory,
        Source,
    )
    from eventstore.views import StoreView

__version__ = "0.2.0"

_BESIDE = {"exchange", "testing"}  # packages of ours that are public too, once they were imported

__all__ = [
    "LATEST",
    "UNCHECKED",
    "AppendResult",
    "Appended",
    "AsyncCompactFunction",
    "AsyncReadableSession",
    "AsyncSession",
    "AsyncSessions",
    "AsyncStoreView",
    "CannotOpen",
    "Cleared",
    "CompactFunction",
    "CompactResult",
    "Compacted",
    "Compaction",
    "DamagedStore",
    "Deleted",
    "Event",
    "EventStoreError",
    "ImportReport",
    "ImportRow",
    "Imported",
    "InvalidArgument",
    "InvalidCompaction",
    "InvalidMessage",
    "LeafChanged",
    "LeafSelected",
    "Message",
    "MessageInfo",
    "MessageLike",
    "MetadataChanged",
    "NewerStore",
    "NotAStore",
    "NotSerializable",
    "Progress",
    "ReadOnlyStore",
    "ReadableSession",
    "RecentHistory",
    "RecoveryReport",
    "SearchResult",
    "Session",
    "SessionDeleted",
    "SessionInfo",
    "Sessions",
    "Source",
    "StoreBusy",
    "StoreClosed",
    "StoreForked",
    "StoreFull",
    "StoreView",
    "Subscription",
    "UnknownMessage",
    "Updated",
    "VerifyReport",
    "create_compact_function",
    "estimate_tokens",
    "recover",
    "strip_openai_ephemera",
]


if not TYPE_CHECKING:  # a checker would take every misspelt name for one that is found so

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return globals().setdefault(name, _find(name))


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__") or name in _BESIDE)})
