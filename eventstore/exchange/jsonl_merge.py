"""Steps made into the events of a session that holds messages already: a merge.

What is known, by its id, stays as it is and where it is. What is unknown is added, in the export's order, under its
nearest ancestor that is here; messages that the export itself deleted are passed over, and what hung on them hangs on
their nearest ancestors too. The export's active leaf is selected only when something was added. So merging the same
export again writes nothing, and names nothing. Summaries that aren't there are not merged, and named: they speak of a
path that this session may not have.
"""

from __future__ import annotations

from collections.abc import Iterable

from eventstore import codec, describing, linking
from eventstore.copying import Replaying, Step
from eventstore.reports import ImportReport
from eventstore.store import Store
from eventstore.types import Progress
from eventstore.writing import Write


def merge_into(
    store: Store, name: str, given: Iterable[Step], deleted: frozenset[int], progress: Progress | None = None
) -> ImportReport:
    """Merges steps into the session `name`. `deleted` are the messages that some of the steps delete."""
    with store.transaction():
        with Write(store, name) as write, write:
            merging = _Merging(write, deleted)
            merging.take_all(given, progress)
            leaf_id = merging.leaf_id()
        if merging.imported and leaf_id is not None:
            describing.select_leaf(store, name, leaf_id)  # already active: writes nothing
    return ImportReport(merging.imported, merging.known, tuple(merging.skipped))


class _Merging(Replaying):
    """A replay that adds what is unknown and leaves the rest out."""

    def __init__(self, write: Write, deleted: frozenset[int]) -> None:
        super().__init__(write)
        self.known = 0
        self.skipped: list[tuple[str, str]] = []
        self._deleted = deleted
        self._above: dict[int, int | None] = {}  # there: deleted message -> its nearest ancestor that wasn't
        self._added: set[int] = set()
        self._leaf: int | None = None  # there: the message that was touched last

    def leaf_id(self) -> str | None:
        """The export's active leaf."""
        here = self._here(self._leaf)
        return None if here is None else self._ids[here]

    def _here(self, seq: int | None) -> int | None:
        return super()._here(self._standing(seq))

    def _standing(self, seq: int | None) -> int | None:
        return self._above[seq] if seq in self._deleted and seq is not None else seq

    def _import(self, step: Step) -> None:
        if step.seq in self._deleted:
            self._above[step.seq] = self._standing(step.parent)
            return
        self._leaf = step.seq
        position = self._write.find(step.id or "")
        if position is None:
            self._added.add(step.seq)
            super()._import(step)
        else:
            self.known += 1
            self._seqs[step.seq] = position.seq
            self._ids[position.seq] = step.id or ""

    def _update(self, step: Step) -> None:
        if step.message in self._added:
            super()._update(step)

    def _delete(self, step: Step) -> None:
        """What was deleted there was never added here."""

    def _select(self, step: Step) -> None:
        if step.message not in self._deleted:
            self._leaf = step.message

    def _compaction(self, step: Step) -> None:
        if not self._is_there(step.id):
            why = "the session holds messages already, and may part from its path"
            self.skipped.append((f"summary {step.id!r}", why))

    def _is_there(self, summary_id: str | None) -> bool:
        """Whether a summary came here with an earlier import of the export."""
        if summary_id is None or self._write.session is None:
            return False
        shown_as = codec.OVERLAY_PREFIX + summary_id
        return linking.find(self._write.connection, self._write.session, shown_as) is not None

    _compact = _compaction
