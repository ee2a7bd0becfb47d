"""Values in, the same values out: whatever JSON can hold comes back to the last digit, all else is refused by place."""

from __future__ import annotations

import json
import sys
from collections import ChainMap, OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventstore import NotSerializable, Session, Sessions, codec, strict
from eventstore.testing.values import json_values, objects, texts
from tests.unit.talk import canonical, message

HALF, OTHER_HALF = "\ud83d", "\ude00"


@pytest.fixture
def place() -> str:
    """What a value is doesn't hang on where it goes."""
    return ":memory:"


def nested(depth: int, innermost: Any = 1) -> Any:
    value = innermost
    for level in range(depth):
        value = [value] if level % 2 else {"in": value}
    return value


def at_depth(frames: int, call: Callable[[], Any]) -> Any:
    """`call()` from so many frames further down the stack."""
    return call() if frames <= 0 else at_depth(frames - 1, call)


def frames_used() -> int:
    depth, frame = 0, sys._getframe()
    while (up := frame.f_back) is not None:
        depth, frame = depth + 1, up
    return depth


# ---- what JSON can hold


@given(json_values() | objects() | st.lists(texts()))
def test_every_json_value_comes_back_equal(value: Any) -> None:
    encoded = codec.encode(value)
    assert canonical(encoded.value) == canonical(value)
    assert canonical(codec.decode(encoded.text, encoded.flags)) == canonical(value)
    assert encoded.size == len(encoded.text.encode())  # and so it is UTF-8


@given(json_values())
def test_the_strict_way_gives_the_text_of_the_fast_way(value: Any) -> None:
    """A value has one text, whatever stands beside it: else an equal update would count as a change."""
    fast = codec.encode([value])
    assert strict.encode([value]) == fast.text
    assert strict.encode((value,)) == fast.text
    assert canonical(json.loads(fast.text)) == canonical([value])


ODD_VALUES: tuple[Any, ...] = (
    [1, 1.0, True, 0, 0.0, -0.0, False, None],
    [2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64, 2**53 + 1],
    [10**4299, 10**4300, -(10**5000), 7**9000, 10**600, 10**600 - 1, -(10**599)],
    [1e16, 1e-7, 5e-324, 1.7976931348623157e308, 0.1 + 0.2, 1e22, 123456789.125],
    [HALF, OTHER_HALF, OTHER_HALF + HALF, f"a{HALF} b", HALF * 3, f"{OTHER_HALF}x{HALF}"],
    [HALF + OTHER_HALF, f"{HALF}{HALF}{OTHER_HALF}{OTHER_HALF}"],
    {HALF: 1, OTHER_HALF: 2, f"k{HALF}": {HALF: [HALF]}, HALF + OTHER_HALF: 3},
    ["\x00", "a\x00b", "\\u0000", "\\\\u0000", "\\ud83d", f"{HALF}\\ude00", "\x7f\x85\u2028\ufeff\ufffe"],
    {"": "", " ": 1, "\n": 2, '"': 3, "\\": 4},
    [[], {}, [[]], [{}], {"a": []}],
    {"b": 1, "a": 2, "c": 3},
    ["e\u0301", "é", "👩‍👩‍👧‍👦", "🇩🇪"],
    {"loss": None, "providerExecuted": None},
    [HALF, 1e16, 1e-7, -0.0, 2**70],
)


def test_odd_values_come_back_equal_from_a_file(path: Path) -> None:
    given_messages = [message(f"m{n}", value=value, metadata={"value": value}) for n, value in enumerate(ODD_VALUES)]
    with Sessions(path, durability="normal") as sessions:
        session = sessions.session()
        for given_message in given_messages:
            assert canonical(session.append_message(given_message).message) == canonical(given_message)
            assert canonical(session.get_message(given_message["id"])) == canonical(given_message)
            session.set_metadata({"value": given_message["metadata"]})
            assert canonical(session.get_metadata()) == canonical({"value": given_message["metadata"]})
        assert canonical(session.get_history()) == canonical(given_messages)
    with Sessions(path) as sessions:
        assert canonical(sessions.session().get_history()) == canonical(given_messages)
        assert sessions.verify().ok


def test_a_nul_and_the_spelling_of_one_are_two_texts(session: Session) -> None:
    session.append_messages([message("real", "a\x00b"), message("spelt", "a\\u0000b")])
    assert [part["text"] for found in session.get_history() for part in found["parts"]] == ["a\x00b", "a\\u0000b"]


def test_a_key_of_null_and_no_such_key_are_two_messages(session: Session) -> None:
    given, without = message("a", providerExecuted=None), message("a")
    session.append_message(given)
    for each in (without, given):
        seq = session.sessions.latest_seq
        session.update_message(each)
        assert session.sessions.latest_seq > seq, "it is a change"
        assert canonical(session.get_message("a")) == canonical(each)


def test_tuples_and_foreign_mappings_are_arrays_and_objects(session: Session) -> None:
    ordered = OrderedDict(b=1, a=2)
    ordered.move_to_end("b")
    values: dict[str, Any] = {
        "tuple": (1, (2, ())),
        "proxy": MappingProxyType({"b": 1, "a": MappingProxyType({})}),
        "chain": ChainMap({"a": 1}),
        "default": defaultdict(list, {"k": [1]}),
        "ordered": ordered,  # has an order of its own
    }
    expected = {
        "tuple": [1, [2, []]],
        "proxy": {"b": 1, "a": {}},
        "chain": {"a": 1},
        "default": {"k": [1]},
        "ordered": {"a": 2, "b": 1},
    }
    whole = MappingProxyType({**message("a"), "parts": ({"type": "x", **values},)})
    result = session.append_message(whole)
    assert canonical(result.message) == canonical({**message("a"), "parts": [{"type": "x", **expected}]})
    session.set_metadata(MappingProxyType(values))
    assert canonical(session.get_metadata()) == canonical(expected)


def test_an_ordered_dict_has_an_order_of_its_own(session: Session) -> None:
    moved = OrderedDict(b=1, a=2)
    moved.move_to_end("b")
    session.append_message(message("a", moved=moved, inside=[{"moved": moved}]))
    assert canonical(session.get_message("a")) == canonical(message("a", moved=moved, inside=[{"moved": moved}]))


def test_the_same_value_in_other_types_is_an_equal_message(sessions: Sessions, session: Session) -> None:
    session.append_message(message("a", list=[1e16, 1e-7], map={"k": 1}))
    assert session.update_message(message("a", list=(1e16, 1e-7), map=MappingProxyType({"k": 1}))) is not None
    assert sessions.latest_seq == 1
    for changed in ([1e16, 1e-7, 1], [1e16, True], [1e16, 1.0], [-0.0], [0.0], [0], [False]):
        before = sessions.latest_seq
        session.update_message(message("a", list=changed, map={"k": 1}))
        assert sessions.latest_seq == before + 1
        assert canonical(session.get_history()[0]) == canonical(message("a", list=changed, map={"k": 1}))


def test_the_order_of_keys_is_part_of_a_message(sessions: Sessions, session: Session) -> None:
    session.append_message(message("a", x=1, y=2))
    session.update_message(message("a", y=2, x=1))
    assert sessions.latest_seq == 2
    assert list(session.get_history()[0])[-2:] == ["y", "x"]


def test_what_is_returned_is_nobodys_own(session: Session) -> None:
    given_message = message("a", list=[1])
    returned: Any = session.append_message(given_message).message
    updated: Any = session.update_message(message("a", list=[2]))
    for spoilt in (given_message, returned, updated, session.get_message("a"), session.get_history()[0]):
        spoilt["list"].append("spoilt")  # type: ignore[index, typeddict-item]
    assert canonical(session.get_message("a")) == canonical(message("a", list=[2]))


# ---- sizes


@pytest.mark.parametrize(
    ("extra", "size"),
    [
        ("", 0),
        ("abc", 3),
        ("é", 2),
        ("你好", 6),
        ("👍", 4),
        (HALF + OTHER_HALF, 4),
        (HALF, 6),  # escaped: \ud83d
        ("\x00", 6),
        ('\n\t"\\', 8),
        ("\x7f", 1),
        ("\u2028", 3),
        ("</script>", 9),
    ],
)
def test_bytes_are_the_utf8_length_of_compact_json(session: Session, extra: str, size: int) -> None:
    session.append_message({"id": "a", "role": "user", "parts": [{"type": "text", "text": extra}]})
    info = session.get_message_info("a")
    assert info is not None
    assert info.bytes == len('{"id":"a","role":"user","parts":[{"type":"text","text":""}]}') + size


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner), max_leaves=20)
)
def test_bytes_are_what_json_dumps_says(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert codec.encode(value).size == len(text.encode())
    assert codec.encode(value).text == text


# ---- depth


def test_nesting_of_400_comes_back_and_of_600_is_refused(session: Session) -> None:
    deep = message("a", deep=nested(400), other=nested(400, HALF))
    assert canonical(session.append_message(deep).message) == canonical(deep)
    assert canonical(session.get_message("a")) == canonical(deep)
    for innermost in (1, HALF, 2**70):
        with pytest.raises(NotSerializable, match="nested deeper") as caught:
            session.append_message(message("b", deep=nested(600, innermost)))
        assert caught.value.place.startswith("deep")
    assert session.get_message("b") is None


@given(st.integers(0, 700))
def test_the_limit_of_depth_is_one_number(depth: int) -> None:
    for value in (nested(depth), nested(depth, HALF), nested(max(depth - 1, 0), (1,))):
        if depth <= strict.MAX_DEPTH:
            assert canonical(codec.encode(value).value) == canonical(value)
        else:
            with pytest.raises(NotSerializable):
                codec.encode(value)


def test_a_value_in_itself_is_refused(session: Session) -> None:
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(NotSerializable, match="nested deeper"):
        session.append_message(message("a", circle=circle))


@pytest.mark.parametrize("left", [450, 300, 150, 100])
def test_depth_is_the_same_far_down_a_callers_stack(sessions: Sessions, session: Session, left: int) -> None:
    """A caller with few frames left gets the same answers, on writes, reads and in listeners."""
    frames = sys.getrecursionlimit() - frames_used() - left
    heard: list[Any] = []
    sessions.subscribe(lambda event: heard.append(event))
    sessions.subscribe(lambda event: heard.append(event))
    for number, innermost in enumerate((1, HALF, 10**5000)):
        deep = message(f"m{number}", deep=nested(400, innermost))
        result = at_depth(frames, lambda deep=deep: session.append_message(deep))  # type: ignore[misc]
        assert canonical(result.message) == canonical(deep)
        assert canonical(at_depth(frames, session.get_history)[-1]) == canonical(deep)
        assert canonical(heard[-1].message) == canonical(heard[-2].message) == canonical(deep)
        with pytest.raises(NotSerializable):
            at_depth(frames, lambda value=innermost: session.append_message(message("no", deep=nested(600, value))))  # type: ignore[misc]


# ---- shapes


@pytest.mark.parametrize("word", [" ", "0", "a\x00b", "ключ", "👍🏽", "x" * 10_000, "%", "'", "compaction", "\n"])
def test_any_other_text_is_an_id_a_role_and_a_type(session: Session, word: str) -> None:
    given_message = {"id": word, "role": word, "parts": [{"type": word}, {"type": ""}]}
    session.append_message(given_message)
    assert canonical(session.get_message(word)) == canonical(given_message)
    info = session.get_message_info(word)
    assert info is not None
    assert (info.id, info.role) == (word, word)


class Lazy(Mapping[str, Any]):
    """A mapping that makes its items as they are asked for."""

    def __init__(self, made: dict[str, Callable[[], Any]]) -> None:
        self._made = made

    def __getitem__(self, key: str) -> Any:
        return self._made[key]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


def test_a_part_may_be_any_mapping(session: Session) -> None:
    part = Lazy({"type": lambda: "text", "text": lambda: Lazy({"lazy": lambda: [1]})})
    session.append_message(Lazy({"id": lambda: "a", "role": lambda: "user", "parts": lambda: (part,)}))
    expected = {"id": "a", "role": "user", "parts": [{"type": "text", "text": {"lazy": [1]}}]}
    assert canonical(session.get_message("a")) == canonical(expected)
