"""One write, from decision to log to fold: what every verb is made of.

A verb decides on `head` and the tree, then calls `log`, which appends the event and applies it, in that order and in
the verb's own transaction. Nothing here knows the verbs.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from eventstore import bodies, clock, codec, driver, fold, heads, log, parts, tree
from eventstore.codec import Encoded
from eventstore.drafting import Draft, Drafts
from eventstore.heads import Head
from eventstore.log import Begin, Envelope, Run
from eventstore.seams import reach
from eventstore.store import Store
from eventstore.tree import Position

if TYPE_CHECKING:
    from eventstore.events import Event


class Write:
    """A verb at work on the session `name`: `with Write(store, name) as write, write:` is one transaction.

    Two blocks, since an interrupt (Ctrl-C) can strike as an `__exit__` begins, where it can't guard itself: the inner
    one commits or rolls back, the outer one rolls back what the inner one left.

    `asked` is an id that the verb will `find`, and that most likely isn't there: the rest of what a write begins with
    tells that.
    """

    def __init__(self, store: Store, name: str, asked: str | None = None) -> None:
        self.store = store
        self.name = name
        self._asked = asked
        self.now = clock.now()
        self.has_listeners = store.feed.is_listening()  # who listens only from now on hears it from the log
        self._is_open = False

    def __enter__(self) -> Self:
        if not self._is_open:
            self._outer = self.store.database.depth
            try:
                self._begin()
            except BaseException as error:
                self._give_up(error)
                raise
        return self

    def _begin(self) -> None:
        if self._outer:
            self.store.check_idle()
        self.connection = self.store.begin()
        self.store.at_work = self._outer + 1
        reach("begun")
        last, maybe_known, head = self.store.heads.load_for_write(self.connection, self.name, self._asked)
        self._first = self._last = last
        self._absent = None if maybe_known else self._asked
        self.session: int | None = None  # before its first event
        self.head = head or Head(0)  # as the events logged so far have left it. Read it, don't change it
        if head is not None:
            self.session = head.session
        self._is_open = True

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        """Commits, once; after an error rolls back whatever is open: an interrupt may strike between any two steps."""
        if error is not None:
            self._give_up(error)
        elif self._is_open:
            self._is_open = False
            self._commit()

    def _give_up(self, error: BaseException) -> None:
        self.store.end_all(self._outer, error)
        driver.raise_ours(error, self.store.database.path)

    def _commit(self) -> None:
        if self._last != self._first:
            heads.save(self.connection, self.head)
            self.store.logged(self._last)
            self.store.heads.keep(self.name, self.head, self._last)
        self.store.at_work = 0
        self.store.end(None)
        reach("emitted")

    def find(self, message_id: str) -> Position | None:
        """The session's living message with this id."""
        if self.session is None or message_id == self._absent:
            return None
        return tree.find(self.connection, self.session, message_id)

    def keeps_current_only(self) -> bool:
        """Whether what is superseded loses its body."""
        return bool(log.setting(self.connection, "retain") == "current")

    def unindex(self, versions: Sequence[int]) -> None:
        """Takes what is about to be replaced or deleted out of the search index: before its body goes."""
        from eventstore import index  # with the search's modules

        index.remove(self.connection, versions)

    def next(self, type: int, **fields: Any) -> Envelope:
        """The envelope of the session's next event."""
        seq, session, back = self._place()
        return Envelope(seq, session, back, type, self.now, **fields)

    @property
    def next_seq(self) -> int:
        """The seq of the next event."""
        return self._last + 1

    def _place(self) -> tuple[int, int, int]:
        """(seq, session, back) of the session's next event. The first one gives the session its number."""
        seq, session = self.next_seq, self.session
        if session is None:
            self.session = session = seq
            log.add_session(self.connection, session, self.name)
            self.head = Head(session)
        last = self.head.last
        return seq, session, seq - last if last else 0

    def add(self, type: int, drafts: Sequence[Draft], parent: int | None, hashes: Sequence[int] | None = None) -> range:
        """Logs new messages, the first under `parent`, the seq of one that is there, each other on the one before, and
        returns their seqs. `hashes` of their ids, where they are known."""
        seq, session, back = self._place()
        touch = self.head.touch
        begin = tuple.__new__(Begin, (seq, session, back, type, self.now, parent, None if touch == parent else touch))
        reach("decided")
        if len(drafts) == 1:
            self._add_one(begin, drafts[0])
        else:
            self._add_run(begin, drafts, hashes)
        return range(seq, seq + len(drafts))

    def _add_one(self, begin: Begin, draft: Draft) -> None:
        seq, session, back, type, now, parent, touch = begin
        id, role, encoded, tokens, created_at = draft
        digest = codec.digest(encoded.text)
        if bodies.is_large(encoded):
            flags, row, _ = bodies.place(self.connection, seq, encoded)
        else:
            flags, row = parts.cut(encoded.flags, encoded.text, id, role, encoded.value)
        envelope = tuple.__new__(Envelope, (
            seq, session, back, type, now, id, None, parent, touch, role, encoded.size, tokens, created_at, None,
            digest, flags,
        ))  # fmt: skip
        self.append(envelope, row)

    def _add_run(self, begin: Begin, drafts: Sequence[Draft], hashes: Sequence[int] | None) -> None:
        columns = Drafts.of(drafts)
        digests = codec.digests(columns.texts)
        flags, rows = self._place_each(begin.seq, columns)
        run = Run(begin, columns.ids, columns.roles, columns.sizes, columns.tokens, columns.times, digests, flags, rows)
        log.append_run(self.connection, run)
        reach("logged")
        fold.apply_run(self.connection, run, self.head, hashes)
        self._last = run.seqs[-1]
        reach("applied")

    def _place_each(self, first: int, drafts: Drafts) -> tuple[Sequence[int], Sequence[str]]:
        """(flags, what the rows hold) of new messages, the first of them event `first`."""
        if not bodies.is_any_large(drafts.sizes, drafts.media):
            return parts.cut_each(drafts.flags, drafts.texts, drafts.ids, drafts.roles, drafts.values)
        each = enumerate(drafts, first)
        placed = [bodies.place(self.connection, seq, draft.encoded, draft.id, draft.role) for seq, draft in each]
        return [flags for flags, _, _ in placed], [row for _, row, _ in placed]

    def log(self, envelope: Envelope, body: Encoded | None = None) -> int:
        """Appends an event with its body, applies it, and returns how many pieces the body took beside its row."""
        reach("decided")
        if body is None:
            self.append(envelope, None)
            return 0
        flags, row, pieces = bodies.place(self.connection, envelope.seq, body, envelope.id, envelope.role)
        self.append(envelope._replace(digest=codec.digest(body.text), flags=flags), row)
        return pieces

    def append(self, envelope: Envelope, text: str | None) -> None:
        """Appends an event whose body is stored already, or is `text`, and applies it."""
        log.append(self.connection, envelope, text)
        reach("logged")
        fold.apply(self.connection, envelope, self.head)
        self._last = envelope.seq
        reach("applied")

    # ---- what listeners will hear

    def is_heard(self) -> bool:
        """Whether the event just logged should be built for `emit`."""
        return self.has_listeners and self.store.can_queue()

    def emit(self, kind: type[Event], seq: int, **fields: Any) -> None:
        """Queues an event for after the commit."""
        event = kind(seq=seq, session_id=self.name, recorded_at=clock.to_datetime(self.now), **fields)
        self.store.emit(event)

    def emit_repeated(self, kind: type[Event], **fields: Any) -> None:
        """Queues an event that is in no log, behind all that was logged before it. Where it `has_listeners`."""
        self.store.emit(self._last)
        self.emit(kind, 0, **fields)
