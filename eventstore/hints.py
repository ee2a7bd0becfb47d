"""Names for annotations whose modules are imported when one is asked for, and not with the package.

Annotations are texts: `hints.SearchResult` costs nothing until `typing.get_type_hints` or a framework resolves it, and
is then found. The package's own names of these modules are found in the same table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from eventstore.aio.sessions import AsyncSessions as AsyncSessions
    from eventstore.events import Event as Event
    from eventstore.reports import CompactFunction as CompactFunction
    from eventstore.reports import ImportReport as ImportReport
    from eventstore.reports import ImportRow as ImportRow
    from eventstore.reports import SearchResult as SearchResult
    from eventstore.reports import VerifyReport as VerifyReport
    from eventstore.sessions import Sessions as Sessions
    from eventstore.views import StoreView as StoreView

LATER: Final = {
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
    "Sessions": "eventstore.sessions",  # above a session's module, which speaks of it
    "StoreView": "eventstore.views",
    "Updated": "eventstore.events",
    "VerifyReport": "eventstore.reports",
    "create_compact_function": "eventstore.summarizing",
    "recover": "eventstore.recovering",
    "strip_openai_ephemera": "eventstore.prepare",
}
"""Names whose modules are imported when they are first asked for: asyncio alone would double the time of an import."""


def find(name: str) -> object:
    """What one of these names names. Raises `KeyError` for others."""
    from importlib import import_module

    found: object = getattr(import_module(LATER[name]), name)
    return found


def __getattr__(name: str) -> object:
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return find(name)
