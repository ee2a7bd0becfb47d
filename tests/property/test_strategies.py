"""The strategies of `eventstore.testing` draw what they promise: every shape, always valid, writes that never fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, cast

import attrs
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from eventstore import Message, Sessions, testing
from eventstore.codec import check_message
from eventstore.testing import Write, conversations, messages, same_json, strategies, writes
from eventstore.testing.writes import write_kinds

QUICK = settings(max_examples=500, phases=[Phase.generate], suppress_health_check=list(HealthCheck), database=None)


def find_each(strategy: st.SearchStrategy[Any], promises: Mapping[str, Callable[[Any], bool]], tries: int) -> None:
    """Draws until each promise is kept by one of the values: all of them are looked for in the same values."""
    missing = set(promises)

    def all_found(value: Any) -> bool:
        missing.difference_update([name for name in missing if promises[name](value)])
        return not missing

    with suppress(NoSuchExample):
        find(strategy, all_found, settings=settings(QUICK, max_examples=tries))
    assert not missing


@given(messages())
def test_messages_are_valid_and_read_back_equal(message: Message) -> None:
    check_message(message)
    with Sessions() as store:
        store.session().append_message(message)
        assert same_json(store.session().get_message(message["id"]), message)


def holds(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Whether anything in a JSON value, keys too, passes the test."""

    def within(value: Any) -> bool:
        if test(value):
            return True
        if isinstance(value, dict):
            return any(within(key) or within(item) for key, item in value.items())
        return isinstance(value, list) and any(map(within, value))

    return within


PROMISED: dict[str, Callable[[Message], bool]] = {
    "no parts": lambda m: not m["parts"],
    "several types of parts": lambda m: len({part["type"] for part in m["parts"]}) > 2,
    "a tool's output": lambda m: any("output" in part and part["type"].startswith("tool-") for part in m["parts"]),
    "an image": lambda m: any(part.get("mediaType") == "image/png" for part in m["parts"]),
    "no metadata": lambda m: "metadata" not in m,
    "metadata": lambda m: bool(m.get("metadata")),
    "keys of its own": lambda m: bool(set(m) - {"id", "role", "parts", "metadata"}),
    "another order of keys": lambda m: next(iter(m)) != "id",
    "another script": holds(lambda v: isinstance(v, str) and "你" in v),
    "joined emoji": holds(lambda v: isinstance(v, str) and "\u200d" in v),
    "NUL": holds(lambda v: isinstance(v, str) and "\x00" in v),
    "a lone surrogate": holds(lambda v: isinstance(v, str) and "\ud83d" in v),
    "an integer over 64 bits": holds(lambda v: type(v) is int and abs(v) >= 2**64),
    "a float": holds(lambda v: type(v) is float and v != int(v)),
    "minus zero": holds(lambda v: type(v) is float and str(v) == "-0.0"),
    "a boolean": holds(lambda v: v is True),
    "null": holds(lambda v: v is None),
    "nesting": holds(lambda v: isinstance(v, list) and any(isinstance(item, list) and item for item in v)),
}


def test_messages_come_in_every_shape() -> None:
    find_each(messages(), PROMISED, 5_000)


def test_messages_are_narrowed() -> None:
    narrow = messages(ids=st.just("x"), roles=st.just("critic"))
    with pytest.raises(NoSuchExample):
        find(narrow, lambda m: (m["id"], m["role"]) != ("x", "critic"), settings=settings(QUICK, max_examples=100))


@given(conversations())
def test_conversations_can_be_inserted_in_order(conversation: list[tuple[Message, str | None]]) -> None:
    seen: set[str] = set()
    for message, parent_id in conversation:
        assert parent_id is None or parent_id in seen
        assert message["id"] not in seen
        seen.add(message["id"])
    with Sessions() as store:
        session = store.session()
        for message, parent_id in conversation:
            session.append_message(message, parent_id=parent_id)
        assert {info.id: info.parent_id for info in session.tree()} == {m["id"]: p for m, p in conversation}


CONVERSATIONS: dict[str, Callable[[list[str | None]], bool]] = {
    "none": lambda parents: not parents,
    "two roots": lambda parents: parents.count(None) > 1,
    "a branch": lambda parents: any(p is not None and parents.count(p) > 1 for p in parents),
    "a line": lambda parents: len(parents) > 3 and len(set(parents)) == len(parents),
}


def test_conversations_come_in_every_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strategies, "_message", lambda draw, message_id, roles: {"id": message_id})  # a quarter of it
    find_each(conversations().map(lambda drawn: [parent for _, parent in drawn]), CONVERSATIONS, 2_000)


# -- writes -------------------------------------------------------------------------------------------------------


def test_every_kind_of_write_is_drawn_and_exported() -> None:
    kinds = {value for value in vars(testing).values() if isinstance(value, type) and issubclass(value, Write)}
    assert kinds - {Write} == set(write_kinds())

    def holds_one(kind: type[Write]) -> Callable[[list[Write]], bool]:
        return lambda history: any(type(write) is kind for write in history)

    find_each(writes(), {kind.__name__: holds_one(kind) for kind in write_kinds()}, 2_000)


@given(st.lists(st.one_of(*write_kinds().values()), max_size=8), st.data())
def test_writes_never_fail_wherever_they_are_applied(history: list[Write], data: st.DataObject) -> None:
    """Also when some of the history is left out, on an empty session, and on one that others wrote to."""
    with Sessions() as store:
        for name in ("one", "two"):
            for write in history:
                if data.draw(st.booleans()):
                    write.apply(store.session(name))


@given(writes(min_size=1))
def test_writes_are_frozen_values_with_a_repr(history: list[Write]) -> None:
    namespace = {name: getattr(testing, name) for name in testing.__all__}
    for write in history:
        fields = attrs.fields(cast(Any, type(write)))
        assert repr(write).startswith(f"{type(write).__name__}(")
        assert all(f"{field.name}=" in repr(write) for field in fields)
        for field in fields:
            with pytest.raises(attrs.exceptions.FrozenInstanceError):
                setattr(write, field.name, None)
    assert namespace
