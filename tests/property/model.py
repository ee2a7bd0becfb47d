"""The oracle: what a store must answer, as plainly as Python can say it.

A `ModelSession` takes the same calls as a `Session`, returns the same results and raises the same errors, so that one
write can be done to both and compared. What it writes to is the plain tree of `model_tree`. `ModelStore.log` is the
expected log, and `ModelStore.states` remembers every session after every event: the expected `at()`. Numbers are given
out as a store's log gives them: 1, 2, 3…
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

import attrs

from eventstore import (
    LATEST,
    UNCHECKED,
    AppendResult,
    ImportReport,
    ImportRow,
    InvalidArgument,
    LeafChanged,
    Message,
    UnknownMessage,
)
from eventstore.testing import same_json
from tests.property.model_tree import Entry, Json, Node, State


@attrs.define
class ModelStore:
    """The expected store."""

    reserved: frozenset[str] = frozenset()
    retain: str = "current"
    sessions: dict[str, State] = attrs.Factory(dict)
    log: list[Entry] = attrs.Factory(list)
    emitted: list[Entry] = attrs.Factory(list)  # the log, and repeated appends
    states: list[dict[str, State]] = attrs.Factory(lambda: [{}])  # by seq

    def session(self, session_id: str = "") -> ModelSession:
        return ModelSession(self, session_id)

    def state(self, session_id: str) -> State:
        return self.sessions.get(session_id) or State()

    @property
    def latest_seq(self) -> int:
        return len(self.log)

    def saved(self) -> ModelStore:
        """What a rolled back transaction goes back to."""
        return attrs.evolve(
            self,
            sessions={name: state.copy() for name, state in self.sessions.items()},
            log=list(self.log),
            emitted=list(self.emitted),
            states=list(self.states),
        )

    def restore(self, saved: ModelStore) -> None:
        self.sessions, self.log, self.emitted, self.states = saved.sessions, saved.log, saved.emitted, saved.states

    def commit(self, entry: Entry) -> None:
        """Appends to the log, and remembers all states as they are now."""
        self.log.append(entry)
        self.emitted.append(entry)
        if entry.session_id in self.sessions:
            self.sessions[entry.session_id].seq = entry.seq
        self.states.append({name: state.copy() for name, state in self.sessions.items()})

    def delete_session(self, session_id: str) -> None:
        if self.sessions.pop(session_id, None) is not None:
            self.commit(Entry("delete_session", self.latest_seq + 1, session_id))

    def keeps(self, session_id: str, version: int) -> bool:
        """Whether a body given by that event is still in the file: the retention decides, unless it is shown."""
        shown = any(node.version == version for node in self.state(session_id).nodes.values())
        return shown or (self.retain == "all" and not self.log[version - 1].bare)


@attrs.frozen
class ModelSession:
    """The expected session: the verbs of `Session`, and the reads that writes ask."""

    store: ModelStore
    session_id: str

    @property
    def state(self) -> State:
        return self.store.state(self.session_id)

    def _writable(self) -> State:
        return self.store.sessions.setdefault(self.session_id, State())

    def _commit(self, type: str, **fields: Any) -> int:
        seq = self.store.latest_seq + 1
        self.store.commit(Entry(type, seq, self.session_id, **fields))
        return seq

    def tree(self) -> Iterator[Node]:
        return iter(self.state.by_age())

    def get_message(self, message_id: str) -> Message | None:
        node = self.state.nodes.get(message_id)
        return None if node is None else node.message

    def get_latest_leaf(self) -> Message | None:
        node = self.state.active()
        return None if node is None else node.message

    def _check_known(self, message_ids: Iterable[str | None]) -> None:
        unknown = [each for each in message_ids if each is not None and each not in self.state.nodes]
        if unknown:
            raise UnknownMessage(unknown, self.session_id)

    # -- what a write does once it is decided

    def insert(
        self, type: str, message: Message, parent_id: str | None, when: datetime | None = None, bare: bool = False
    ) -> int:
        seq = self.store.latest_seq + 1
        self._writable().nodes[message["id"]] = Node(message, parent_id, seq, seq, seq, when)
        return self._commit(type, message=message, born=seq, parent_id=parent_id, bare=bare)

    def replace(self, message: Message) -> None:
        seq, node = self.store.latest_seq + 1, self.state.nodes[message["id"]]
        self._writable().nodes[node.id] = attrs.evolve(node, message=message, version=seq)
        self._commit("update", message=message, born=node.born)

    def select(self, message_id: str) -> None:
        nodes = self._writable().nodes
        nodes[message_id] = attrs.evolve(nodes[message_id], touched=self.store.latest_seq + 1)
        self._commit("select", message_ids=(message_id,))

    def describe(self, metadata: Json) -> None:
        state = self._writable()
        state.metadata, state.metadata_version = metadata, self.store.latest_seq + 1
        self._commit("metadata", metadata=metadata)

    # -- the verbs

    def append_message(self, message: Message, **options: Any) -> AppendResult:
        return self.append_messages([message], **options)[0]

    def append_messages(
        self,
        messages: Iterable[Message],
        *,
        parent_id: Any = LATEST,
        expected_leaf: Any = UNCHECKED,
        source: str = "server",
    ) -> list[AppendResult]:
        results = []
        for message in messages:
            known = self.state.nodes.get(message["id"])
            if message["id"].startswith("compaction_"):
                results.append(AppendResult(False, message, None))
                continue
            if known is not None:
                self._repeat(known)
                results.append(AppendResult(False, known.message, None))
            else:
                active = self.state.active()
                leaf = None if active is None else active.id
                if expected_leaf not in (UNCHECKED, leaf):
                    raise LeafChanged(expected_leaf, leaf)
                parent_id = leaf if parent_id is LATEST else parent_id
                self._check_known([parent_id])
                stored = self._from_client(message, None) if source == "client" else message
                results.append(AppendResult(True, stored, self.insert("append", stored, parent_id)))
            expected_leaf, parent_id = UNCHECKED, message["id"]
        return results

    def _repeat(self, known: Node) -> None:
        seq = self.store.latest_seq
        entry = Entry("append", seq, self.session_id, known.message, known.born, known.parent_id, inserted=False)
        self.store.emitted.append(entry)

    def _from_client(self, message: Message, stored: Message | None) -> Message:
        """Reserved keys as stored, in their place. For metadata with at most one key that isn't reserved."""
        theirs = {k: v for k, v in message.get("metadata", {}).items() if k not in self.store.reserved}
        merged = {}
        for key, value in (stored["metadata"] if stored and "metadata" in stored else {}).items():
            if key in self.store.reserved:
                merged[key] = value
            elif key in theirs:
                merged[key] = theirs[key]
        merged |= theirs
        result = {key: merged if key == "metadata" else value for key, value in message.items()}
        if merged:
            result["metadata"] = merged
        elif message.get("metadata"):
            del result["metadata"]  # nothing is left of it
        return cast(Message, result)

    def update_message(self, message: Message, *, source: str = "server") -> Message | None:
        node = self.state.nodes.get(message["id"])
        if node is None or message["id"].startswith("compaction_"):
            return None
        stored = self._from_client(message, node.message) if source == "client" else message
        if not same_json(stored, node.message):
            self.replace(stored)
        return stored

    def upsert_message(self, message: Message, *, parent_id: Any = LATEST, source: str = "server") -> AppendResult:
        if message["id"] not in self.state.nodes or message["id"].startswith("compaction_"):
            return self.append_message(message, parent_id=parent_id, source=source)
        before = self.store.latest_seq
        stored = self.update_message(message, source=source)
        assert stored is not None
        return AppendResult(False, stored, self.store.latest_seq if self.store.latest_seq > before else None)

    def delete_messages(self, message_ids: Sequence[str]) -> list[str]:
        deleted = [message_id for message_id in dict.fromkeys(message_ids) if message_id in self.state.nodes]
        if deleted:
            self._writable().remove(deleted)
            self._commit("delete", message_ids=tuple(deleted))
        return deleted

    def delete_branch(self, message_id: str) -> list[str]:
        self._check_known([message_id])
        return self.delete_messages([node.id for node in self.state.subtree(message_id)])

    def clear_messages(self) -> None:
        self._writable().nodes.clear()
        self._commit("clear")

    def select_leaf(self, message_id: str) -> None:
        self._check_known([message_id])
        active = self.state.active()
        if active is None or active.id != message_id:
            self.select(message_id)

    def set_metadata(self, metadata: Mapping[str, Any]) -> None:
        if not self.state.metadata_version or not same_json(self.state.metadata, metadata):
            self.describe(dict(metadata))

    def copy_to(self, other: ModelSession, *, leaf_id: str | None = None) -> ImportReport:
        """Its log since its last clear, done again: without bodies that no read shows, its metadata last."""
        if other.state.nodes:
            raise InvalidArgument("copy into an empty session")
        log = [entry for entry in self.store.log if entry.session_id == self.session_id]
        if leaf_id is None:
            empty = [entry.seq for entry in log if entry.type in ("clear", "delete_session")]
            self._redo([entry for entry in log if entry.seq > max(empty, default=0)], other)
        else:
            self._check_known([leaf_id])
            before: str | None = None
            for node in self.state.path(leaf_id):
                path = [entry for entry in log if entry.born == node.born]
                self._redo([attrs.evolve(entry, parent_id=before) for entry in path], other)
                before = node.id
        if self.state.metadata_version:
            other.describe(self.state.metadata)
        return ImportReport(len(other.state.nodes), 0)

    def _redo(self, entries: list[Entry], other: ModelSession) -> None:
        versions = {node.version for node in self.state.nodes.values()}
        for entry in entries:
            if entry.type in ("append", "import") and entry.message is not None:
                other.insert("import", entry.message, entry.parent_id, bare=entry.seq not in versions)
            elif entry.type == "update" and entry.message is not None and entry.seq in versions:
                other.replace(entry.message)
            elif entry.type == "delete":
                other.delete_messages(entry.message_ids)
            elif entry.type == "select":
                other.select(entry.message_ids[0])

    def get_metadata(self) -> Json:
        return self.state.metadata

    def import_message(self, message: Message, *, parent_id: str | None, created_at: datetime) -> AppendResult:
        known = self.state.nodes.get(message["id"])
        if known is not None:
            return AppendResult(False, known.message, None)
        self._check_known([parent_id])
        return AppendResult(True, message, self.insert("import", message, parent_id, created_at))

    def import_messages(self, rows: Iterable[ImportRow]) -> ImportReport:
        """In order; a row whose parent isn't there yet waits for it, and is stored right behind it."""
        waiting: list[ImportRow] = []
        imported = known = 0
        for row in rows:
            ready = [row]
            while ready:
                row = ready.pop(0)
                message = cast(Message, dict(row.message))
                if message["id"] not in self.state.nodes and row.parent_id not in (None, *self.state.nodes):
                    waiting.append(row)
                    continue
                done = self.import_message(message, parent_id=row.parent_id, created_at=row.created_at)
                imported, known = imported + done.inserted, known + (not done.inserted)
                ready += [other for other in waiting if other.parent_id == message["id"]]
                waiting = [other for other in waiting if other.parent_id != message["id"]]
        if waiting:
            raise UnknownMessage([row.message["id"] for row in waiting], self.session_id)
        return ImportReport(imported, known)
