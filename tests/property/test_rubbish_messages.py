"""Anything given for a message is stored and read back equal, or refused by an error of ours, with nothing written."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from eventstore import (
    ImportRow,
    InvalidArgument,
    InvalidMessage,
    NotSerializable,
    Session,
    Sessions,
    UnknownMessage,
)
from eventstore.testing import messages, same_json
from eventstore.testing.values import json_values, texts

WHEN = datetime(2026, 1, 1, tzinfo=UTC)
NEVER = (float("nan"), float("inf"), b"bytes", {1, 2}, WHEN, UUID(int=1), 1j, object, (1, 2), {1: 2}, {None: 1})
ODD: st.SearchStrategy[Any] = st.sampled_from(NEVER) | json_values()
FIELDS = st.sampled_from(("id", "role", "parts", "metadata", "other", "", "\ud83d"))


@st.composite
def rubbish(draw: st.DrawFn) -> Any:
    """A message of which something is something else; or anything."""
    if draw(st.integers(0, 4)) == 0:
        return draw(ODD)
    message: dict[Any, Any] = dict(draw(messages()))
    for _ in range(draw(st.integers(1, 2))):
        field = draw(FIELDS)
        match draw(st.integers(0, 3)):
            case 0:
                message.pop(field, None)
            case 1:
                message[field] = draw(ODD)
            case 2:
                message["parts"] = [*draw(st.lists(ODD, max_size=2)), {"type": draw(ODD | texts())}]
            case _:
                message[draw(ODD.filter(_can_be_key))] = draw(ODD)
    return message


def _can_be_key(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


WRITES: tuple[Any, ...] = (
    lambda s, m: s.append_message(m),
    lambda s, m: s.append_messages([{"id": "first", "role": "user", "parts": []}, m]),
    lambda s, m: s.upsert_message(m, source="client"),
    lambda s, m: s.update_message(m),
    lambda s, m: s.import_message(m, parent_id=None, created_at=WHEN),
    lambda s, m: s.import_messages([ImportRow(m, parent_id=None, created_at=WHEN)]),
)
REFUSED = (InvalidMessage, NotSerializable, InvalidArgument, UnknownMessage)


@given(rubbish(), st.sampled_from(WRITES))
def test_rubbish_is_refused_or_reads_back(message: Any, write: Any) -> None:
    with Sessions(reserved_metadata_keys=["a"]) as sessions:
        session: Session = sessions.session()
        try:
            write(session, message)
        except REFUSED:
            assert sessions.latest_seq == 0
        else:
            found = session.get_message(message["id"]) if session.info().messages else None
            assert found is None or found["id"] == message["id"]
            if found is not None and "metadata" not in message:
                assert same_json(found, message)
        assert sessions.verify().ok
