"""Whether a step can follow the steps before it: what a log of ours would never hold isn't replayed.

Memory holds the ids of the messages, as a replay does, and no content.
"""

from __future__ import annotations

from eventstore.copying import Step
from eventstore.exchange.jsonl_lines import InvalidLine


class Checks:
    """The messages of one session as its steps have left them."""

    def __init__(self) -> None:
        self._ids: dict[int, str] = {}  # of every message given so far, by its seq
        self._living: dict[str, int] = {}
        self._updated: set[int] = set()

    def take(self, step: Step) -> None:
        """Checks the next step. Raises `InvalidLine`."""
        if step.type == "import":
            self._import(step)
        elif step.type == "update":
            self._update(step)
        elif step.type == "delete":
            self._delete(step)
        elif step.type == "select":
            self._require_living(step.message or 0)
        elif step.type in ("compact", "compaction"):
            self._require_given(step.message or 0)
            self._require_given(step.parent or 0)

    def _require_given(self, seq: int) -> str:
        if seq not in self._ids:
            raise InvalidLine(f"wanted the seq of a message on a line before, found {seq}, which none has")
        return self._ids[seq]

    def _require_living(self, seq: int) -> str:
        message_id = self._require_given(seq)
        if self._living.get(message_id) != seq:
            raise InvalidLine(f"wanted the seq of a message that is there, found {seq}, which was deleted before")
        return message_id

    def _import(self, step: Step) -> None:
        message_id = step.id or ""
        if step.seq in self._ids:
            raise InvalidLine(f"wanted a seq of its own, found {step.seq}, which an import before has")
        if message_id in self._living:
            raise InvalidLine(f"wanted an id of its own, found {message_id!r:.80}, which a message before has")
        if step.parent is not None:
            self._require_living(step.parent)
        self._ids[step.seq] = message_id
        self._living[message_id] = step.seq

    def _update(self, step: Step) -> None:
        seq = step.message or 0
        message_id = self._require_living(seq)
        if seq in self._updated:
            raise InvalidLine(f"wanted the last version of each message, found a second update of {seq}")
        if step.body is not None and step.body.value["id"] != message_id:
            raise InvalidLine(f"wanted the message {message_id!r:.80}, found the body of another")
        self._updated.add(seq)

    def _delete(self, step: Step) -> None:
        for seq in step.deleted:
            message_id = self._require_living(seq)
            if seq in self._updated:
                raise InvalidLine(f"wanted no update of what is deleted later, found that {seq} has one")
            del self._living[message_id]
