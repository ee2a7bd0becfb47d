"""One write, from decision to log to fold: what every verb is made of.

A verb decides on `head` and the tree, then calls `log`, which appends the event and applies it, in that order and in
the verb's own transaction. Nothing here knows the verbs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from eventstore import bodies, clock, codec, deltas, log
from eventstore.codec import Encoded
from eventstore.driver import Connection
from eventstore.events import Event
from eventstore.fold import Fold
from eventstore.heads import Head
from eventstore.log import Envelope
from eventstore.seams import reach
from eventstore.store import Store


class Write:
    """A verb at work on one session of an open transaction."""

    def __init__(self, store: Store, connection: Connection, name: str) -> None:
        self.store = store
        self.connection = connection
        self.name = name
        self.now = clock.now()
        self._last = log.latest_seq(connection)
        self._known = log.session_key(connection, name)
        self._fold = Fold(connection)

    @property
    def session(self) -> int | None:
        """The session's number, `None` before its first event."""
        return self._known

    @property
    def head(self) -> Head:
        """The session's state as the events logged so far have left it."""
        return Head(0) if self._known is None else self._fold.head(self._known)

    def finish(self) -> None:
        """Writes what the fold gathered. After the last event, and before anything is read back."""
        self._fold.flush()

    def keeps_current_only(self) -> bool:
        """Whether what is superseded loses its body."""
        return bool(log.setting(self.connection, "retain") == "current")

    def next(self, type: int, **fields: Any) -> Envelope:
        """The envelope of the session's next event."""
        seq = self._last + 1
        if self._known is None:
            self._known = seq
            log.add_session(self.connection, seq, self.name)
        head = self._fold.head(self._known)
        return Envelope(seq, self._known, seq - head.last if head.last else 0, type, self.now, **fields)

    def log(self, envelope: Envelope, body: Encoded | None = None) -> int:
        """Appends an event with its body, applies it, and returns how many pieces the body took beside its row."""
        reach("decided")
        text: str | None = None
        rest: list[str] = []
        if body is not None:
            text, *rest = deltas.slices(body.text)
            envelope.digest = codec.digest(body.text)
            envelope.flags = body.flags | (bodies.PIECES if rest else 0)
        log.append(self.connection, envelope, text)
        if text is not None and rest:
            bodies.add_pieces(self.connection, envelope.seq, envelope.seq, len(text), rest)
        self.apply(envelope)
        return len(rest)

    def apply(self, envelope: Envelope) -> None:
        """Applies an event that was appended."""
        reach("logged")
        self._fold.apply(envelope)
        self._last = envelope.seq
        self.store.logged(envelope.seq)
        reach("applied")

    # ---- what listeners will hear

    def is_heard(self) -> bool:
        """Whether the event just logged should be built for `emit`."""
        return self.store.can_queue()

    def emit(self, kind: type[Event], seq: int, **fields: Any) -> None:
        """Queues an event for after the commit."""
        event = kind(seq=seq, session_id=self.name, recorded_at=clock.to_datetime(self.now), **fields)
        self.store.emit(event)

    def emit_repeated(self, kind: type[Event], **fields: Any) -> None:
        """Queues an event that is in no log, behind all that was logged before it."""
        if self.store.feed.is_listening():
            self.store.emit(self._last)
            self.emit(kind, 0, **fields)


@contextmanager
def writing(store: Store, name: str) -> Iterator[Write]:
    """A transaction of one verb on the session `name`; what it gathered is written at the end."""
    with store.transaction() as connection:
        reach("begun")
        write = Write(store, connection, name)
        yield write
        write.finish()
