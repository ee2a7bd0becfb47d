"""Codex rollouts: JSON Lines, `{timestamp, type, payload}`, one session a file.

**A `response_item` becomes a message**, one behind the other in the order of the lines: a text, a thought, a tool call
and its result are items of their own, and stay messages of their own. A turn may have hundreds of them, it is imported
while it still runs, and a compaction may cut through it. A result's part repeats its call's `input`; the message has
the role `tool`. The roles are the items', `developer` being `system`. `event_msg` rows say the same once more, for a
screen, and are left out; so is what holds no content. See `codex_items` for the parts.

- Its id is the item's own, else one that is derived (`identities`); the second of two different items with one id gets
  a derived one, too.
- Its time is the row's. Its metadata has the `model` of the turn, and under `codex` what else the row says.
- **A `compacted` row becomes a summary** of all messages before it: the texts of its `replacement_history`, or else its
  `message`. One without any text (the model's own ciphertext) can't be shown, and stays as a message with the row as
  `data-codex-compacted`.

The session is `codex:<id>` by the first `session_meta` row, all of which is kept; its title is the thread's name, its
model that of the last turn. A fork repeats the rows of its parent and is a session of its own (`forked_from_id`). Rows
of old files have no payload, and are items themselves. Damaged lines, calls whose id comes again, and what is left out
are named in `skipped`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import attrs

from eventstore.exchange.codex_items import (
    FORMAT,
    NO_ITEMS,
    call_id_of,
    call_of,
    is_call,
    is_result,
    kind_of,
    parts_of,
    role_of,
    text_of,
)
from eventstore.exchange.conversation import Conversation, Skipped, Summary
from eventstore.exchange.elements import first_objects
from eventstore.exchange.finding import Transcripts
from eventstore.exchange.identities import Identities
from eventstore.exchange.lines import Lines
from eventstore.exchange.planting import Forest
from eventstore.exchange.tools import pair
from eventstore.exchange.values import EPOCH, list_of, object_of, time_of_text, usable, without

__all__ = ["FORMAT", "find", "read", "recognises"]

_ROWS = ("session_meta", "turn_context", "response_item", "event_msg", "compacted")


def recognises(head: bytes) -> bool:
    """Whether a file that begins with `head` looks like such a rollout."""
    return any(
        (found.get("type") in _ROWS and "payload" in found) or found.get("record_type") == "state"
        for found in first_objects(head)
    )


def _session_of(row: Any) -> str | None:
    """The session that a row names as its own."""
    meta = object_of(object_of(row).get("payload")) if object_of(row).get("type") == "session_meta" else {}
    return meta["id"] if usable(meta.get("id")) else None


@attrs.define
class _Item:
    """What is remembered of an item: where its row is, and what it calls or answers."""

    at: int
    time: datetime | None
    role: str
    model: str | None
    call: str | None = None
    answers: str | None = None
    empty: bool = False


@attrs.define
class _Reading:
    """A rollout that is read."""

    lines: Lines
    items: dict[str, _Item] = attrs.field(factory=dict)
    about: dict[str, Any] = attrs.field(factory=dict)
    meta: dict[str, Any] | None = None
    skipped: list[Skipped] = attrs.field(factory=list)
    others: Counter[str] = attrs.field(factory=Counter)
    summaries: list[tuple[str, str, datetime | None]] = attrs.field(factory=list)  # (last message, text, time)
    names: dict[str, str] = attrs.field(factory=dict)  # call -> its toolCallId
    calls: dict[str, str] = attrs.field(factory=dict)  # result -> its call
    _model: str | None = None
    _identities: Identities = attrs.field(factory=Identities)

    def read(self) -> None:
        """Reads the rows for the first time."""
        for line in self.lines:
            row = line.value
            if line.fault is not None or not isinstance(row, dict):
                self.skipped.append(line.skipped())
                continue
            kind, payload = row.get("type"), row.get("payload")
            if kind == "response_item" and isinstance(payload, dict):
                self._item(payload, row, line.at)
            elif "payload" not in row and (usable(row.get("role")) or is_call(row) or kind_of(row).endswith("_output")):
                self._item(row, row, line.at)
            elif kind == "compacted" and isinstance(payload, dict):
                self._compacted(payload, row, line.at)
            else:
                self._beside(str(kind or row.get("record_type")), object_of(payload) or row, row)

    def _beside(self, kind: str, payload: dict[str, Any], row: dict[str, Any]) -> None:
        """What holds no message."""
        if kind == "session_meta" or (self.meta is None and "payload" not in row and usable(row.get("id"))):
            self.meta = payload if self.meta is None else self.meta
        elif kind == "turn_context" and isinstance(payload.get("model"), str):
            self._model = payload["model"]
        elif kind == "event_msg" and isinstance(payload.get("thread_name"), str) and payload["thread_name"]:
            self.about["title"] = payload["thread_name"]
        elif kind not in ("turn_context", "event_msg"):
            self.others[kind] += 1

    def _item(self, item: Mapping[str, Any], row: Mapping[str, Any], at: int) -> None:
        if kind_of(item) in NO_ITEMS:
            self.others[kind_of(item)] += 1
            return
        before = next(reversed(self.items), None)
        id = str(item["id"]) if usable(item.get("id")) else self._identities.derive(before, item)
        if id in self.items:
            if object_of(_item_of(self.lines.value(self.items[id].at))) == item:
                return
            what = f"message {id!r}"
            id = self._identities.derive(before, item)
            self.skipped.append((what, f"it is there twice with different contents: the second is {id!r}"))
        time = time_of_text(row.get("timestamp")) or time_of_text(item.get("timestamp"))
        found = _Item(at, time, role_of(item), self._model)
        if is_call(item):
            found.call = call_id_of(item, id)
        elif is_result(item):
            found.answers = item["call_id"]
        else:
            found.empty = not parts_of(item, None, None)
        self.items[id] = found

    def _compacted(self, payload: dict[str, Any], row: dict[str, Any], at: int) -> None:
        texts = [text for item in list_of(payload.get("replacement_history")) if (text := text_of(item).strip())]
        message = payload.get("message")
        text = "\n\n".join(texts) or (message.strip() if isinstance(message, str) else "")
        time, before = time_of_text(row.get("timestamp")), next(reversed(self.items), None)
        if text and before is not None:
            self.summaries.append((before, text, time))
        else:
            id = self._identities.derive(before, payload)
            self.items[id] = _Item(at, time, "system", None)

    # ---- the second time

    def conversation(self) -> Conversation:
        """The conversation that the rows are."""
        order = [*self.items]
        parents = dict(zip(order, [None, *order], strict=False))
        forest = Forest.of(parents)
        self._pair(forest)
        kept = {id for id, item in self.items.items() if not item.empty}
        times = {id: item.time for id, item in self.items.items() if item.time}
        meta = self.meta or {}
        otherwise = time_of_text(meta.get("timestamp")) or min(times.values(), default=EPOCH)
        rows, _ = forest.plant(kept, times, otherwise, self._message)
        self.skipped += [(f"message {id!r}", "it is empty") for id in order if id not in kept]
        self.skipped += [
            (f"rows of type {kind!r} ({count})", "they hold no message") for kind, count in self.others.items()
        ]
        return Conversation(
            f"{FORMAT}:{meta['id'] if usable(meta.get('id')) else next(iter(rows.ids), 'empty')}",
            self._about(meta, times),
            rows,
            rows.ids[-1] if rows else None,
            (*self.skipped, *([] if rows else [("the session", "it has no messages")])),
            tuple(self._summaries(forest.standing(kept), rows.ids, times)),
        )

    def _about(self, meta: dict[str, Any], times: dict[str, datetime]) -> dict[str, Any]:
        about = dict(self.about)
        if self._model is not None:
            about["model"] = self._model
        if times:
            about |= {"created_at": min(times.values()).isoformat(), "updated_at": max(times.values()).isoformat()}
        return {**about, FORMAT: without(meta, ("id",))}

    def _summaries(self, standing: dict[str, str], ids: Sequence[str], times: dict[str, datetime]) -> Iterator[Summary]:
        for before, text, time in self.summaries:
            if before in standing:
                yield Summary(ids[0], standing[before], text, time or times.get(before, EPOCH))

    def _pair(self, forest: Forest) -> None:
        pairs = pair(
            forest.order,
            forest.parents,
            {id: (item.call,) for id, item in self.items.items() if item.call is not None},
            {id: (item.answers,) for id, item in self.items.items() if item.answers is not None},
            {id for id, item in self.items.items() if item.role == "user"},
        )
        self.names = {id: name for (id, _), name in pairs.names.items()}
        self.calls = {result: call for (result, _), (call, _) in pairs.calls.items()}
        self.skipped += pairs.skipped

    def _message(self, id: str) -> dict[str, Any]:
        found = self.items[id]
        row = self.lines.value(found.at)
        item = _item_of(row)
        call = None
        if (caller := self.calls.get(id)) is not None:
            call = call_of(_item_of(self.lines.value(self.items[caller].at)), self.names[caller])
        metadata: dict[str, Any] = {"model": found.model} if found.model and found.role == "assistant" else {}
        rest = without(item, ("type", "role", "content", "id")) if kind_of(item) == "message" else {}
        if item.get("role") != found.role and usable(item.get("role")):
            rest["role"] = item["role"]
        parts = parts_of(item, self.names.get(id), call)
        return {"id": id, "role": found.role, "parts": parts, "metadata": {**metadata, FORMAT: rest}}


def _item_of(row: dict[str, Any]) -> dict[str, Any]:
    """The item that a row holds; a compaction is one by its type."""
    if row.get("type") == "compacted":
        return {**row["payload"], "type": "compacted"}
    payload = row.get("payload")
    return payload if isinstance(payload, dict) else row


def _conversation(lines: Lines) -> Conversation:
    reading = _Reading(lines)
    reading.read()
    return reading.conversation()


_TRANSCRIPTS: Final = Transcripts(FORMAT, _session_of, _conversation)
find, read = _TRANSCRIPTS.find, _TRANSCRIPTS.read
