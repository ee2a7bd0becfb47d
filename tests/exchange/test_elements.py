"""JSON files read one element at a time: the same values as reading them whole, and faults with their lines."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventstore.exchange import elements
from eventstore.exchange.conversation import InvalidExport
from eventstore.exchange.elements import DECODER, Element, decoded, first_keys, read_elements
from tests.exchange.mappings import JSON


def read_in_chunks(path: Path, chunk: int) -> list[Element]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elements, "CHUNK", chunk)
        return list(read_elements(path))


def refusal(path: Path, text: str | bytes) -> InvalidExport:
    """The error that a file of this text gives."""
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(InvalidExport) as caught:
        list(read_elements(path))
    assert caught.value.path == str(path)
    assert str(path) in str(caught.value)
    return caught.value


@given(
    values=st.lists(JSON, max_size=6),
    chunk=st.integers(1, 40),
    indent=st.sampled_from([None, 0, 2]),
    ascii=st.booleans(),
)
def test_any_array_comes_back_element_by_element_whatever_the_chunks(
    folder: Path, values: list[Any], chunk: int, indent: int | None, ascii: bool
) -> None:
    text = json.dumps(values, indent=indent, ensure_ascii=ascii)
    path = folder / "array.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    read = read_in_chunks(path, chunk)
    assert json.dumps([element.value for element in read]) == json.dumps(values)
    lines = [element.line for element in read]
    assert lines == sorted(lines)
    assert all(1 <= line <= text.count("\n") + 1 for line in lines)


NUMBERS = st.integers() | st.integers(2**63 - 2, 2**64 + 2) | st.integers(-(2**64), -(2**63) + 2)


@given(
    st.dictionaries(
        st.text(st.characters(codec=None)), JSON | NUMBERS | st.floats(allow_nan=False, allow_infinity=False)
    )
)
def test_a_line_reads_as_pythons_own_decoder_reads_it(value: dict[str, Any]) -> None:
    """Integers over 64 bits and halves of surrogate pairs too."""
    text = json.dumps(value)
    assert repr(decoded(text.encode())) == repr(json.loads(text))


@given(st.text(st.sampled_from('{}[]":,0123456789.-+eE naulltrue\\'), max_size=30))
def test_a_fault_in_a_line_is_named_by_pythons_own_decoder(text: str) -> None:
    try:
        expected = repr(DECODER.decode(text))
    except ValueError as error:
        with pytest.raises(ValueError, match=re.escape(str(error))):
            decoded(text.encode())
    else:
        assert repr(decoded(text.encode())) == expected


@given(value=JSON.filter(lambda value: not isinstance(value, list)), chunk=st.integers(1, 40))
def test_a_value_alone_is_its_one_element(folder: Path, value: Any, chunk: int) -> None:
    path = folder / "alone.json"
    path.write_text("\n" + json.dumps(value) + "\n")
    [element] = read_in_chunks(path, chunk)
    assert json.dumps(element.value) == json.dumps(value)
    assert element.line == 2


@given(values=st.lists(JSON, min_size=1, max_size=4), data=st.data())
def test_a_torn_array_gives_what_is_whole_and_then_an_error(
    folder: Path, values: list[Any], data: st.DataObject
) -> None:
    text = json.dumps(values, indent=1)
    end = data.draw(st.integers(1, len(text) - 1))
    path = folder / "torn.json"
    path.write_text(text[:end])
    read = read_elements(path)
    whole: list[Any] = []
    with pytest.raises(InvalidExport) as caught:
        whole.extend(element.value for element in read)
    assert caught.value.line is not None
    assert 1 <= caught.value.line <= text[:end].count("\n") + 1


def test_lines_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "lines.json"
    path.write_text('[\n 1,\n {\n "a": 2 },\n\n 3]\n')
    assert [(element.value, element.line) for element in read_elements(path)] == [(1, 2), ({"a": 2}, 3), (3, 6)]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("\n\n", 3),
        ("hello", 1),
        ('[\n{"a": 1},\n{"b": tru', 3),
        ('[\n{"a": 1},\n{"b": "tor', 3),
        ('[\n{"a": 1}\n{"b": 2}]', 3),
        ('[\n{"a": 1}', 2),
        ('{"a": 1}\n{"b": 2}', 2),
        ("[1,\n2]\n]", 3),
        ('[1,\n{"a": NaN}]', 2),
        ("[1,\n-Infinity]", 2),
        ("[1,\n1e999]", 2),
        ("[1,\n" + "9" * 5000 + "]", 2),
        ("[1,\n" + "[" * 100_000, 2),
        (b'[1,\n"\xff"]', 2),
        (b"[1,\n2, \xc3", 2),
        ("[1]".encode("utf-16"), 1),
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path: Path, text: str | bytes, line: int) -> None:
    assert refusal(tmp_path / "faulty.json", text).line == line


def test_values_come_through_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    path.write_bytes(b'\xef\xbb\xbf[12345678901234567890123, "\\ud83d", "\\u0000", "\\\\u0000", -0.0, 1.0]')
    values = [element.value for element in read_elements(path)]
    assert json.dumps(values) == '[12345678901234567890123, "\\ud83d", "\\u0000", "\\\\u0000", -0.0, 1.0]'


def test_memory_holds_one_element_and_not_the_file(tmp_path: Path) -> None:
    path = tmp_path / "long.json"
    with open(path, "w") as file:
        file.write("[")
        for number in range(400):
            file.write(("," if number else "") + json.dumps({"number": number, "text": "x" * 20_000}))
        file.write("]")
    import tracemalloc

    tracemalloc.start()
    for number, element in enumerate(read_elements(path)):
        assert element.value["number"] == number
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6 * elements.CHUNK < path.stat().st_size


@pytest.mark.parametrize(
    ("head", "keys"),
    [
        (b' [ {"a": 1, "b" : {"c": [2]}, "d": "cut o', ["a", "b", "d"]),
        (b'\xef\xbb\xbf{"a": 1}\n{"b": 2}', ["a"]),
        (b'{"a": "\xe2\x82', ["a"]),
        (b'{"a', []),
        (b'{"a"', []),
        (b"{1: 2}", []),
        (b"[1, 2]", []),
        (b"", []),
        (b"\x00\xff", []),
        (b'{"a": ' + b"[" * 60_000, ["a"]),
    ],
)
def test_the_first_keys_of_a_head(head: bytes, keys: list[str]) -> None:
    assert first_keys(head) == keys


@given(st.binary(max_size=60) | st.text('[]{}",:1a\\ \n', max_size=60).map(str.encode))
def test_no_head_is_too_odd(head: bytes) -> None:
    assert all(isinstance(key, str) for key in first_keys(head))
