"""A log made from what is left of one: every event that can stand stands, under its own number.

Events come in order, and each goes into the new log and its tables through the fold, as a live write does. What is
kept is what can be vouched for: bodies whose digest fits, envelopes whose links fit. What points to something that is
lost is mended by these rules, and each case is told in `lost`:

- An event that can't be read, or can't stand, leaves its number to one that says nothing: a `delete_session` of a
  session that was never there. So all other numbers stay, and with them cursors and `at()`.
- A version whose body is lost, or one of whose attachments is, stays in its place and reads as erased.
- A message whose parent is lost hangs on the newest message of its session that was written before that parent.
- The first version that is left of a message whose own event is lost stands for it.
- A session whose name is lost gets one that says so.
"""

from __future__ import annotations

from collections.abc import Callable

from eventstore import bodies, codec, linking, log, parts, schema, tree
from eventstore.driver import Connection, fetch
from eventstore.fold import Fold
from eventstore.log import Envelope
from eventstore.remains import SUMMARIES, Found, Remains, Unfit, shaped, title
from eventstore.salvaging import Salvage
from eventstore.tree import Position, Range
from eventstore.vouching import Vouching, identity, unvouched_identity

NOBODY = "lost events"
_ERASED = (
    "SELECT v.seq, a.id, v.role, n.name FROM message m JOIN event v ON v.seq = coalesce(m.current, m.seq) "
    "JOIN event a ON a.seq = m.seq JOIN name n ON n.session = a.session WHERE v.digest IS NULL ORDER BY v.seq"
)
_FIRST_TIME, _LAST_TIME = -62_135_596_800_000_000, 253_402_300_799_999_999  # the years 1 to 9999


class Mender:
    """Takes the events of a damaged log in order, and writes the new one."""

    def __init__(self, connection: Connection, salvage: Salvage) -> None:
        self.lost: list[tuple[str, str]] = []
        self.events = 0
        self._connection = connection
        self._salvage = salvage
        self._bodies = Vouching(connection, salvage)
        self._fold = Fold(connection)
        self._sessions: dict[int, Remains] = {}  # by their number in the old log
        self._session_of: dict[int, int] = {}  # event -> its session's number in the old log
        self._stands_for: dict[int, int] = {}  # a lost message -> the version that took its place
        self._told: set[int] = set()  # events that `lost` speaks of
        self._nobody: Remains | None = None
        self._now = 0
        self._next = 1

    @property
    def messages(self) -> int:
        """How many messages are alive."""
        return sum(len(session.living) for session in self._sessions.values())

    # ---- numbers

    def take(self, seq: int) -> None:
        """Takes over event `seq`, and fills the numbers before it that are missing."""
        found = self._salvage.event(seq)
        if found is None:
            return
        self.fill(seq - 1)
        envelope, row = found
        old = envelope.session
        try:
            self._put(self._prepared(envelope, row), old)
        except Unfit as unfit:
            self._bodies.forget(seq)
            if old in self._sessions and not self._sessions[old].last:
                del self._sessions[old]
            self.lost.append((title(envelope), str(unfit)))
            self._fill_one()

    def fill(self, upto: int) -> None:
        """Fills the numbers that are missing up to one."""
        if self._next <= upto:
            what = f"event {upto}" if self._next == upto else f"events {self._next} to {upto}"
            self.lost.append((what, "can't be read"))
        while self._next <= upto:
            self._fill_one()

    def _fill_one(self) -> None:
        if self._nobody is None:
            self._nobody = Remains(self._next, self._free_name(NOBODY))
        self._write(Envelope(self._next, 0, 0, log.DELETE_SESSION, self._now), None, self._nobody)

    def _write(self, envelope: Envelope, row: str | None, session: Remains) -> None:
        if not session.last:
            log.add_session(self._connection, session.key, session.name)
        back = envelope.seq - session.last if session.last else 0
        envelope = envelope._replace(session=session.key, back=back)
        session.last = envelope.seq
        self._next = envelope.seq + 1
        self._now = envelope.recorded_at
        log.append(self._connection, envelope, row)
        self._fold.apply(envelope)

    def finish(self, retain: str) -> None:
        """Writes the heads, and the sizes of messages that read as erased, which are those of their places."""
        connection = self._connection
        self._fold.flush()
        self._bodies.finish()
        log.set_setting(connection, "retain", retain)
        erased = fetch(connection, _ERASED)
        for version, message_id, role, name in erased:
            if version not in self._told:  # what replaced it, or deleted it, is lost
                self.lost.append(
                    (f"message {message_id!r} of session {name!r}", "what it says is lost: it reads as erased")
                )
            size = codec.encode(codec.erased_message(message_id, role)).size
            connection.execute("UPDATE event SET bytes = ? WHERE seq = ?", (size, version))
        if erased:
            schema.drop_read_tables(connection)
            schema.create_read_tables(connection)
            Fold(connection).apply_all(log.read_all(connection, self._next - 1))

    # ---- one event

    def _prepared(self, e: Envelope, row: str | None) -> Found:
        """An event with its session and its body, as far as both can be vouched for."""
        e = shaped(e)
        before = self._session_of.get(e.seq - e.back)
        if not 0 < e.session <= e.seq or e.back < 0 or (e.back > 0 and before not in (None, e.session)):
            raise Unfit("its links don't fit: it can't be told which session it is of")
        session = self._sessions.get(e.session)
        if session is None:
            session = self._sessions[e.session] = Remains(e.seq, self._name(e.session))
        had_body, number = e.digest is not None, e.session
        e, row, value = self._bodies.take(e, row)
        event = Found(e, session, row, value)
        if not _FIRST_TIME <= e.recorded_at <= _LAST_TIME:
            event.change(recorded_at=self._now)
            self._tell(event, "its time is lost: it has that of the event before it")
        if e.created_at is not None and not _FIRST_TIME <= e.created_at <= _LAST_TIME:
            event.change(created_at=None)
        lost = had_body and value is None
        if lost and e.type in (log.APPEND, log.IMPORT) and not self._salvage.knows(number, e.id or "", e.seq):
            raise Unfit("what it says is lost, and whether its id is right can't be told")
        _MEND[e.type](self, event)
        if lost:
            what = "its summary" if e.type in SUMMARIES else "what it says"
            self._tell(event, f"{what} is lost, or isn't what was written: it reads as erased")
        return event

    def _put(self, event: Found, old: int) -> None:
        e, session = event.envelope, event.session
        if e.type == log.DELETE:
            log.append_deletion(self._connection, e.seq, event.deleted)
        if event.row is not None and event.value is not None and not e.flags & bodies.PIECES:
            flags, event.row = parts.cut(e.flags, event.row, e.id, e.role, event.value)
            e = e._replace(flags=flags)
        self._write(e, event.row, session)
        self._session_of[e.seq] = old
        self.events += 1
        if e.type in (log.APPEND, log.IMPORT):
            session.add(e.seq, e.id or "")
        elif e.type == log.DELETE:
            for message in event.deleted:
                session.remove(message)
        elif e.type in (log.CLEAR, log.DELETE_SESSION):
            session.clear()

    def _name(self, session: int) -> str:
        name = self._salvage.name(session)
        if name is not None and log.session_key(self._connection, name) is None:
            return name
        name = self._free_name(f"session {session}, whose name is lost")
        self.lost.append((f"session {session}", f"its name is lost: it is {name!r} now"))
        return name

    def _free_name(self, wanted: str) -> str:
        name, n = wanted, 1
        while self._salvage.has_name(name) or log.session_key(self._connection, name) is not None:
            n += 1
            name = f"{wanted} ({n})"
        return name

    def _tell(self, event: Found, why: str) -> None:
        e = event.envelope
        message_id = event.session.living.get(e.message or 0) if e.type == log.UPDATE else e.id
        message = "" if message_id is None else f": {message_id!r}"
        self._told.add(e.seq)
        self.lost.append((f"{title(e)}{message} of session {event.session.name!r}", why))

    # ---- by its type

    def _message(self, event: Found, seq: int | None) -> int | None:
        """The living message that an event speaks of."""
        message = self._stands_for.get(seq or 0, seq)
        return message if message in event.session.living else None

    def _append(self, event: Found) -> None:
        e, session = event.envelope, event.session
        message_id, role = identity(event.value) or (e.id, e.role)
        if not message_id or not role or (event.value is None and "\0" in message_id + role):  # a torn page is zeros
            raise Unfit("its id or its role is lost")
        if message_id in session.numbers:
            raise Unfit(f"session {session.name!r} has a message {message_id!r} already")
        event.change(id=message_id, role=role)
        parent = self._message(event, e.parent)
        if parent is None and e.parent is not None:
            parent = session.nearest(e.parent)
            place = "it is a root" if parent is None else f"it hangs on {session.living[parent]!r}"
            self._tell(event, f"its parent, event {e.parent}, is lost: {place} now")
        touch = self._fold.head(session.key).touch
        event.change(message=None, parent=parent, touch=None if touch == parent else touch, **_sizes(e))

    def _update(self, event: Found) -> None:
        e, session = event.envelope, event.session
        named = identity(event.value)
        message = self._message(event, e.message)
        if named is not None and (message is None or session.living[message] != named[0]):
            message = session.numbers.get(named[0])
        if message is not None:
            event.change(message=message, role=named[1] if named else e.role, **_sizes(e))
            return
        named = named or unvouched_identity(event.row)
        if named is None:
            raise Unfit(f"the message that it changes, event {e.message}, is lost")
        lost = e.message or e.seq
        event.change(type=log.APPEND, id=named[0], role=named[1], parent=lost)
        self._stands_for[lost] = e.seq
        self._append(event)
        self._tell(event, f"the event that wrote it first, {lost}, is lost: this version stands for it")

    def _delete(self, event: Found) -> None:
        found = (self._message(event, message) for message in self._salvage.deleted(event.envelope.seq))
        event.deleted = list(dict.fromkeys(message for message in found if message is not None))
        if not event.deleted:
            raise Unfit("what it deleted is lost, or can't be told")

    def _select(self, event: Found) -> None:
        message = self._message(event, event.envelope.message)
        if message is None:
            raise Unfit("the message that it selects is lost")
        event.change(message=message, touch=self._fold.head(event.session.key).touch)

    def _keep(self, event: Found) -> None:
        """It says nothing but what it is."""

    def _compact(self, event: Found) -> None:
        e = event.envelope
        covered = [self._stands_for.get(seq or 0, seq) for seq in (e.message, e.parent)]
        first, last = (self._anchor(event, seq) for seq in covered)
        if not e.id or first is None or last is None or first.seq > last.seq:
            raise Unfit("what it sums up is lost")
        if not tree.holds(self._connection, Range(last.chain, last.seq + 1), first):
            raise Unfit("what it sums up is no path any more")
        event.change(message=covered[0], parent=covered[1], role="assistant", **_sizes(e))

    def _anchor(self, event: Found, seq: int | None) -> Position | None:
        session = event.session.key
        if seq is None:
            return None
        living = tree.find_seq(self._connection, session, seq, event.session.living.get(seq, ""))
        return living or linking.anchor(self._connection, session, seq)


def _sizes(e: Envelope) -> dict[str, int]:
    """The sizes that an event names, as far as they can be such."""
    return {"bytes": max(e.bytes or 0, 0), "tokens": max(e.tokens or 0, 0)}


_MEND: dict[int, Callable[[Mender, Found], None]] = {
    log.APPEND: Mender._append,
    log.IMPORT: Mender._append,
    log.UPDATE: Mender._update,
    log.DELETE: Mender._delete,
    log.CLEAR: Mender._keep,
    log.DELETE_SESSION: Mender._keep,
    log.SELECT: Mender._select,
    log.METADATA: Mender._keep,
    log.COMPACT: Mender._compact,
    log.COMPACTION: Mender._compact,
}
