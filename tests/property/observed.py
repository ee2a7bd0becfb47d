"""What a store, a second store on its file, or a view of its past answers, held against the oracle's state."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import attrs

from eventstore import Event, Message, MessageInfo, ReadableSession, Sessions, StoreView
from eventstore.testing import json_text
from tests.property.model import ModelStore
from tests.property.model_tree import Entry, Node, State, erased, size

Read = Callable[[Node], Mapping[str, Any]]
"""How a message is expected to read: as it was written, or erased."""


Infos = dict[str, list[MessageInfo]]


def as_written(node: Node) -> Mapping[str, Any]:
    """Every body is there."""
    return node.message


def same(what: str, expected: Any, found: Any) -> None:
    """Compares JSON texts, where the values themselves aren't the same to the last type and the order of their keys."""
    with suppress(ValueError):  # what marshal knows nothing of
        if marshal.dumps(expected, 2) == marshal.dumps(found, 2):
            return
    wanted, got = json_text(expected), json_text(found)
    assert wanted == got, f"{what}\n  expected {wanted}\n  found    {got}"


def check_session(session: ReadableSession, state: State, read: Read = as_written) -> None:
    """Same tree, leaves, active leaf, children of every message, path of every leaf, infos."""
    name = session.session_id
    infos = sorted(session.tree(), key=lambda info: info.seq)
    sizes = {node.id: size(node.message) for node in state.by_age()}
    expected = [[node.id, node.parent_id, node.born, node.message["role"], sizes[node.id]] for node in state.by_age()]
    same(f"{name!r}: tree", expected, [[i.id, i.parent_id, i.seq, i.role, i.bytes] for i in infos])
    for info, node in zip(infos, state.by_age(), strict=True):
        assert node.created_at is None or info.created_at == node.created_at, (name, info, node.created_at)
    same(f"{name!r}: leaves", [node.id for node in state.leaves()], [leaf.id for leaf in session.get_leaves()])
    active = state.active()
    same(f"{name!r}: active leaf", active and read(active), session.get_latest_leaf())
    same(
        f"{name!r}: history",
        [read(node) for node in state.path(None if active is None else active.id)],
        session.get_history(),
    )
    for parent_id in [None, *state.nodes]:
        children = [read(node) for node in state.children(parent_id)]
        same(f"{name!r}: branches of {parent_id!r}", children, session.get_branches(parent_id))
    for leaf in state.leaves():
        path = [read(node) for node in state.path(leaf.id)]
        same(f"{name!r}: path to {leaf.id!r}", path, session.get_history(leaf_id=leaf.id))
        total = sum(sizes[node.id] for node in state.path(leaf.id))
        recent = session.get_recent_history(max_messages=1, leaf_id=leaf.id)
        same(f"{name!r}: window of {leaf.id!r}", [path[-1:], total], [recent.messages, recent.total_content_bytes])
        info_ids = [info.id for info in session.get_history_row_stats(leaf_id=leaf.id)]
        same(f"{name!r}: stats to {leaf.id!r}", [message["id"] for message in path], info_ids)
    for node in state.nodes.values():
        below = state.active(state.subtree(node.id))
        same(f"{name!r}: latest below {node.id!r}", below and read(below), session.get_latest_leaf(below=node.id))
    same(f"{name!r}: metadata", state.metadata, session.get_metadata())


def check_store(sessions: Sessions | StoreView, states: Mapping[str, State]) -> None:
    """All sessions, and which there are."""
    order = sorted(states, key=lambda name: states[name].seq, reverse=True)
    infos = list(sessions.list_sessions())
    expected = [
        [
            name,
            len(states[name].nodes),
            sum(size(node.message) for node in states[name].nodes.values()),
            states[name].seq,
        ]
        for name in order
    ]
    same("sessions", expected, [[info.session_id, info.messages, info.bytes, info.seq] for info in infos])
    for name, state in states.items():
        check_session(sessions.session(name), state)


def check_past(view: StoreView, model: ModelStore, seq: int) -> None:
    """The store after event `seq`: paths as they were, bodies where they were retained."""
    states = model.states[seq]
    order = sorted(states, key=lambda name: states[name].seq, reverse=True)
    same(f"at({seq}): sessions", order, [info.session_id for info in view.list_sessions()])
    for name, state in states.items():

        def read(node: Node, name: str = name) -> Mapping[str, Any]:
            return node.message if model.keeps(name, node.version) else erased(node.message)

        if model.retain != "all" and model.state(name).metadata_version != state.metadata_version:
            state = attrs.evolve(state, metadata={})
        check_session(view.session(name), state, read)


def expected_event(entry: Entry, model: ModelStore) -> tuple[Message | Any, bool]:
    """(message, whether erased) of a logged event as the feed gives it when it is read now."""
    assert entry.message is not None
    if model.keeps(entry.session_id, entry.seq):
        return entry.message, False
    for node in model.state(entry.session_id).nodes.values():
        if node.born == entry.born:
            return node.message, False
    return erased(entry.message), True


def check_event(event: Event, entry: Entry, model: ModelStore) -> None:
    """One event of the log, read now, against the expected log."""
    fields = event.to_dict()
    same("event", [entry.type, entry.seq, entry.session_id], [event.type, event.seq, event.session_id])
    if entry.message is not None:
        message, is_erased = expected_event(entry, model)
        same(f"event {entry.seq}: message", [message, is_erased], [fields["message"], event.erased])
    if entry.type in ("append", "import"):
        same(f"event {entry.seq}: parent", entry.parent_id, fields["parent_id"])
    if entry.type == "metadata":
        current = model.state(entry.session_id)
        kept = model.retain == "all" or current.metadata_version == entry.seq
        expected = [entry.metadata, False] if kept else [current.metadata, not current.metadata_version]
        same(f"event {entry.seq}: metadata", expected, [fields["metadata"], event.erased])
    if entry.type == "delete":
        same(f"event {entry.seq}: ids", list(entry.message_ids), fields["message_ids"])
    if entry.type == "select":
        same(f"event {entry.seq}: id", entry.message_ids[0], fields["message_id"])


def reduced(entries: list[Entry], session_id: str) -> list[Message]:
    """What a mirror of the session must hold after these events."""
    messages: list[Message] = []
    for entry in entries:
        if entry.session_id != session_id or not entry.inserted:
            continue
        ids = [message["id"] for message in messages]
        if entry.message is not None and entry.type in ("append", "update"):
            if entry.message["id"] in ids:
                messages[ids.index(entry.message["id"])] = entry.message
            elif entry.type == "append":
                messages.append(entry.message)
        elif entry.type == "delete":
            messages = [message for message in messages if message["id"] not in entry.message_ids]
        elif entry.type in ("clear", "delete_session"):
            messages = []
    return messages


def infos_of(sessions: Sessions | StoreView) -> Infos:
    """Every message's place, size, tokens and times."""
    return {info.session_id: list(sessions.session(info.session_id).tree()) for info in sessions.list_sessions()}
