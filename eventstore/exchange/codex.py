"""Codex rollouts: JSON Lines, `{timestamp, type, payload}`, one session a file.

**A `response_item` becomes a message**, one behind the other in the order of the lines: a text, a thought, a tool call
and its result are items of their own, and stay messages of their own. A turn may have hundreds of them, it is imported
while it still runs, and a compaction may cut through it. A result's part repeats its call's `input`; the message has
the role `tool`. The roles are the items', `developer` being `system`. `event_msg` rows say the same once more, for a
screen, and are left out; so is what holds no content. See `response_items` for the parts.

- Its id is the item's own, else one that is derived (`identities`); the second of two different items with one id gets
  a derived one, too.
- Its time is the row's. Its metadata has the `model` of the turn, and under `codex` what else the row says.
- **A `compacted` row becomes a summary** of all messages before it on its branch: the texts of its
  `replacement_history`, or else its `message`. One without any text (the model's own ciphertext) can't be shown, and
  stays as a message with the row as `data-codex-compacted`.
- **A rollback makes a branch**: what comes behind it hangs on the message before the turns that it took back; they stay
  beside it. See `codex_turns`.

The session is `codex:<id>` by the first `session_meta` row, all of which is kept; its title is the thread's name, its
model that of the last turn. A fork repeats the rows of its parent and is a session of its own (`forked_from_id`). Rows
of old files have no payload, and are items themselves. Damaged lines, calls whose id comes again, and what is left out
are named in `skipped`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

import attrs

from eventstore.exchange.assembling import EMPTY, Assembly, Told
from eventstore.exchange.codex_turns import Branch, begins_turn
from eventstore.exchange.conversation import Conversation, Skipped, Summary
from eventstore.exchange.elements import first_objects
from eventstore.exchange.finding import Transcripts
from eventstore.exchange.lines import Lines
from eventstore.exchange.response_items import express, id_of, kind_of
from eventstore.exchange.spool import Spool
from eventstore.exchange.tools import data_part
from eventstore.exchange.values import EPOCH, list_of, object_of, time_of_text, usable, without

FORMAT: Final = "codex"
_ROWS: Final = ("session_meta", "turn_context", "response_item", "event_msg", "compacted")
_NO_ITEMS: Final = ("token_count", "ghost_snapshot")  # what stands among the items and says nothing


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
class _Reading:
    """A rollout that is read."""

    assembly: Assembly = attrs.field(factory=lambda: Assembly(Spool()))
    about: dict[str, Any] = attrs.field(factory=dict)
    meta: dict[str, Any] | None = None
    skipped: list[Skipped] = attrs.field(factory=list)
    others: Counter[str] = attrs.field(factory=Counter)
    summaries: list[tuple[tuple[str, str], str, datetime | None]] = attrs.field(factory=list)  # (range, text, time)
    _branch: Branch = attrs.field(factory=Branch)
    _times: list[datetime] = attrs.field(factory=list)  # the earliest and the latest

    def read(self, lines: Lines) -> None:
        """Reads the rows."""
        for line in lines:
            row = line.value
            if line.fault is not None or not isinstance(row, dict):
                self.skipped.append(line.skipped())
                continue
            kind, payload = row.get("type"), row.get("payload")
            if kind == "response_item" and isinstance(payload, dict):
                self._item(payload, row)
            elif "payload" not in row and (usable(row.get("role")) or kind_of(row).endswith(("_call", "_output"))):
                self._item(row, row)
            elif kind == "compacted" and isinstance(payload, dict):
                self._compacted(payload, row)
            else:
                self._beside(str(kind or row.get("record_type")), object_of(payload) or row, row)

    def _beside(self, kind: str, payload: dict[str, Any], row: dict[str, Any]) -> None:
        """What holds no message."""
        if kind == "session_meta" or (self.meta is None and "payload" not in row and usable(row.get("id"))):
            self.meta = payload if self.meta is None else self.meta
        elif kind == "turn_context" and isinstance(payload.get("model"), str):
            self.about["model"] = payload["model"]
        elif kind == "event_msg":
            self._heard(payload)
        elif kind != "turn_context":
            self.others[kind] += 1

    def _heard(self, event: dict[str, Any]) -> None:
        """An event. All but two kinds say once more what items say."""
        name, turns = event.get("thread_name"), event.get("num_turns")
        if isinstance(name, str) and name:
            self.about["title"] = name
        elif event.get("type") == "thread_rolled_back" and type(turns) is int:
            self._branch.roll_back(turns)

    def _item(self, item: dict[str, Any], row: dict[str, Any]) -> None:
        if kind_of(item) in _NO_ITEMS:
            self.others[kind_of(item)] += 1
            return
        found = express(item, FORMAT)
        model = {"model": self.about["model"]} if found.role == "assistant" and self.about.get("model") else {}
        when = time_of_text(row.get("timestamp")) or time_of_text(item.get("timestamp"))
        left_out = None if found.said else EMPTY
        metadata = {**model, FORMAT: found.rest}
        self._add(
            Told(id_of(item), found.role, found.said, item, metadata=metadata, created_at=when, left_out=left_out),
            turn=begins_turn(item),
        )

    def _compacted(self, payload: dict[str, Any], row: dict[str, Any]) -> None:
        texts = [text for item in list_of(payload.get("replacement_history")) if (text := _text_of(item).strip())]
        message, when = payload.get("message"), time_of_text(row.get("timestamp"))
        text = "\n\n".join(texts) or (message.strip() if isinstance(message, str) else "")
        if text and self._branch.kept is not None:
            self.summaries.append((self._branch.kept, text, when))
        else:
            part = data_part(FORMAT, "compacted", {**payload, "type": "compacted"})
            self._add(Told(None, "system", [part], payload, metadata={FORMAT: {}}, created_at=when))

    def _add(self, told: Told, *, turn: bool = False) -> None:
        told.parent = self._branch.leaf
        key = self.assembly.add(told)
        if key is None:
            return
        self._branch.add(key, kept=told.left_out is None, turn=turn)
        if told.created_at is not None:
            times = [*self._times, told.created_at]
            self._times = [min(times), max(times)]

    # ---- what they are together

    def conversation(self) -> Conversation:
        """The conversation that the rows are."""
        meta = self.meta or {}
        read = self.assembly.conversation(
            f"{FORMAT}:{meta.get('id')}",
            self._about(meta),
            current=self._branch.leaf,
            otherwise=time_of_text(meta.get("timestamp")) or next(iter(self._times), None),
            skipped=self.skipped,
        )
        first = read.rows[0].message["id"] if read.rows else "empty"
        others = [(f"rows of type {kind!r} ({count})", "they hold no message") for kind, count in self.others.items()]
        nothing = [] if read.rows else [("the session", "it has no messages")]
        return attrs.evolve(
            read,
            session_id=read.session_id if usable(meta.get("id")) else f"{FORMAT}:{first}",
            skipped=(*read.skipped, *others, *nothing),
            summaries=tuple(self._summaries()),
        )

    def _about(self, meta: dict[str, Any]) -> dict[str, Any]:
        about = dict(self.about)
        if self._times:
            about |= {"created_at": self._times[0].isoformat(), "updated_at": self._times[-1].isoformat()}
        return {**about, FORMAT: without(meta, ("id",))}

    def _summaries(self) -> Iterator[Summary]:
        for (first, last), text, time in self.summaries:
            yield Summary(first, last, text, time or self.assembly.told[last].created_at or EPOCH)


def _text_of(item: Any) -> str:
    """The text of a message, to stand in a summary; of what else there may be, nothing."""
    if kind_of(object_of(item)) != "message":
        return ""
    said = express(item, FORMAT).said
    return "\n".join(part["text"] for part in said if isinstance(part, dict) and part["type"] == "text")


def _conversation(lines: Lines) -> Conversation:
    reading = _Reading()
    reading.read(lines)
    return reading.conversation()


_TRANSCRIPTS: Final = Transcripts(FORMAT, _session_of, _conversation)
find, read = _TRANSCRIPTS.find, _TRANSCRIPTS.read
