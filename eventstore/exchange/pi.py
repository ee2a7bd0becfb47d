"""Sessions of the pi coding agent: JSON Lines, a header and then entries. Versions 1, 2 and 3.

**An entry of type `message` or `custom_message` becomes a message**, its id the entry's; so does a `branch_summary`,
which tells this path what was said on another. See `pi_parts` for the parts.

- Its parent is `parentId` (versions 2 and 3); entries of version 1 have neither ids nor parents: they follow each
  other, and get ids (`identities`). An entry that is no message passes its children on to the nearest message above.
- A tool's result is an entry of its own, and stays a message of its own with the role `tool`, whose part repeats its
  call's `input`: the tree may part at it, and a session that is imported while a tool runs gets its result later.
- Its time is the entry's, else the message's. Its metadata has the `model`, and under `pi` what else is said.
- **A `compaction` becomes a summary** of the path before it, up to the last message in front of the first that was kept
  (`firstKeptEntryId`, in version 1 `firstKeptEntryIndex`, which counts the rows that can be read, the header too). If
  that one isn't on the path, all of it is covered, as pi does. If nothing lies in front of it, the summary stays as a
  message.

The session is `pi:<id of the header>`; its title the last `session_info`, its model that of the last answer or
`model_change`. Under `pi` the metadata has the rest of the header and the labels. The current branch ends at the last
entry. Damaged lines, an id that comes twice with different contents (the second gets another), empty messages and
entries that are no messages are named in `skipped`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

import attrs

from eventstore.exchange.conversation import Conversation, Skipped, Summary
from eventstore.exchange.elements import first_objects
from eventstore.exchange.finding import Transcripts
from eventstore.exchange.identities import Identities
from eventstore.exchange.lines import Lines
from eventstore.exchange.pi_parts import FORMAT, HELD, RESULT, calls_of, result_of, role_of, said_by
from eventstore.exchange.planting import Forest
from eventstore.exchange.tools import Call, Pairs, Part, pair, woven
from eventstore.exchange.values import EPOCH, object_of, time_of, time_of_text, usable, without

__all__ = ["FORMAT", "find", "read", "recognises"]

_ENTRY = ("type", "id", "parentId", "timestamp", "message", "content", "summary")


def recognises(head: bytes) -> bool:
    """Whether a file that begins with `head` looks like such a session."""
    return any(
        found.get("type") == "session" and usable(found.get("id")) and ("cwd" in found or "version" in found)
        for found in first_objects(head)
    )


def _session_of(row: Any) -> str | None:
    """The session that a row names as its own."""
    header = object_of(row)
    return header["id"] if header.get("type") == "session" and usable(header.get("id")) else None


@attrs.define
class _Entry:
    """What is remembered of an entry. `role` is `None` for one that is no message."""

    at: int
    parent: str | None
    time: datetime | None
    role: str | None = None
    empty: bool = False
    calls: tuple[str, ...] = ()
    answers: str | None = None


@attrs.define
class _Compaction:
    """A compaction's summary, and the entry that it kept first."""

    id: str
    text: str
    kept: str | int | None


@attrs.define
class _Reading:
    """A session that is read."""

    lines: Lines
    entries: dict[str, _Entry] = attrs.field(factory=dict)
    header: dict[str, Any] = attrs.field(factory=dict)
    about: dict[str, Any] = attrs.field(factory=dict)
    labels: dict[str, Any] = attrs.field(factory=dict)
    skipped: list[Skipped] = attrs.field(factory=list)
    others: Counter[str] = attrs.field(factory=Counter)
    compactions: list[_Compaction] = attrs.field(factory=list)
    pairs: Pairs = attrs.field(factory=lambda: Pairs({}, {}, []))
    _numbered: list[str | None] = attrs.field(factory=list)  # the id of each row that could be read
    _identities: Identities = attrs.field(factory=Identities)

    def read(self) -> None:
        """Reads the entries for the first time."""
        for line in self.lines:
            entry = line.value
            if line.fault is not None or not isinstance(entry, dict) or not usable(entry.get("type")):
                self.skipped.append(line.skipped())
                continue
            if entry["type"] == "session":
                self.header = self.header or entry
                self._numbered.append(None)
            else:
                self._numbered.append(self._add(entry, line.at))

    def _add(self, entry: Mapping[str, Any], at: int) -> str:
        self._describe(entry)
        before, id = next(reversed(self.entries), None), entry.get("id")
        if not usable(id):
            id = self._identities.derive(before, _said(entry))
        elif id in self.entries:
            if _said(self.lines.value(self.entries[id].at)) == _said(entry):
                return str(id)
            what = f"message {id!r}"
            id = self._identities.derive(before, _said(entry))
            self.skipped.append((what, f"it is there twice with different contents: the second is {id!r}"))
        id, parent = str(id), entry.get("parentId")
        found = _Entry(at, parent if isinstance(parent, str) else None, _time(entry))
        if "parentId" not in entry:
            found.parent = before
        message = _message_of(entry)
        if message is not None:
            found.role, found.answers = role_of(message), result_of(message)
            found.calls = calls_of(message)
            found.empty = not said_by(message, id)
        elif entry["type"] == "compaction" and isinstance(entry.get("summary"), str):
            self.compactions.append(
                _Compaction(id, entry["summary"], entry.get("firstKeptEntryId", entry.get("firstKeptEntryIndex")))
            )
        else:
            self.others[entry["type"]] += 1
        self.entries[id] = found
        return id

    def _describe(self, entry: Mapping[str, Any]) -> None:
        kind = entry["type"]
        model = entry.get("modelId") if kind == "model_change" else object_of(entry.get("message")).get("model")
        if isinstance(model, str) and model:
            self.about["model"] = model
        if kind == "session_info" and isinstance(entry.get("name"), str) and entry["name"]:
            self.about["title"] = entry["name"]
        if kind == "label" and isinstance(entry.get("targetId"), str):
            self.labels[entry["targetId"]] = entry.get("label")

    # ---- the second time

    def conversation(self) -> Conversation:
        """The conversation that the entries are."""
        forest = Forest.of({id: entry.parent for id, entry in self.entries.items()})
        self.pairs = pair(
            forest.order,
            forest.parents,
            {id: entry.calls for id, entry in self.entries.items()},
            {id: (entry.answers,) for id, entry in self.entries.items() if entry.answers},
            {id for id, entry in self.entries.items() if entry.role == "user"},
        )
        kept = {id for id, entry in self.entries.items() if entry.role and not entry.empty}
        standing = forest.standing(kept)
        covered = {each.id: self._last_covered(each, forest, standing) for each in self.compactions}
        if more := {each.id for each in self.compactions if covered[each.id] is None and each.text.strip()}:
            kept |= more
            standing = forest.standing(kept)
        times = {id: entry.time for id, entry in self.entries.items() if entry.time}
        otherwise = time_of_text(self.header.get("timestamp")) or min(times.values(), default=EPOCH)
        rows, hung = forest.plant(standing, times, otherwise, self._message)
        roots = forest.roots(hung)
        summaries = [
            Summary(roots[last], last, each.text, times.get(each.id, otherwise))
            for each in self.compactions
            if (last := covered[each.id]) is not None and each.text.strip()
        ]
        id = self.header.get("id")
        return Conversation(
            f"{FORMAT}:{id if usable(id) else next(iter(rows.ids), 'empty')}",
            self._about(),
            rows,
            standing.get(next(reversed(self.entries), "")),
            (*self.skipped, *forest.skipped, *self.pairs.skipped, *self._left_out(kept)),
            tuple(summaries),
            forest.missing(hung),
        )

    def _last_covered(self, compaction: _Compaction, forest: Forest, standing: Mapping[str, str]) -> str | None:
        """The last message that a compaction stands for; `None` if there is none."""
        first = compaction.kept
        if isinstance(first, int) and not isinstance(first, bool):
            first = self._numbered[first] if 0 <= first < len(self._numbered) else None
        node: str | None = forest.parents[compaction.id]
        end = node
        while node is not None:
            if node == first:
                end = forest.parents[node]
                break
            node = forest.parents[node]
        return None if end is None else standing.get(end)

    def _about(self) -> dict[str, Any]:
        about = dict(self.about)
        times = [entry.time for entry in self.entries.values() if entry.time and entry.role]
        if created := time_of_text(self.header.get("timestamp")) or next(iter(times), None):
            about["created_at"] = created.isoformat()
        if times:
            about["updated_at"] = times[-1].isoformat()
        labels = {"labels": self.labels} if self.labels else {}
        return {**about, FORMAT: {**without(self.header, ("type", "id", "timestamp")), **labels}}

    def _left_out(self, kept: set[str]) -> Iterator[Skipped]:
        for id, entry in self.entries.items():
            if entry.empty:
                yield f"message {id!r}", "it is empty"
        for kind, count in self.others.items():
            yield f"rows of type {kind!r} ({count})", "they hold no message"
        for each in self.compactions:
            if not each.text.strip():
                yield f"summary {each.id!r}", "it is empty"
        if not kept:
            yield "the session", "it has no messages"

    def _message(self, id: str) -> dict[str, Any]:
        entry = self.lines.value(self.entries[id].at)
        message = _message_of(entry)
        if message is None:  # a compaction that stands for nothing
            message = {"role": "compactionSummary", "summary": entry["summary"]}
        place = self.pairs.calls.get((id, 0))
        answered = [None if place is None else self._call(*place)] if message.get("role") == RESULT else []
        names = [self.pairs.names[id, number] for number in range(len(self.entries[id].calls))]
        metadata = {"model": message["model"]} if isinstance(message.get("model"), str) else {}
        rest = without(entry, _ENTRY)
        role = role_of(message)
        if role != "tool":
            rest |= without(message, HELD)
        if message.get("role") not in (role, RESULT):
            rest["role"] = message.get("role")
        parts = woven(said_by(message, id), names, answered)
        return {"id": id, "role": role, "parts": parts, "metadata": {**metadata, FORMAT: rest}}

    def _call(self, caller: str, number: int) -> Part:
        """A call that an earlier message makes."""
        message = object_of(_message_of(self.lines.value(self.entries[caller].at)))
        calls = [said for said in said_by(message, caller) if isinstance(said, Call)]
        return calls[number].to_part(self.pairs.names[caller, number])


def _message_of(entry: Mapping[str, Any]) -> dict[str, Any] | None:
    """The message that an entry is, if it is one."""
    kind = entry.get("type")
    if kind == "message" and isinstance(entry.get("message"), dict):
        return dict(entry["message"])
    if kind == "custom_message":
        return {"role": "custom", "content": entry.get("content")}
    if kind == "branch_summary" and isinstance(entry.get("summary"), str):
        return {"role": "branchSummary", "summary": entry["summary"]}
    return None


def _said(entry: Mapping[str, Any]) -> dict[str, Any]:
    """What makes an entry another one: all but its own id and place."""
    return {key: value for key, value in entry.items() if key not in ("id", "parentId")}


def _time(entry: Mapping[str, Any]) -> datetime | None:
    milliseconds = object_of(entry.get("message")).get("timestamp")
    if isinstance(milliseconds, (int, float)) and not isinstance(milliseconds, bool):
        milliseconds = milliseconds / 1000
    return time_of_text(entry.get("timestamp")) or time_of(milliseconds)


def _conversation(lines: Lines) -> Conversation:
    reading = _Reading(lines)
    reading.read()
    return reading.conversation()


_TRANSCRIPTS: Final = Transcripts(FORMAT, _session_of, _conversation)
find, read = _TRANSCRIPTS.find, _TRANSCRIPTS.read
