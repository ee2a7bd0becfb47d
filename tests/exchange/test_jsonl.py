"""Our own JSON Lines: an import reads back an equal session, and a file is told by its content."""

from __future__ import annotations

import io
import re
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventstore import AsyncSessions, ImportReport, InvalidArgument, Sessions, strict
from eventstore.exchange import InvalidExport, chatgpt, files, format_of, jsonl
from eventstore.testing import Write, json_text, writes
from tests.exchange.exports import deep, exported, heard, message, same, stored
from tests.exchange.reads import reads

SAMPLES = Path(__file__).parent / "samples"


@given(writes(max_size=16), st.sampled_from(("current", "all")), st.sampled_from(("current", "all")))
def test_what_is_imported_is_equal_and_the_second_import_writes_nothing(
    folder: Path, history: list[Write], retain: Any, retain_there: Any
) -> None:
    with Sessions(retain=retain) as here, Sessions(retain=retain_there) as there:
        for write in history:
            write.apply(here.session("x"))
        stored(there, folder, exported(here))
        assert same(here.session("x"), there.session("x"))
        assert [info.session_id for info in there.list_sessions()] == [info.session_id for info in here.list_sessions()]
        assert there.verify().ok
        seq, events = there.latest_seq, heard(there)
        stored(there, folder, exported(here))
        assert (there.latest_seq, events) == (seq, [])
        with Sessions() as third:
            stored(third, folder, exported(there))
            assert same(here.session("x"), third.session("x"))


def with_numbered_overlays(text: str) -> str:
    """The ids of overlays, which are random, as numbers in the order of their coming."""
    numbers: dict[str, int] = {}
    return re.sub(r"compaction_[0-9a-f]{32}", lambda m: f"compaction_{numbers.setdefault(m[0], len(numbers))}", text)


@given(writes(max_size=8), writes(max_size=8))
def test_what_is_written_after_an_import_is_what_would_have_been(
    folder: Path, history: list[Write], later: list[Write]
) -> None:
    """Equal sessions stay equal: what no read shows (where deleted messages stood) came along too."""
    with Sessions() as here, Sessions() as there:
        for write in history:
            write.apply(here.session())
        stored(there, folder, exported(here))
        for write in later:
            write.apply(here.session())
            write.apply(there.session())
        one, other = reads(here.session()), reads(there.session())
        for key in ("tree", "infos", "leaves", "row stats"):  # these hold the times of what was written just now
            one.pop(key), other.pop(key)
        assert with_numbered_overlays(json_text(one)) == with_numbered_overlays(json_text(other))


def test_times_deltas_and_large_bodies_come_along(sessions: Sessions, tmp_path: Path) -> None:
    long_ago = datetime(1999, 12, 31, 23, 59, 59, 123456, tzinfo=UTC)
    session = sessions.session("odd ‹name› \0")
    session.import_message(message("old"), parent_id=None, created_at=long_ago)
    session.append_message(message("grown", "word " * 1000))
    for count in range(1001, 1020):
        session.update_message(message("grown", "word " * count))
    session.append_message(message("large", "é" * 900_000))
    with Sessions() as there:
        [(name, report)] = stored(there, tmp_path, exported(sessions))
        assert (name, report) == (session.session_id, ImportReport(3, 0))
        assert same(session, there.session(name))
        info = there.session(name).get_message_info("old")
        assert info is not None
        assert info.created_at == info.updated_at == long_ago


ODD = [
    10**1000,
    -(10**5000),
    2**64,
    -0.0,
    1e16,
    5e-324,
    True,
    None,
    "cut in half: \ud83d",
    "a\0b\x1b[31m\u2028\x85",
    deep(400),
    {"body": {"body": 1}, "": {"\ud83d": []}},
    '"body":1}',
]


@pytest.mark.parametrize("value", ODD, ids=lambda value: type(value).__name__)
def test_odd_values_come_through_to_the_last_digit(sessions: Sessions, tmp_path: Path, value: Any) -> None:
    session = sessions.session()
    session.append_message({**message("m\0"), "metadata": {"odd": value, "body": value}})
    session.set_metadata({"odd": value})
    data = exported(sessions)
    assert data.count(b"\n") == 4
    with Sessions() as there:
        stored(there, tmp_path, data)
        assert strict.encode(there.session().get_history()) == strict.encode(session.get_history())
        assert strict.encode(there.session().get_metadata()) == strict.encode(session.get_metadata())
        assert exported(there).splitlines()[1] == data.splitlines()[1]


def test_nothing_replaced_or_deleted_is_in_an_export(tmp_path: Path) -> None:
    with Sessions(tmp_path / "all.db", retain="all") as here:
        session = here.session()
        session.append_messages([message("a", "a first thought"), message("b", "a secret")])
        session.update_message(message("a", "a second thought"))
        session.set_metadata({"title": "an old title"})
        session.set_metadata({"title": "a new title"})
        session.delete_messages(["b"])
        session.append_message(message("c", "cleared"))
        data = exported(here)
        assert b"a second thought" in data
        assert b"a new title" in data
        for gone in (b"a first thought", b"a secret", b"an old title"):
            assert gone not in data
        with Sessions(retain="all") as there:
            session.copy_to(there.session())
            assert exported(there).count(b"secret") == 0
        session.clear_messages()
        assert b"cleared" not in exported(here)


def test_sessions_are_listed_as_they_were(sessions: Sessions, tmp_path: Path) -> None:
    for name in ("first", "", "empty", "described", "deleted"):
        sessions.session(name).append_message(message("m"))
    sessions.session("empty").clear_messages()
    sessions.session("described").clear_messages()
    sessions.session("described").set_metadata({"title": "Nothing left"})
    sessions.delete_session("deleted")
    with Sessions() as there:
        stored(there, tmp_path, exported(sessions))
        listed = [info.session_id for info in sessions.list_sessions()]
        assert [info.session_id for info in there.list_sessions()] == listed == ["described", "empty", "", "first"]
        assert all(same(sessions.session(name), there.session(name)) for name in listed)


def test_only_the_named_sessions_are_exported(sessions: Sessions, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        sessions.session(name).append_message(message("m"))
    with Sessions() as there:
        assert [name for name, _ in stored(there, tmp_path, exported(sessions, "b", "a", "b"))] == ["b", "a"]
    sessions.delete_session("a")
    for name in ("nowhere", "a"):
        file = io.BytesIO()
        with pytest.raises(InvalidArgument, match=name):
            jsonl.export(sessions, ["b", name], file)
        assert file.getvalue() == b""


def test_memory_holds_a_part_of_the_session_at_a_time(tmp_path: Path) -> None:
    with Sessions(tmp_path / "here.db") as here, Sessions(tmp_path / "there.db") as there:
        text = "x" * 10_000
        here.session().append_messages(message(f"m{number}", text) for number in range(1_500))
        path = tmp_path / "export.jsonl"
        tracemalloc.start()
        try:
            with path.open("wb") as file:
                jsonl.export(here, None, file)
            list(jsonl.import_file(there, path))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert path.stat().st_size > 15_000_000
        assert peak < 12_000_000
        assert there.session().info().messages == 1_500


def test_progress_is_told(sessions: Sessions, tmp_path: Path) -> None:
    sessions.session().append_messages(message(f"m{number}") for number in range(450))
    told: list[tuple[int, int | None]] = []
    path = tmp_path / "export.jsonl"
    with path.open("wb") as file:
        jsonl.export(sessions, None, file, progress=lambda done, total: told.append((done, total)))
    assert told == [(200, 450), (400, 450)]
    told.clear()
    with Sessions() as there:
        list(jsonl.import_file(there, path, progress=lambda done, total: told.append((done, total))))
    size = path.stat().st_size
    assert [total for _, total in told] == [size, size]
    assert 0 < told[0][0] < told[1][0] < size


@pytest.mark.parametrize("failure", [KeyError, OverflowError, TypeError, ValueError, ZeroDivisionError])
@pytest.mark.parametrize("merged", [False, True])
def test_what_progress_raises_comes_out_as_it_is(
    sessions: Sessions, tmp_path: Path, failure: type[Exception], merged: bool
) -> None:
    sessions.session().append_messages(message(f"m{number}") for number in range(450))

    path = tmp_path / "export.jsonl"
    path.write_bytes(exported(sessions))

    def failing(_done: int, _total: int | None) -> None:
        raise failure

    with Sessions() as there:
        if merged:
            there.session().append_message(message("before"))
        before = there.latest_seq
        with pytest.raises(failure) as raised:
            list(jsonl.import_file(there, path, progress=failing))
        assert raised.type is failure
        assert there.latest_seq == before


# ---- any file


def test_a_file_is_told_by_its_content_and_stored(sessions: Sessions, there: Sessions, tmp_path: Path) -> None:
    sessions.session("x").append_message(message("a"))
    ours = tmp_path / "letter.txt"
    ours.write_bytes(exported(sessions))
    assert files.recognise(ours) == "eventstore"
    assert list(files.import_file(there, ours)) == [("x", ImportReport(1, 0))]
    theirs = SAMPLES / "three-conversations.json"
    assert files.recognise(theirs) == "chatgpt"
    assert format_of(theirs) is chatgpt
    told = [(name, report.imported) for name, report in files.import_file(there, theirs)]
    assert told == [(read.session_id, len(read.rows)) for read in chatgpt.read(theirs)]


def test_a_file_of_another_kind_names_the_kinds_that_are_known(there: Sessions, tmp_path: Path) -> None:
    for name, content in (("other", b'{"loglines": []}'), ("empty", b""), ("bytes", b"\x00\x01")):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(InvalidExport, match=r": wanted an export of a known kind \(chatgpt, .*eventstore\)"):
            list(files.import_file(there, path))
    assert there.latest_seq == 0


def test_what_is_no_store_is_refused(sessions: Sessions) -> None:
    sample = SAMPLES / "three-conversations.json"
    wrong: Any
    for wrong in (AsyncSessions(), sessions.session("x"), "chat.db", None):
        for call in (files.import_file, jsonl.import_file, lambda each, _: jsonl.export(each, None, io.BytesIO())):
            with pytest.raises(InvalidArgument, match="a Sessions"):
                list(call(wrong, sample))
    assert sessions.latest_seq == 0


def test_one_name_is_no_list_of_names(sessions: Sessions) -> None:
    for name in ("c", "h"):
        sessions.session(name).append_message(message("m1"))
    wrong: Any
    for wrong in ("ch", b"ch", 3, True, sessions):
        with pytest.raises(InvalidArgument, match="a list of sessions' names"):
            jsonl.export(sessions, wrong, io.BytesIO())
    for wrong in ([3], [None], [["c"]], ["c", b"h"]):
        with pytest.raises(InvalidArgument, match="a session is named by a string"):
            jsonl.export(sessions, wrong, io.BytesIO())


def test_a_file_that_takes_no_bytes_is_no_damage_of_the_store(sessions: Sessions, tmp_path: Path) -> None:
    sessions.session().append_message(message("m1"))
    wrong: Any
    for wrong in ("out.jsonl", tmp_path / "out.jsonl", None, io.StringIO()):
        with pytest.raises(InvalidArgument, match="open for writing bytes"):
            jsonl.export(sessions, None, wrong)
    closed = io.BytesIO()
    closed.close()
    with pytest.raises(ValueError, match="closed file"):
        jsonl.export(sessions, None, closed)
