"""What a store refuses before it writes: values that JSON can't hold, by their place, and messages of another shape."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import functools
import math
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from types import MappingProxyType, SimpleNamespace
from typing import Any

import attrs
import pytest

from eventstore import ImportRow, InvalidArgument, InvalidMessage, NotSerializable, Session, Sessions, UnknownMessage
from tests.unit.talk import chain, message

HALF, OTHER_HALF = "\ud83d", "\ude00"
NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


@pytest.fixture
def place() -> str:
    """What is refused doesn't hang on where it would go."""
    return ":memory:"


class OddError(ValueError):
    """As a caller's code raises it. A bare one of ours would be another."""


class Failing(Mapping[str, Any]):
    """A message that fails at the look of that number. `looks` counts them."""

    def __init__(self, given: Mapping[str, Any], number: int) -> None:
        self.looks = 0
        self._given = given
        self._number = number

    def _look(self) -> Mapping[str, Any]:
        self.looks += 1
        if self.looks == self._number:
            raise OddError
        return self._given

    def __getitem__(self, key: str) -> Any:
        return self._look()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._look())

    def __len__(self) -> int:
        return len(self._look())


CLIENTS_WRITES: dict[str, Callable[[Session, Mapping[str, Any]], object]] = {
    "append": lambda session, given: session.append_message(given, source="client"),
    "update": lambda session, given: session.update_message(given, source="client"),
    "upsert": lambda session, given: session.upsert_message(given, source="client"),
}


@pytest.mark.parametrize("write", CLIENTS_WRITES.values(), ids=CLIENTS_WRITES)
@pytest.mark.parametrize("message_id", ["known", "new"])
def test_what_a_message_raises_as_it_is_read_comes_out_as_it_is(
    message_id: str, write: Callable[[Session, Mapping[str, Any]], object]
) -> None:
    number, failing = 0, None
    while failing is None or failing.looks >= number:
        number += 1
        with Sessions(reserved_metadata_keys=["kept"]) as store:
            store.session().append_message(message("known", metadata={"kept": 1}))
            failing = Failing(message(message_id, "new", metadata={"kept": 2, "mine": 3}), number)
            with suppress(OddError):
                write(store.session(), failing)
            assert failing.looks < number or store.latest_seq == 1
    assert number > 3


# ---- what JSON can't hold


class Colour(enum.Enum):
    RED = "red"


@attrs.frozen
class Point:
    x: int = 0


NOT_JSON: tuple[Any, ...] = (
    math.nan,
    math.inf,
    -math.inf,
    b"bytes",
    bytearray(b"bytes"),
    {1, 2},
    frozenset(),
    dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
    dt.date(2026, 1, 1),
    dt.timedelta(1),
    uuid.UUID(int=1),
    Colour.RED,
    Point(),
    SimpleNamespace(),
    decimal.Decimal("1.5"),
    1j,
    object(),
    len,
    int,
    iter([1]),
    range(3),
    ...,
)


@pytest.mark.parametrize("value", NOT_JSON, ids=lambda value: type(value).__name__)
def test_a_value_that_json_cannot_hold_is_refused_by_its_place(session: Session, value: Any) -> None:
    for given_message, place in (
        (message("a", x=value), "x"),
        (message("a", metadata={"deep": [0, {"when": value}]}), "metadata.deep[1].when"),
        ({"id": "a", "role": "user", "parts": [{"type": "a"}, {"type": "b"}, {"type": "c", "input": {"when": value}}]},
         "parts[2].input.when"),
        (message("a", x=(1, [HALF, value])), "x[1][1]"),
    ):  # fmt: skip
        for write in (session.append_message, session.upsert_message, session.update_message):
            with pytest.raises(NotSerializable) as caught:
                write(given_message)
            assert caught.value.place == place
            assert place in str(caught.value)
            assert isinstance(caught.value, TypeError)
    with pytest.raises(NotSerializable) as caught:
        session.set_metadata({"title": {"x": value}})
    assert caught.value.place == "title.x"
    assert session.sessions.latest_seq == 0


@pytest.mark.parametrize("key", [1, 0, None, True, 1.5, ("a",), b"a", Colour.RED], ids=repr)
def test_a_key_that_is_no_string_is_refused_by_its_place(session: Session, key: Any) -> None:
    for given_message, place in (
        ({**message("a"), key: 1}, f"{key!r}"),
        (message("a", metadata={key: 1}), f"metadata.{key!r}"),
        (message("a", x=[MappingProxyType({key: 1})]), f"x[0].{key!r}"),
    ):
        with pytest.raises(NotSerializable) as caught:
            session.append_message(given_message)
        assert caught.value.place == place
    assert session.sessions.latest_seq == 0


def test_two_keys_that_are_one_text_are_refused(session: Session) -> None:
    """Two halves as a key, and the character that they are: JSON can't tell them apart, so one would be lost."""
    with pytest.raises(NotSerializable, match="two keys") as caught:
        session.append_message(message("a", x={HALF + OTHER_HALF: 1, "😀": 2}))
    assert caught.value.place == "x.😀"


def test_nan_deep_in_a_tools_output_is_named(session: Session) -> None:
    output = {"loss": 1.0, "m": [0.5, math.inf]}
    with pytest.raises(NotSerializable) as caught:
        session.append_message({"id": "a", "role": "assistant", "parts": [{"type": "tool-fit", "output": output}]})
    assert caught.value.place == "parts[0].output.m[1]"


# ---- shapes


NOTHING: list[Any] = []
DEEP_LIST: list[Any] = functools.reduce(lambda inner, _: [inner], range(5_000), NOTHING)
DEEP_OBJECT: Any = {"in": DEEP_LIST}
NOT_IDS: tuple[Any, ...] = ("", None, 1, True, b"a", ["a"], HALF, f"a{HALF}", DEEP_LIST, DEEP_OBJECT)
NOT_PARTS: tuple[Any, ...] = (None, "", "text", {}, {"type": "text"}, 1, {1}, b"", DEEP_OBJECT)
NOT_A_PART: tuple[Any, ...] = (None, "text", 1, [], ["type"], DEEP_LIST, {}, DEEP_OBJECT)
NOT_TYPES: tuple[Any, ...] = (None, 1, ["text"], b"text", DEEP_LIST)
NOT_MESSAGES: tuple[Any, ...] = (
    *(None, 1, "text", b"", [], ["id"], [("id", "a")], object(), DEEP_LIST, DEEP_OBJECT),
    *({}, {"role": "user", "parts": []}, {"id": "a", "parts": []}, {"id": "a", "role": "user"}),
    *({"id": wrong, "role": "user", "parts": []} for wrong in NOT_IDS),
    *({"id": "a", "role": wrong, "parts": []} for wrong in NOT_IDS),
    *({"id": "a", "role": "user", "parts": wrong} for wrong in NOT_PARTS),
    *({"id": "a", "role": "user", "parts": [{"type": "text"}, wrong]} for wrong in NOT_A_PART),
    *({"id": "a", "role": "user", "parts": [{"type": wrong}]} for wrong in NOT_TYPES),
)


def test_a_message_of_the_wrong_shape_is_refused(session: Session) -> None:
    session.append_message(message("known"))
    for value in NOT_MESSAGES:
        for write in (session.append_message, session.upsert_message, session.update_message):
            with pytest.raises(InvalidMessage) as caught:
                write(value)
            assert isinstance(caught.value, ValueError)
            assert len(str(caught.value)) < 500
            assert isinstance(value, Mapping) or "with 'id', 'role' and 'parts'" in str(caught.value)
        with pytest.raises(InvalidMessage):
            session.append_messages([message("b"), value, message("c")])
        with pytest.raises(InvalidMessage):
            session.import_message(value, parent_id=None, created_at=dt.datetime.now(dt.UTC))
    assert session.sessions.latest_seq == 1


@pytest.mark.parametrize("key", ["id", "role", "parts"])
def test_what_a_message_lacks_is_told_from_what_is_wrong_in_it(session: Session, key: str) -> None:
    given = dict(message("a"))
    with pytest.raises(InvalidMessage, match=f"'{key}' must be .*, not None"):
        session.append_message({**given, key: None})
    del given[key]
    with pytest.raises(InvalidMessage, match=f"'{key}' must be .*, and it has none"):
        session.append_message(given)


@pytest.mark.parametrize("given", ["text", b"bytes", 5, None, message("a")], ids=lambda given: type(given).__name__)
def test_messages_that_are_no_list_of_messages_are_refused(session: Session, given: Any) -> None:
    with pytest.raises(InvalidArgument, match="put one message in a list"):
        session.append_messages(given)
    assert session.sessions.latest_seq == 0


@pytest.mark.parametrize("made", [None, "text", 5], ids=repr)
def test_a_prepare_that_makes_no_message_is_named(made: Any) -> None:
    with Sessions(prepare=lambda _: made) as store:
        session = store.session()
        for write in (session.append_message, session.upsert_message, session.update_message):
            with pytest.raises(InvalidMessage, match="prepare must return the message"):
                write(message("a"))
        assert store.latest_seq == 0


# ---- ids and names that no store can hold


def test_an_id_that_cannot_be_is_unknown_wherever_it_is_given(sessions: Sessions, session: Session) -> None:
    chain(session, "a", "b")
    row = ImportRow(message("c"), parent_id=HALF, created_at=NOW)
    for call in (
        lambda: session.append_message(message("c"), parent_id=HALF),
        lambda: session.append_messages([message("c")], parent_id=HALF),
        lambda: session.upsert_message(message("c"), parent_id=HALF),
        lambda: session.import_message(message("c"), parent_id=HALF, created_at=NOW),
        lambda: session.import_messages([row]),
        lambda: session.select_leaf(HALF),
        lambda: session.delete_branch(HALF),
        lambda: session.get_branches(HALF),
        lambda: session.get_latest_leaf(below=HALF),
        lambda: session.get_history_row_stats(leaf_id=HALF),
        lambda: session.token_estimate(leaf_id=HALF),
        lambda: session.history(leaf_id=HALF),
        lambda: session.history(before=HALF),
        lambda: session.get_history(leaf_id=HALF),
        lambda: session.get_recent_history(before=HALF),
    ):
        with pytest.raises(UnknownMessage) as caught:
            call()
        assert caught.value.message_ids in ((HALF,), ("c",))  # of an import: the row that waits
    assert session.get_message(HALF) is None
    assert session.get_message_info(HALF) is None
    assert session.delete_messages([HALF, "nope"]) == []
    assert sessions.latest_seq == 2


@pytest.mark.parametrize("given", [1, 1.5, b"a", ["a"], {"a": 1}, True, int], ids=repr)
def test_ids_of_another_type_are_refused(sessions: Sessions, session: Session, given: Any) -> None:
    chain(session, "a")
    empty, view = sessions.session("empty"), sessions.at(1)
    row = ImportRow(message("c"), parent_id=given, created_at=NOW)
    calls: tuple[Callable[[], object], ...] = (
        *(functools.partial(each.get_message, given) for each in (session, empty, view.session())),
        *(functools.partial(each.get_message_info, given) for each in (session, empty, view.session())),
        *(functools.partial(each.get_latest_leaf, below=given) for each in (session, empty, view.session())),
        lambda: empty.get_history(leaf_id=given),
        lambda: empty.history(before=given),
        lambda: session.append_messages([message("c")], parent_id=given),
        lambda: session.append_messages([message("c")], expected_leaf=given),
        lambda: session.append_messages([], expected_leaf=given),
        lambda: session.import_messages([row]),
        lambda: session.copy_to(empty, leaf_id=given),
        lambda: session.on_compaction(lambda _: None).compact(leaf_id=given),
        lambda: session.add_compaction("s", given, "a"),
        lambda: session.add_compaction("s", "a", given),
        lambda: session.get_history_row_stats(leaf_id=given),
        lambda: session.get_recent_history(leaf_id=given),
        lambda: session.get_recent_history(before=given),
        lambda: session.token_estimate(leaf_id=given),
        lambda: session.history(leaf_id=given),
        lambda: view.session(given),
        lambda: view.list_sessions(prefix=given),
        lambda: session.append_message(message("c"), parent_id=given),
        lambda: session.append_message(message("c"), expected_leaf=given),
        lambda: session.append_message(message("a"), expected_leaf=given),
        lambda: session.append_message(message("compaction_1"), expected_leaf=given),
        lambda: session.upsert_message(message("c"), parent_id=given),
        lambda: session.import_message(message("c"), parent_id=given, created_at=NOW),
        lambda: session.select_leaf(given),
        lambda: session.delete_branch(given),
        lambda: session.delete_messages([given]),
        lambda: session.get_branches(given),
        lambda: session.get_history(leaf_id=given),
        lambda: session.get_history(before=given),
        lambda: sessions.session(given),
        lambda: sessions.delete_session(given),
        lambda: sessions.list_sessions(prefix=given),
    )
    for call in calls:
        with pytest.raises(InvalidArgument, match=f", not .*{re.escape(repr(given))}|; not {re.escape(repr(given))}"):
            call()
    assert sessions.latest_seq == 1
    view.close()


def test_no_id_is_none_where_a_message_is_asked_for(session: Session) -> None:
    """A parent that a root doesn't have, say: `None` for an answer would hide the mistake."""
    chain(session, "a")
    nothing: Any = None
    for call in (session.get_message, session.get_message_info, session.select_leaf, session.delete_branch):
        with pytest.raises(InvalidArgument, match="string, not None"):
            call(nothing)


@pytest.mark.parametrize("given", ["1", 1.5, b"1", [1], True, -1, {}], ids=repr)
def test_a_cursor_is_the_number_of_an_event(sessions: Sessions, session: Session, given: Any) -> None:
    chain(session, "a")
    for each in (sessions, session):
        for call in (each.events, each.tail, functools.partial(each.subscribe, print)):
            with pytest.raises(InvalidArgument, match="after must be an event's seq"):
                call(after=given)
    with pytest.raises(InvalidArgument, match="seq must be the number of an event"):
        sessions.at(given)


def test_one_id_is_no_list_of_ids(session: Session) -> None:
    chain(session, "a")
    with pytest.raises(InvalidArgument, match="put one id in a list"):
        session.delete_messages("a")
    assert session.get_message("a") is not None


def test_a_session_is_named_by_any_text_but_half_a_pair(sessions: Sessions) -> None:
    with pytest.raises(InvalidArgument, match="surrogate"):
        sessions.session(HALF)
    names = ["", " ", "a", "a\x00b", "a\x00c", "ab", "ba", "A", "%", "a_b", "ключ", "👍🏽", "/", "x" * 5_000]
    for name in names:
        sessions.session(name).append_message(message("m"))
        assert sessions.session(name) is sessions.session(name)
    assert [info.session_id for info in sessions.list_sessions()] == names[::-1]
    for prefix in ("", "a", "a\x00", "a\x00b", "A", "%", "a_", "к", "👍", "x" * 5_000, "nope"):
        listed = [info.session_id for info in sessions.list_sessions(prefix=prefix)]
        assert listed == [name for name in names[::-1] if name.startswith(prefix)], prefix
