"""A session that stores nothing: it gives its listeners the events that a test makes, each a copy of its own.

And a list that counts what is read of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableSequence
from datetime import UTC, datetime
from itertools import count
from typing import Any, cast, overload

from eventstore import (
    Appended,
    Cleared,
    Compacted,
    Compaction,
    Deleted,
    Event,
    Imported,
    LeafSelected,
    Message,
    MetadataChanged,
    Session,
    SessionDeleted,
    Subscription,
    Updated,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def message(message_id: str, text: str = "") -> Message:
    """A user's message with one text."""
    return {"id": message_id, "role": "user", "parts": [{"type": "text", "text": text}]}


def pending(message_id: str) -> Message:
    """A row of the owner's that waits for its message."""
    return {"id": message_id, "role": "user", "parts": [], "metadata": {"pending": True}}


class Recorded:
    """Its writes are events and nothing else. A listener that raises stops the write, so that a test sees it."""

    def __init__(self) -> None:
        self.listeners: list[Callable[[Event], object]] = []
        self.after: list[int | None] = []
        self._seqs = count(1)

    @property
    def session(self) -> Session:
        """Itself, as what `mirror` asks for."""
        return cast(Session, self)

    def subscribe(self, listener: Callable[[Event], object], *, after: int | None = None) -> Subscription:
        self.after.append(after)
        self.listeners.append(listener)
        return Subscription(lambda: self.listeners.remove(listener))

    def append(self, new: Message, *, inserted: bool = True, erased: bool = False) -> None:
        self._emit(Appended, message=new, parent_id=None, created_at=NOW, inserted=inserted, erased=erased)

    def update(self, new: Message, *, erased: bool = False) -> None:
        self._emit(Updated, message=new, erased=erased)

    def delete(self, message_ids: Iterable[str]) -> None:
        self._emit(Deleted, message_ids=tuple(message_ids))

    def clear(self) -> None:
        self._emit(Cleared)

    def delete_session(self) -> None:
        self._emit(SessionDeleted)

    def pass_by(self) -> None:
        """One event of each kind that changes no mirror."""
        self._emit(Imported, message=message("imported"), parent_id=None, created_at=NOW)
        self._emit(LeafSelected, message_id="imported")
        self._emit(MetadataChanged, metadata={"title": "A talk"})
        compaction = Compaction("c", "imported", "imported", "They talked.", NOW, 1)
        self._emit(Compacted, type="compact", compaction=compaction)
        self._emit(Compacted, type="compaction", compaction=compaction)

    def _emit(self, kind: type[Event], **fields: Any) -> None:
        seq = next(self._seqs)
        for listener in list(self.listeners):
            own = {name: _copied(value) for name, value in fields.items()}
            listener(kind(seq=seq, session_id="", recorded_at=NOW, **own))


def _copied(value: Any) -> Any:
    """A JSON value of its own; of what can't be changed it is the same. `copy.deepcopy` takes ten times as long."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


class Plain(MutableSequence[Any]):
    """Only what a mutable sequence must have, no slices, with a count of the entries that were read."""

    def __init__(self, rows: Iterable[Any] = ()) -> None:
        self.rows = list(rows)
        self.reads = 0

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> MutableSequence[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        assert isinstance(index, int)
        self.reads += 1
        return self.rows[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        assert isinstance(index, int)
        self.rows[index] = value

    def __delitem__(self, index: int | slice) -> None:
        assert isinstance(index, int)
        del self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Any]:
        for row in self.rows:
            self.reads += 1
            yield row

    def insert(self, index: int, value: Any) -> None:
        self.rows.insert(index, value)
