"""The package's names, and where they are at home: a module is imported when one of its names is first asked for.

`eventstore` itself finds all that it offers here. Annotations inside it, which are texts, name what isn't imported with
their own module as `hints.SearchResult`: that costs nothing until `typing.get_type_hints` or a framework resolves it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from eventstore.aio.sessions import AsyncSessions as AsyncSessions
    from eventstore.events import Event as Event
    from eventstore.infos import Compaction as Compaction
    from eventstore.infos import MessageInfo as MessageInfo
    from eventstore.infos import SessionInfo as SessionInfo
    from eventstore.reports import CompactFunction as CompactFunction
    from eventstore.reports import ImportReport as ImportReport
    from eventstore.reports import ImportRow as ImportRow
    from eventstore.reports import SearchResult as SearchResult
    from eventstore.reports import VerifyReport as VerifyReport
    from eventstore.sessions import Sessions as Sessions
    from eventstore.views import StoreView as StoreView

_NAMES: Final = {
    "eventstore.aio": "AsyncReadableSession AsyncSession AsyncSessions AsyncStoreView",
    "eventstore.errors": (
        "CannotOpen DamagedStore EventStoreError InvalidArgument InvalidCompaction InvalidMessage LeafChanged "
        "NewerStore NotAStore NotSerializable ReadOnlyStore StoreBusy StoreClosed StoreForked StoreFull "
        "UnknownMessage"
    ),
    "eventstore.events": (
        "Appended Cleared Compacted Deleted Event Imported LeafSelected MetadataChanged SessionDeleted Updated"
    ),
    "eventstore.infos": "Compaction MessageInfo SessionInfo",
    "eventstore.listeners": "Subscription",
    "eventstore.prepare": "strip_openai_ephemera",
    "eventstore.reading": "ReadableSession",
    "eventstore.recovering": "recover",
    "eventstore.reports": (
        "AsyncCompactFunction CompactFunction CompactResult ImportReport ImportRow RecoveryReport SearchResult "
        "VerifyReport"
    ),
    "eventstore.session": "Session",
    "eventstore.sessions": "Sessions",
    "eventstore.summarizing": "create_compact_function",
    "eventstore.tokens": "estimate_tokens",
    "eventstore.types": "LATEST UNCHECKED AppendResult Message MessageLike Progress RecentHistory Source",
    "eventstore.views": "StoreView",
}
HOMES: Final = {name: module for module, names in _NAMES.items() for name in names.split()}


def find(name: str) -> object:
    """What one of these names names. Raises `KeyError` for others."""
    from importlib import import_module

    found: object = getattr(import_module(HOMES[name]), name)
    return found


if not TYPE_CHECKING:  # as in `eventstore`

    def __getattr__(name: str) -> object:
        if name not in HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return find(name)
