"""The store on an event loop, asyncio's or trio's: the sync core, whole calls handed to threads, events on the loop."""

from eventstore.aio.reading import AsyncReadableSession
from eventstore.aio.session import AsyncSession
from eventstore.aio.sessions import AsyncSessions
from eventstore.aio.views import AsyncStoreView

__all__ = ["AsyncReadableSession", "AsyncSession", "AsyncSessions", "AsyncStoreView"]
