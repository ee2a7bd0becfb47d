"""The rows of a Claude Code session as a conversation: parents, answers in pieces, compactions. See `claude_code`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from eventstore.exchange.anthropic_parts import blocks_of, is_call, said_by
from eventstore.exchange.claude_code_files import LeafSummary, Transcript
from eventstore.exchange.claude_code_rows import FORMAT, Row, about
from eventstore.exchange.conversation import Conversation, Skipped, Summary
from eventstore.exchange.planting import Forest
from eventstore.exchange.tools import Call, Pairs, Part, Said, pair, woven
from eventstore.exchange.values import EPOCH, object_of


def conversation(transcript: Transcript) -> Conversation:
    """The conversation that a session is."""
    return _Building(transcript).conversation()


@attrs.define
class _Building:
    """A session on its way: which rows make one message, and where each hangs."""

    transcript: Transcript
    skipped: list[Skipped] = attrs.field(factory=list)
    pieces: dict[str, list[str]] = attrs.field(factory=dict)  # the first row of a message -> its rows
    pairs: Pairs = attrs.field(factory=lambda: Pairs({}, {}, []))

    @property
    def rows(self) -> dict[str, Row]:
        return self.transcript.rows

    def conversation(self) -> Conversation:
        compacting = [each for each in self.transcript.summaries if self._goes_on(each)]
        parents = self._parents(compacting)
        self._gather(parents)
        self._chain_results(parents)
        forest = Forest.of(parents)
        self.pairs = pair(
            forest.order,
            forest.parents,
            {id: row.calls for id, row in self.rows.items() if row.calls},
            {id: row.results for id, row in self.rows.items() if row.results},
            {id for id, row in self.rows.items() if row.asks},
        )
        empty = {id for id, row in self.rows.items() if row.empty}
        kept = {id for id, rows in self.pieces.items() if not empty.issuperset(rows)}
        standing = forest.standing(kept)
        if more := {id for id, row in self.rows.items() if row.summarizes and row.role and id not in standing}:
            kept |= more
            standing = forest.standing(kept)
            self.pieces |= {id: [id] for id in more}
        times = {id: row.time for id, row in self.rows.items() if row.time}
        rows, hung = forest.plant(standing, times, min(times.values(), default=EPOCH), self._message)
        summaries = list(self._summaries(compacting, standing, hung, forest))
        skipped = [*self.transcript.skipped, *self.skipped, *forest.skipped, *self.pairs.skipped]
        spoken = [id for id, row in self.rows.items() if row.role and row.side is None]
        return Conversation(
            f"{FORMAT}:{self.transcript.session or next(iter(rows.ids), 'empty')}",
            self._about(),
            rows,
            standing.get(spoken[-1]) if spoken else None,
            (*skipped, *self._left_out(kept)),
            tuple(summaries),
            forest.missing(hung),
            {id for id in kept if self.rows[id].answer},
            aside=not spoken,
        )

    # ---- the tree

    def _goes_on(self, summary: LeafSummary) -> bool:
        """Whether a summary beside the tree is a compaction: the conversation goes on behind it. Else it is a title."""
        return any(row.role in ("user", "assistant") for row in [*self.rows.values()][summary.behind :])

    def _parents(self, compacting: list[LeafSummary]) -> dict[str, str | None]:
        """What each row hangs on, by what it says and by the rows before it."""
        is_tree = any(row.parent is not None for row in self.rows.values())
        ends = {each.behind: each.leaf for each in compacting}
        waiting: str | None = None  # the end of a summary that stands beside the tree: the next root hangs there
        before: dict[str | None, str] = {}
        parents: dict[str, str | None] = {}
        for number, (id, row) in enumerate(self.rows.items()):
            waiting = ends.get(number, waiting)
            parent = row.parent
            if row.cuts or (row.summarizes and parent is None):
                known = row.follows if row.follows in self.rows else parent
                parent = known or before.get(row.side) or row.follows
            elif parent is None and waiting is not None and row.side is None and row.role:
                parent, waiting = waiting if is_tree else before.get(None), None
            elif parent is None and not is_tree:
                parent = before.get(row.side)
            elif parent is None and not row.names_parent and row.role and row.side in before:
                parent = before[row.side]
                self.skipped.append((f"parent of {id!r}", f"it names none: hung under {parent!r}, the one before"))
            parents[id] = parent
            if row.role or row.cuts:
                before[row.side] = id
        return parents

    def _gather(self, parents: dict[str, str | None]) -> None:
        """Puts the rows of one answer together: each hangs on the one before it."""
        first: dict[str, str] = {}
        for id, row in self.rows.items():
            if not row.role or row.summarizes:
                continue
            parent = parents[id]
            if parent in first and row.answer is not None and self.rows[parent].answer == row.answer:
                first[id] = first[parent]
                self.pieces[first[id]].append(id)
            else:
                first[id] = id
                self.pieces[id] = [id]

    def _chain_results(self, parents: dict[str, str | None]) -> None:
        """Hangs the results of an answer's calls behind its last row, and one behind the other.

        In the file each hangs on the row of its call, beside the next call.
        """
        if not any(row.results for row in self.rows.values()):
            return
        first = {piece: id for id, rows in self.pieces.items() for piece in rows}
        calls = {id: {call for piece in rows for call in self.rows[piece].calls} for id, rows in self.pieces.items()}
        last: dict[str, str] = {}
        answered: dict[str, set[str]] = {}
        for id, row in self.rows.items():
            answer = first.get(parents[id] or "")
            if answer is None or row.role != "tool" or not calls[answer].issuperset(row.results):
                continue
            if answer in last and answered[answer].isdisjoint(row.results):
                parents[id] = last[answer]
            elif answer in last:
                continue  # a call was answered twice: a branch
            else:
                parents[id] = self.pieces[answer][-1]
            last[answer] = id
            answered.setdefault(answer, set()).update(row.results)

    # ---- messages

    def _message(self, id: str) -> dict[str, Any]:
        pieces, said = self.pieces[id], list[Said]()
        metadata: dict[str, Any] = {}
        rest: dict[str, Any] = {}
        for piece in pieces:
            value = self.transcript.value(self.rows[piece].place)
            message = value["message"]
            said += said_by(blocks_of(message.get("content")), FORMAT)
            if isinstance(model := message.get("model"), str):
                metadata["model"] = model
            rest |= about(value, self.transcript.shared)
        if len(pieces) > 1:
            rest["rows"] = pieces
        metadata[FORMAT] = rest
        return {"id": id, "role": self.rows[id].role, "parts": woven(said, *self._tools(id)), "metadata": metadata}

    def _tools(self, id: str) -> tuple[list[str], list[int | Part | None]]:
        """The calls and results of all rows of a message, numbered through, as `woven` takes them."""
        pieces = [row for row in map(self.rows.__getitem__, self.pieces[id]) if row.calls or row.results]
        if not pieces:
            return [], []
        calls = [(row.id, n) for row in pieces for n in range(len(row.calls))]
        numbers = {place: number for number, place in enumerate(calls)}
        answered: list[int | Part | None] = []
        for row in pieces:
            for n in range(len(row.results)):
                call = self.pairs.calls.get((row.id, n))
                if call is None or call in numbers:
                    answered.append(None if call is None else numbers[call])
                else:
                    answered.append(self._call(*call))
        return [self.pairs.names[place] for place in calls], answered

    def _call(self, piece: str, number: int) -> Part:
        """A call that an earlier message makes."""
        content = self.transcript.value(self.rows[piece].place)["message"].get("content")
        [call] = said_by([[block for block in blocks_of(content) if is_call(block)][number]], FORMAT)
        assert isinstance(call, Call)
        return call.to_part(self.pairs.names[piece, number])

    # ---- beside them

    def _about(self) -> dict[str, Any]:
        compactions = {each.text for each in self.transcript.summaries if self._goes_on(each)}
        titles = {kind: title for kind, title in self.transcript.titles.items() if title not in compactions}
        title = titles.get("custom-title") or titles.get("ai-title") or titles.get("summary")
        about: dict[str, Any] = {} if title is None else {"title": title}
        for row in reversed(self.rows.values()):
            if row.role == "assistant":
                model = self.transcript.value(row.place)["message"].get("model")
                if isinstance(model, str) and not model.startswith("<"):
                    about["model"] = model
                    break
        times = [row.time for row in self.rows.values() if row.time and row.role]
        if times:
            about |= {"created_at": times[0].isoformat(), "updated_at": times[-1].isoformat()}
        return {**about, FORMAT: self.transcript.shared}

    def _left_out(self, kept: set[str]) -> Iterator[Skipped]:
        for id, row in self.rows.items():
            if row.kind == "system" and not row.cuts:
                yield f"message {id!r}", "it is a system message"
            elif row.role and row.empty and self.pieces.get(id) and id not in kept:
                yield f"message {id!r}", "it is empty"
        for kind, count in self.transcript.others.items():
            yield f"rows of type {kind!r} ({count})", "they hold no message"
        if not kept:
            yield "the session", "it has no messages"

    def _summaries(
        self, compacting: list[LeafSummary], standing: dict[str, str], hung: dict[str, str | None], forest: Forest
    ) -> Iterator[Summary]:
        roots = forest.roots(hung)
        order = [*self.rows]
        found = [(each.behind, each.leaf, each.text) for each in compacting]
        found += [
            (number, id, self._summary_text(row))
            for number, (id, row) in enumerate(self.rows.items())
            if row.summarizes and id not in hung
        ]
        for number, id, text in sorted(found):
            last = self._last_covered(standing.get(id), self._preserved(id), standing, hung)
            if last is None or not text.strip():
                self.skipped.append((f"summary {id!r}", "it is empty, or stands for no message"))
                continue
            times = (self.rows[row].time for row in reversed(order[: number + 1]))
            yield Summary(roots[last], last, text, next((time for time in times if time), EPOCH))

    def _summary_text(self, row: Row) -> str:
        value = self.transcript.value(row.place)
        if isinstance(value.get("summary"), str):
            return str(value["summary"])
        blocks = blocks_of(object_of(value.get("message")).get("content"))
        said = [each for each in said_by(blocks, FORMAT) if isinstance(each, dict) and each["type"] == "text"]
        return "\n\n".join(part["text"] for part in said)

    def _preserved(self, id: str) -> tuple[str, ...]:
        """What the compaction of a summary left as it was, by the row that marks it."""
        parent = self.rows[id].parent if self.rows[id].summarizes else None
        return self.rows[parent].preserved if parent in self.rows else ()

    def _last_covered(
        self, last: str | None, preserved: tuple[str, ...], standing: dict[str, str], hung: dict[str, str | None]
    ) -> str | None:
        """The last message that a summary stands for: in front of the first that was left as it was."""
        left = {standing[id] for id in preserved if id in standing}
        first: str | None = None
        node = last if left else None
        while node is not None:
            first, node = (node if node in left else first), hung[node]
        return last if first is None else hung[first]
