"""Files that are damaged: refused, or found out by `verify()`, and never taken for a part of what they were."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path
from unittest import mock

import pytest

from eventstore import (
    DamagedStore,
    NotAStore,
    Sessions,
    copying,
)
from tests.unit.files import patch, refused
from tests.unit.talk import ids, message


def test_a_damaged_header_is_no_store(store: Path) -> None:
    patch(store, 16, b"\x00\x07")  # no page has seven bytes
    before = store.read_bytes()
    refused(store, NotAStore, read_only=True)
    with pytest.raises(NotAStore):
        Sessions(store)
    assert store.read_bytes() == before


@pytest.mark.parametrize("length", [1, 15, 16, 50, 99, 100, 1_000, 2_047, 2_048, 4_097, -2_048, -1])
def test_a_truncated_file_is_refused_or_found_damaged(store: Path, length: int) -> None:
    """At the latest when what is missing is asked for; never with a part of a conversation taken for the whole."""
    whole = store.read_bytes()
    store.write_bytes(whole[:length])
    with suppress(DamagedStore, NotAStore), Sessions(store) as sessions:
        assert not sessions.verify().ok
    store.write_bytes(whole)
    with Sessions(store) as sessions:
        assert sessions.verify().ok


def test_pages_of_rubbish_are_damage(store: Path) -> None:
    with Sessions(store) as sessions:
        session = sessions.session()
        session.append_messages([message(f"m{n}", "x" * 500) for n in range(200)])
    size = store.stat().st_size
    for offset in range(2_048, size, 2_048):
        patch(store, offset, b"\xa5" * 2_048)
    with pytest.raises(DamagedStore) as caught, Sessions(store) as sessions:
        sessions.session().get_history()
    assert "verify()" in str(caught.value)
    assert "recover()" in str(caught.value)


def test_verify_says_each_thing_once(store: Path) -> None:
    with Sessions(store) as sessions:
        sessions.session().append_messages([message(f"m{n}", "x" * 500) for n in range(200)])
    whole = store.read_bytes()
    told = 0
    for offset in range(20 * 2_048, len(whole), 40 * 2_048):
        store.write_bytes(whole[:offset] + b"\xff" * 2_048 + whole[offset + 2_048 :])
        with suppress(DamagedStore), Sessions(store, read_only=True) as sessions:
            problems = sessions.verify().problems
            assert len(set(problems)) == len(problems)
            told += any("can't be read" in problem for problem in problems)
    assert told


def test_a_rotten_byte_of_a_body_is_found_by_verify(path: Path) -> None:
    with Sessions(path) as sessions:
        sessions.session().append_message(message("a", "the words of a message"))
    whole = path.read_bytes()
    patch(path, whole.index(b"words"), b"wards")
    with Sessions(path) as sessions:
        report = sessions.verify()
    assert not report.ok
    assert report.problems == ("event 1: its body doesn't fit its digest",)


def test_a_table_that_does_not_fit_the_log_is_found_by_verify_and_rebuilt(store: Path) -> None:
    theirs = sqlite3.connect(store)
    theirs.execute("update message set bytes = bytes + 1 where seq = 2")
    theirs.execute("delete from identity where seq = 3")
    theirs.commit()
    theirs.close()
    with Sessions(store) as sessions:
        report = sessions.verify()
        assert not report.ok
        assert any("table message" in problem for problem in report.problems)
        assert any("table identity" in problem for problem in report.problems)
        sessions.rebuild()
        assert sessions.verify().ok
        assert ids(sessions.session().get_history()) == ["a", "b", "c"]
        assert sessions.session().get_message("c") == message("c")


@pytest.mark.parametrize("damage", ["SET at = at + 1", "SET at = at - 9", "SET attachment = 3 - attachment"])
def test_an_attachment_in_another_place_is_found_by_verify(path: Path, damage: str) -> None:
    """Digests are of texts without their media: what is put in where is held against the size, and the text around."""
    with Sessions(path) as sessions:
        for message_id, data in (("a", "AAAA" * 400), ("b", "BBBB" * 500)):
            image = {"type": "file", "mediaType": "image/png", "url": f"data:image/png;base64,{data}"}
            sessions.session().append_message({"id": message_id, "role": "user", "parts": [image]})
        assert sessions.verify().ok
    theirs = sqlite3.connect(path)
    theirs.execute(f"UPDATE piece {damage} WHERE event = 1")
    theirs.commit()
    theirs.close()
    with Sessions(path) as sessions:
        assert "event 1: its attachments aren't where they were taken out" in sessions.verify().problems


@pytest.mark.parametrize("kind", [ValueError, TypeError, KeyError, AssertionError])
def test_what_a_callers_function_raises_is_not_taken_for_damage(path: Path, kind: type[Exception]) -> None:
    """Such errors of our own code become `DamagedStore`; those of a hook go on as they are, and nothing is written."""
    failing = False

    def hook(*_given: object) -> int:
        if failing:
            raise kind("of a caller")
        return 1

    with Sessions(path, count_tokens=hook, reserved_metadata_keys=["kept"]) as sessions:
        session = sessions.session()
        session.append_messages([message("a"), message("b")])
        failing = True
        before = sessions.latest_seq
        for call in (
            lambda: session.append_message(message("c")),
            lambda: session.update_message(message("a", "new"), source="client"),
            lambda: session.upsert_message(message("a", "new"), source="client"),
            lambda: session.add_compaction("they met", "a", "b"),
            lambda: sessions.verify(progress=hook),
            lambda: sessions.rebuild(progress=hook),
            lambda: session.copy_to(sessions.session("other"), progress=hook),
        ):
            with mock.patch.object(copying, "REPORT_EVERY", 1), pytest.raises(kind, match="of a caller") as caught:
                call()
            assert type(caught.value) is kind
        failing = False
        assert sessions.latest_seq == before
        assert sessions.verify(progress=hook).ok
