"""Writes about the session itself: which leaf is the active one, and its metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eventstore import bodies, codec, log, paths
from eventstore.errors import NotSerializable
from eventstore.events import LeafSelected, MetadataChanged
from eventstore.store import Store
from eventstore.writing import Write


def select_leaf(store: Store, name: str, message_id: str) -> None:
    """Makes the path to a message the active one. Raises `UnknownMessage`."""
    with Write(store, name) as write, write:
        position = paths.require(write.connection, write.session, name, message_id, "a leaf to select")
        head = write.head
        if head.leaf == position.seq:
            return
        envelope = write.next(log.SELECT, message=position.seq, touch=head.touch)
        write.log(envelope)
        if write.is_heard():
            write.emit(LeafSelected, envelope.seq, message_id=message_id)


def set_metadata(store: Store, name: str, metadata: Mapping[str, Any]) -> None:
    """Replaces the session's metadata; an equal one writes nothing. Raises `NotSerializable`."""
    if not isinstance(metadata, Mapping):
        raise NotSerializable("metadata", f"it must be a mapping, not {type(metadata).__name__}")
    encoded = codec.encode(dict(metadata))
    with Write(store, name) as write, write:
        stored = write.head.metadata
        if stored is not None:
            body = bodies.read(write.connection, stored)
            if body is not None and body.text == encoded.text:
                return
            if write.keeps_current_only():
                bodies.drop(write.connection, stored)
        envelope = write.next(log.METADATA, bytes=encoded.size)
        write.log(envelope, encoded)
        if write.is_heard():
            write.emit(MetadataChanged, envelope.seq, metadata=encoded.value)
