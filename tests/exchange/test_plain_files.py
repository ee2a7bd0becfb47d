"""Paths that a caller names: what can't be read is told in our words, and a database is never opened by other means."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from eventstore import CannotOpen, EventStoreError, InvalidArgument, Sessions
from eventstore.exchange import FORMATS, Format, InvalidExport, format_of, jsonl, read
from eventstore.exchange.files import import_file, recognise
from eventstore.testing import check_invariants
from tests.exchange.laws import FOLDER
from tests.processes.running import run

SAMPLE = FOLDER / "three-conversations.json"


@pytest.fixture
def sessions(tmp_path: Path) -> Iterator[Sessions]:
    with Sessions(tmp_path / "store.db") as opened:
        opened.session("mine").append_message({"id": "m", "role": "user", "parts": []})
        yield opened


def _read(format: Format, path: Any) -> object:
    return list(format.read(path))


def calls(sessions: Sessions) -> list[Callable[[Any], object]]:
    """Every call that reads a path."""
    return [
        *(partial(_read, each) for each in FORMATS),
        lambda path: list(jsonl.read(path)),
        lambda path: list(jsonl.import_file(sessions, path)),
        lambda path: list(import_file(sessions, path)),
        lambda path: list(read(path)),
        format_of,
        recognise,
    ]


@pytest.mark.parametrize("name", ["nowhere", "no/folder/file", "store.db/file", "x" * 5_000, "loop"])
def test_what_is_not_there_is_told_with_its_path(sessions: Sessions, tmp_path: Path, name: str) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path in (tmp_path / name, str(tmp_path / name), os.fsencode(tmp_path / name)):
        for call in calls(sessions):
            with pytest.raises(CannotOpen, match=r"there is no such file|it can't be read: ") as caught:
                call(path)
            assert str(caught.value).startswith(f"{tmp_path / name}: ")
            assert isinstance(caught.value, EventStoreError)
    assert sessions.latest_seq == 1


@pytest.mark.parametrize("path", [None, 3, 1.5, True, ["a"], int, "", b"", "a\0b"], ids=repr)
def test_what_is_no_path_is_refused(sessions: Sessions, path: Any) -> None:
    for call in calls(sessions):
        with pytest.raises(InvalidArgument, match="path must"):
            call(path)


def test_a_folder_is_no_file(sessions: Sessions, tmp_path: Path) -> None:
    for call in (format_of, read, jsonl.read):
        with pytest.raises(CannotOpen, match="it is a folder; import_file reads those"):
            list(call(tmp_path))  # type: ignore[arg-type]


def test_a_link_to_an_export_is_the_export(sessions: Sessions, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(SAMPLE)
    (tmp_path / "again").symlink_to("link")
    for call in calls(sessions):
        with suppress(InvalidExport):  # one of another kind
            call(tmp_path / "again")
    assert format_of(tmp_path / "link") == format_of(SAMPLE)
    assert len(list(sessions.list_sessions())) == 3


BESIDE = """
with Sessions(sys.argv[1]) as mine:
    mine.session("theirs").append_message(message("t"))
"""  # the last to close a file empties its WAL, and removes it


def test_a_store_keeps_its_locks_when_the_folder_that_it_lies_in_is_imported(
    sessions: Sessions, tmp_path: Path
) -> None:
    (tmp_path / "conversations.json").write_bytes(SAMPLE.read_bytes())
    for name, target in (("link", "store.db"), ("another", "store.db-shm")):
        (tmp_path / name).symlink_to(tmp_path / target)
    with Sessions(tmp_path / "other.db") as other:
        other.session("other").append_message({"id": "o", "role": "user", "parts": []})
        (nothing, report), *_ = import_file(sessions, tmp_path)
        assert nothing is None
        left_out = {Path(what.split("'")[1]).name: why for what, why in report.skipped}
        assert set(left_out) == {
            f"{name}{end}" for name in ("store.db", "other.db") for end in ("", "-wal", "-shm")
        } | {"link", "another"}
        assert "an SQLite database" in left_out["store.db"]
        assert "beside the database" in left_out["store.db-wal"]
        for store, name in ((sessions, "store.db"), (other, "other.db")):
            run(BESIDE, tmp_path / name)
            assert (tmp_path / f"{name}-wal").exists(), "it was removed from under its store"
            seq = store.session("mine").append_message({"id": "n", "role": "user", "parts": []}).seq
            run("assert Sessions(sys.argv[1]).latest_seq == int(sys.argv[2])", tmp_path / name, seq)
            check_invariants(store)


@pytest.mark.parametrize("end", ["", "-wal", "-shm"])
def test_a_stores_own_files_are_refused_unopened(sessions: Sessions, tmp_path: Path, end: str) -> None:
    for call in calls(sessions):
        with pytest.raises(InvalidExport, match="database"):
            call(tmp_path / f"store.db{end}")
    run(BESIDE, tmp_path / "store.db")
    assert (tmp_path / "store.db-wal").exists()


def test_a_file_that_only_sounds_like_a_databases_is_read(sessions: Sessions, tmp_path: Path) -> None:
    for name in ("chats-wal", "chats-shm"):
        (tmp_path / name).write_bytes(SAMPLE.read_bytes())
        (tmp_path / "chats").write_text("no database")
        assert recognise(tmp_path / name) == "chatgpt"
