"""What a mirror must do, the slow way: read the list before each event, search it from its start, compare after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from eventstore import Appended, Cleared, Deleted, Event, Message, Session, SessionDeleted, Subscription, Updated
from projections import mirror


class Row:
    """What a transform makes: equal to itself only."""

    def __init__(self, source: Message) -> None:
        self.source = source

    def __repr__(self) -> str:
        return f"Row({self.source['id']!r})"


class Owner:
    """The owner of a list, mirrored in one of the two forms, with or without a transform, and watched by the oracle.

    `problems` tells every event after which the list isn't what the reduction says.
    """

    def __init__(
        self,
        session: Session,
        *,
        rows: list[Any] | None = None,
        own: bool = False,
        reassigns: bool = False,
    ) -> None:
        self.rows: list[Any] = [] if rows is None else rows
        self.reassigns = reassigns
        self.problems: list[str] = []
        self._made: list[Row] = []
        self._own: dict[str, Row] | None = {} if own else None
        self._expected: list[Any] = []
        self._expected_calls: list[tuple[int, Any, Any]] = []
        self._calls: list[tuple[int, Any, Any]] = []
        self._sets: list[list[Any]] = []
        self.subscriptions = [
            session.subscribe(self._before),
            self._mirror(session),
            session.subscribe(self._compare),
        ]

    def edit(self, change: Callable[[list[Any]], object], *, in_place: bool = True) -> None:
        """The owner changes the list, or puts a changed copy in its stead where the form allows that."""
        if self.reassigns and not in_place:
            self.rows = list(self.rows)
        change(self.rows)

    def _mirror(self, session: Session) -> Subscription:
        options: dict[str, Any] = {"on_applied": self._on_applied}
        if self._own is not None:
            options["transform"] = self._make
        if self.reassigns:
            options |= {"get": lambda: self.rows, "set": self._set}
            subscription: Subscription = mirror(session, **options)
        else:
            subscription = mirror(session, self.rows, **options)
        return subscription

    def _make(self, source: Message) -> Row:
        self._made.append(Row(source))
        return self._made[-1]

    def _set(self, rows: list[Any]) -> None:
        self._sets.append(rows)
        self.rows = rows

    def _on_applied(self, event: Appended | Updated, entry: Any, previous: Any) -> None:
        self._calls.append((event.seq, entry, previous))

    def _before(self, event: Event) -> None:
        self._held = self.rows
        self._snapshot = list(self.rows)
        self._event = event
        self._calls.clear()
        self._sets.clear()

    def _compare(self, event: Event) -> None:
        expected, calls = self._reduced(event)
        if not alike(self.rows, expected):
            self.problems.append(f"{event}: {self._snapshot} became {self.rows}, not {expected}")
        if not alike([part for call in self._calls for part in call], [part for call in calls for part in call]):
            self.problems.append(f"{event}: on_applied got {self._calls}, not {calls}")
        if self.reassigns:
            changed = len(expected) != len(self._snapshot) or bool(calls)
            if len(self._sets) != changed or not identical(self._held, self._snapshot if changed else self.rows):
                self.problems.append(f"{event}: set was called {len(self._sets)} times, the old list is {self._held}")

    def _reduced(self, event: Event) -> tuple[list[Any], list[tuple[int, Any, Any]]]:
        rows = list(self._snapshot)
        match event:
            case Appended(inserted=True) | Updated():
                self._forget_removed()
                return self._put(event, rows)
            case Deleted(message_ids=message_ids):
                self._forget_removed()
                gone = {position for message_id in message_ids for position in self._places(message_id)}
                if self._own is not None:
                    self._own = {known: row for known, row in self._own.items() if known not in message_ids}
                return [row for position, row in enumerate(rows) if position not in gone], []
            case Cleared() | SessionDeleted():
                return [], []
            case _:
                return rows, []

    def _put(self, event: Appended | Updated, rows: list[Any]) -> tuple[list[Any], list[tuple[int, Any, Any]]]:
        places = self._places(event.message["id"])
        if not places and isinstance(event, Updated):
            return rows, []
        entry: Any = event.message
        if self._own is not None:
            entry = self._own[event.message["id"]] = self._made[-1]
        previous = None
        if places:
            previous, rows[places[0]] = rows[places[0]], entry
        else:
            rows.append(entry)
        return rows, [(event.seq, entry, previous)]

    def _places(self, message_id: str) -> list[int]:
        if self._own is None:
            return [
                position
                for position, row in enumerate(self._snapshot)
                if isinstance(row, dict) and row.get("id") == message_id
            ]
        own = self._own.get(message_id)
        return [position for position, row in enumerate(self._snapshot) if own is not None and row is own][:1]

    def _forget_removed(self) -> None:
        """What the owner took out is the owner's."""
        if self._own is not None:
            held = {id(row) for row in self._snapshot}
            self._own = {message_id: row for message_id, row in self._own.items() if id(row) in held}


def identical(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether two lists hold the same objects."""
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


def alike(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether two lists hold the same objects, or, where they are messages, equal ones."""
    return len(one) == len(other) and all(
        a is b or (isinstance(a, dict | int) and a == b) for a, b in zip(one, other, strict=True)
    )
