"""An event-sourced store for conversations, embedded on SQLite.

Open a store with `Sessions(path)`, get a conversation with `.session(name)`, and append, branch, read and listen.
"""

from typing import TYPE_CHECKING

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
from eventstore.listeners import Subscription
from eventstore.reading import ReadableSession
from eventstore.session import Session
from eventstore.sessions import Sessions
from eventstore.tokens import estimate_tokens
from eventstore.types import (
    LATEST,
    UNCHECKED,
    AppendResult,
    Compaction,
    Message,
    MessageInfo,
    MessageLike,
    Progress,
    RecentHistory,
    SessionInfo,
    Source,
)

if TYPE_CHECKING:
    from eventstore.aio import AsyncReadableSession, AsyncSession, AsyncSessions, AsyncStoreView
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
    from eventstore.prepare import strip_openai_ephemera
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
    from eventstore.summarizing import create_compact_function
    from eventstore.views import StoreView

__version__ = "0.1.0"

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

_LATER = {
    "Appended": "eventstore.events",
    "AsyncCompactFunction": "eventstore.reports",
    "AsyncReadableSession": "eventstore.aio",
    "AsyncSession": "eventstore.aio",
    "AsyncSessions": "eventstore.aio",
    "AsyncStoreView": "eventstore.aio",
    "Cleared": "eventstore.events",
    "CompactFunction": "eventstore.reports",
    "CompactResult": "eventstore.reports",
    "Compacted": "eventstore.events",
    "Deleted": "eventstore.events",
    "Event": "eventstore.events",
    "ImportReport": "eventstore.reports",
    "ImportRow": "eventstore.reports",
    "Imported": "eventstore.events",
    "LeafSelected": "eventstore.events",
    "MetadataChanged": "eventstore.events",
    "RecoveryReport": "eventstore.reports",
    "SearchResult": "eventstore.reports",
    "SessionDeleted": "eventstore.events",
    "StoreView": "eventstore.views",
    "Updated": "eventstore.events",
    "VerifyReport": "eventstore.reports",
    "create_compact_function": "eventstore.summarizing",
    "recover": "eventstore.recovering",
    "strip_openai_ephemera": "eventstore.prepare",
}
"""Names whose modules are imported when they are first asked for: asyncio alone would double the time of an import."""


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found: object = getattr(import_module(_LATER[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
