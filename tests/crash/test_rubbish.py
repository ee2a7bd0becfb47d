"""Rotten files: right answers or our own errors, in bounded time; and `verify()` knows where an answer is wrong.

`python -m tests.soak rubbish` takes thousands of seeds.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from eventstore import EventStoreError, NotAStore, Sessions
from tests.crash import rubbish
from tests.crash.rubbish import KINDS

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork: a crash must not end the tests"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "whole.db"
    rubbish.make_whole(path)
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_a_rotten_file(whole: Path, tmp_path: Path, kind: str) -> None:
    assert rubbish.check_files(whole, tmp_path, [(kind, seed) for seed in range(4)]) == []


FOREIGN = {
    "empty lines": b"\n" * 4_096,
    "a picture": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20,
    "a zip": b"PK\x03\x04" + bytes(5_000),
    "text": b"Dear Sir or Madam. " * 300,
    "JSON": b'{"title": "a chat", "mapping": {}}' * 100,
    "half a header": b"SQLite format 3\0" + bytes(50),
    "a header alone": b"SQLite format 3\0" + bytes(4_080),
    "a pointer of Git LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12345\n",
}


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("read_only", [False, True])
def test_files_of_another_kind_are_refused_untouched(tmp_path: Path, name: str, read_only: bool) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(FOREIGN[name])
    with pytest.raises(EventStoreError) as caught:
        Sessions(path, read_only=read_only)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == FOREIGN[name]
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("wal", [False, True])
def test_databases_of_other_programs_are_refused_untouched(tmp_path: Path, wal: bool) -> None:
    path = tmp_path / "store.db"
    theirs = sqlite3.connect(path)
    theirs.execute(f"PRAGMA journal_mode = {'wal' if wal else 'delete'}")
    for table in ("event", "message", "setting"):  # named as ours are
        theirs.execute(f"CREATE TABLE {table} (seq INTEGER PRIMARY KEY, name TEXT)")
    theirs.commit()
    theirs.close()
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(NotAStore):
            Sessions(path, read_only=read_only)
    assert path.read_bytes() == before
