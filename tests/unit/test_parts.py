"""The rows of messages of an id, a role and parts: they hold the parts alone, since their columns say the rest."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventstore import Message, Sessions, codec, parts, schema
from eventstore.testing import json_text, messages
from tests.golden.make import HERE
from tests.laws.support import reads
from tests.unit.files import everything
from tests.unit.talk import message

ID = "an-id-that-nothing-else-holds"


def column(path: Path, what: str) -> list[Any]:
    """A column of the file's log."""
    with closing(apsw.Connection(str(path))) as connection:
        return [value for (value,) in connection.execute(f"SELECT {what} FROM event ORDER BY seq")]


@given(each=messages())
def test_what_is_left_out_comes_back(each: Message) -> None:
    text = codec.encode(each).text
    flags, row = parts.cut(codec.STRICT, text, each["id"], each["role"], each)
    assert parts.whole(flags, row, each["id"], each["role"]) == text
    is_escaped = any(json_text(word) != f'"{word}"' for word in (each["id"], each["role"]))
    is_plain = [*each] == ["id", "role", "parts"] and not is_escaped
    assert flags == codec.STRICT | (parts.PARTS if is_plain else 0)
    if is_plain:
        assert json_text(codec.decode(row, flags)) == json_text(each["parts"])


def test_the_row_of_an_event_without_an_id_is_whole() -> None:
    text = codec.encode(message("None")).text
    assert parts.cut(0, text, None, "user", message("None")) == (0, text)


@given(given=st.lists(messages(), min_size=1, max_size=5))
def test_many_are_cut_as_one_by_one(given: list[Message]) -> None:
    texts = [codec.encode(each).text for each in given]
    ids, roles, flags = [each["id"] for each in given], [each["role"] for each in given], range(len(given))
    cut = parts.cut_each(flags, texts, ids, roles, given)
    assert [*zip(*cut, strict=True)] == [*map(parts.cut, flags, texts, ids, roles, given)]


@pytest.mark.parametrize("together", [False, True], ids=["one", "a batch"])
def test_the_file_holds_an_id_once(path: Path, together: bool) -> None:
    with Sessions(path) as sessions:
        session = sessions.session()
        if together:
            session.append_messages([message(ID), message("b")])
        else:
            session.append_message(message(ID))
    assert path.read_bytes().count(ID.encode()) == 1
    assert column(path, "flags") == [parts.PARTS] * (1 + together)


ODD_ONES = {
    "other keys first": {"role": "user", "id": "a", "parts": []},
    "a key between": {"id": "a", "x": 1, "role": "user", "parts": []},
    "a key more": {"id": "a", "role": "user", "parts": [], "metadata": {"n": [1]}},
    "an id that JSON escapes": {"id": 'a"\\', "role": "user", "parts": []},
    "a role that JSON escapes": {"id": "a", "role": "\n", "parts": []},
}


@pytest.mark.parametrize("odd", ODD_ONES.values(), ids=ODD_ONES)
def test_a_message_that_begins_otherwise_is_kept_whole(path: Path, odd: Message) -> None:
    with Sessions(path) as sessions:
        sessions.session("one").append_message(odd)
        sessions.session("many").append_messages([message("b"), odd])
        for name in ("one", "many"):
            assert json_text(sessions.session(name).get_history()[-1]) == json_text(odd)
        assert sessions.verify().ok
    assert column(path, "flags") == [0, parts.PARTS, 0]
    assert column(path, "body")[0] == orjson.dumps(odd).decode()


@pytest.mark.parametrize("change", ["id = 'm2'", "role = 'system'", "flags = 0", "body = replace(body, 'one', 'two')"])
def test_verify_covers_what_is_left_out(path: Path, change: str) -> None:
    with Sessions(path) as sessions:
        sessions.session().append_message(message("m1", "one"))
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute(f"UPDATE event SET {change}")
    with Sessions(path) as sessions:
        assert "event 1: its body doesn't fit its digest" in sessions.verify().problems


# ---- files of version 1, which keep every text whole


@pytest.fixture(params=["v1-current", "v1-all"])
def older(request: pytest.FixtureRequest, path: Path) -> Path:
    """A store of version 1."""
    shutil.copy(HERE / f"{request.param}.db", path)
    assert version(path) == 1
    return path


def version(path: Path) -> int:
    """The format of a file."""
    return int.from_bytes(path.read_bytes()[60:64], "big")


def test_an_older_file_is_read_as_it_is(older: Path) -> None:
    before = everything(older.parent)
    with Sessions(older, read_only=True) as sessions:
        assert sessions.session("branches").get_history()
        assert sessions.verify().ok
    assert everything(older.parent) == before


def test_an_older_file_is_one_of_today_once_it_is_opened_to_write(older: Path) -> None:
    with Sessions(older) as sessions:
        before = reads(sessions)
        sessions.scavenge(vacuum=True)
        assert reads(sessions) == before
        sessions.session("branches").append_message(message(ID))
        sessions.session("branches").delete_messages([ID])
        assert sessions.verify().ok
    assert version(older) == schema.VERSION
