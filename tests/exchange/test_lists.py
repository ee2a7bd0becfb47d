"""What lists of messages lie in: arrays, objects around them, lines of either; and what they are called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eventstore import Sessions
from eventstore.exchange import ai_sdk
from eventstore.exchange.assembling import Told
from eventstore.exchange.conversation import InvalidExport, Skipped
from eventstore.exchange.files import import_file
from eventstore.exchange.lists import conversation_metadata, is_lines, read_lists, read_values
from eventstore.exchange.naming import Names
from eventstore.exchange.times import any_time


def is_number(value: Any) -> bool:
    return isinstance(value, int)


LISTS: list[tuple[str, list[tuple[dict[str, Any], list[Any]]]]] = [
    ("[1, 2]", [({}, [1, 2])]),
    ("[\n 1,\n 2\n]\n\n", [({}, [1, 2])]),
    ("1\n2\n", [({}, [1, 2])]),
    ("\n1\n\n2", [({}, [1, 2])]),
    ("[1]\n[2, 3]\n", [({}, [1]), ({}, [2, 3])]),
    ('{"messages": [1], "id": "a"}', [({"id": "a"}, [1])]),
    ('{\n"messages": [\n1], "id": "a"}\n', [({"id": "a"}, [1])]),
    ('[{"messages": [1]}, {"messages": []}]', [({}, [1]), ({}, [])]),
    ('{"messages": [1]}\n{"messages": [2]}', [({}, [1]), ({}, [2])]),
    ('\ufeff{"messages": [1]}\n{"messages": [2]}', [({}, [1]), ({}, [2])]),
    ('7\n{"messages": [1]}\n[2]\n8', [({}, [7, 8]), ({}, [1]), ({}, [2])]),
    ('{"messages": [1]}\n7\n[2]\n8', [({}, [1]), ({}, [7, 8]), ({}, [2])]),
]


@pytest.mark.parametrize(("text", "expected"), LISTS, ids=range(len(LISTS)))
def test_lists(tmp_path: Path, text: str, expected: list[tuple[dict[str, Any], list[Any]]]) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    lists = [(listed, list(listed.messages)) for listed in read_lists(path, "number", is_number)]
    assert [(listed.about, messages) for listed, messages in lists] == expected
    assert not any(listed.skipped for listed, _ in lists)
    digests = [listed.digest for listed, _ in lists]
    assert len(set(digests) - {None}) == len(digests)


def test_what_is_no_list_is_named(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text('1\n{"notes": 2}\n{torn\n"text"\n')
    [(listed, messages)] = [(listed, list(listed.messages)) for listed in read_lists(path, "number", is_number)]
    assert messages == [1]
    assert [what for what, _ in listed.skipped] == ["line 2", "line 3", "line 4"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '"a"', '{"a": 1}\n{"b": 2}\n'], ids=range(5))
def test_a_file_without_any_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(InvalidExport):
        list(read_lists(path, "number", is_number))


def test_a_torn_array_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text('[\n{"role": "user", "parts": []},\n{"role": "us')
    with pytest.raises(InvalidExport, match="line 3"):
        list(ai_sdk.read(path))


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("1", False),
        ("1\n", False),
        ("1\n\n \n", False),
        ("[1,\n2]", False),
        ("{\n}", False),
        ("1\n2", True),
        ("[1]\n[", True),
    ],
)
def test_lines_are_told_from_one_value(tmp_path: Path, text: str, lines: bool) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    assert is_lines(path) is lines


def test_a_first_line_of_any_length(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(json.dumps(["x" * 3_000_000]) + "\n" + "[1]\n")
    assert is_lines(path)
    skipped: list[Skipped] = []
    assert [each.where for each in read_values(path, skipped)] == ["line 1", "line 2"]


def told(*texts: str, role: str = "user") -> list[Told]:
    return [Told(None, role, [], text) for text in texts]


def name(names: Names, given: str | None, told: list[Told]) -> str:
    naming = names.begin(given)
    for each in told:
        naming.hear(each)
    return naming.name()


def test_names() -> None:
    names = Names("x")
    assert name(names, "own", told("A")) == "x:own"
    first = name(names, None, told("A", "B"))
    assert name(names, None, told("A", "B")) == first
    assert name(names, None, told("A", "B", "C")) == first
    assert name(names, None, told("A", "C")) == f"{first}#2"
    assert name(names, None, told("A", "B", "D")) == f"{first}#3"
    assert name(names, None, told("A", "B", "C", "D")) == first
    assert name(names, None, told("B")) != first
    assert name(names, None, []) == "x:unknown"
    assert name(Names("x"), None, told("A", "Z")) == first
    begin = told("Be brief.", role="system")
    assert name(Names("x"), None, [*begin, *told("A", "Z")]) == first
    assert name(Names("x"), None, begin) not in (first, "x:unknown")


def test_metadata_of_a_conversation() -> None:
    about = {
        "id": 1,
        "name": "N",
        "model": "m",
        "createdAt": 1700000000,
        "updated_at": "2024-01-01T00:00:00+02:00",
        "k": None,
    }
    assert conversation_metadata("x", about) == {
        "title": "N",
        "model": "m",
        "created_at": "2023-11-14T22:13:20+00:00",
        "updated_at": "2023-12-31T22:00:00+00:00",
        "x": {"id": 1, "k": None},
    }
    assert conversation_metadata("x", {"title": 5, "model": None}, model="n") == {
        "model": "n",
        "x": {"title": 5, "model": None},
    }
    assert conversation_metadata("x", {}) == {}


@pytest.mark.parametrize(
    "value", [None, True, "soon", 10**400, -(10**400), float("inf"), {}, "9999-99-99"], ids=range(8)
)
def test_what_is_no_time(value: object) -> None:
    assert any_time(value) is None


def test_seconds_and_milliseconds_are_one_time() -> None:
    assert any_time(1700000000) == any_time(1700000000000) == any_time("2023-11-14T22:13:20Z")


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "parts": [{"type": "data-x", "data": 0}]},
        {"kind": "request", "parts": [{"part_kind": "odd", "x": 0}]},
        {"type": "human", "data": {"content": [{"type": "odd", "x": 0}]}},
        {"role": "user", "content": [{"type": "odd", "x": 0}]},
    ],
    ids=range(4),
)
def test_what_is_nested_too_deep_stops_no_other_conversation(tmp_path: Path, message: dict[str, Any]) -> None:
    path = tmp_path / "file"
    whole = json.dumps([{"id": "deep", "messages": [message]}, {"id": "flat", "messages": [message]}])
    path.write_text(whole.replace(" 0}", " " + "[" * 600 + "]" * 600 + "}", 1))
    with Sessions() as sessions:
        (_, lost), (name, stored) = import_file(sessions, path)
        assert (lost.imported, stored.imported) == (0, 1)
        assert "no store can hold it" in lost.skipped[0][1]
        assert [info.session_id for info in sessions.list_sessions()] == [name]
