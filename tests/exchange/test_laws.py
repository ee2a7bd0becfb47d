"""The laws that every importer keeps, over every sample and every real file; see `laws`."""

from __future__ import annotations

import contextlib
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventstore import Message, Sessions
from eventstore.exchange import FORMATS, InvalidExport, format_of, store
from eventstore.exchange.files import import_file
from eventstore.exchange.store import Noted
from tests.exchange.found import found, recorded
from tests.exchange.laws import (
    EARLIER,
    FOLDER,
    REAL,
    REAL_FORMATS,
    SAMPLES,
    Sample,
    check_read,
    check_silent,
    check_stored,
    counts_of,
    damaged,
    places_in,
    real_files,
)

REAL_FILES = [(path, format) for format in REAL_FORMATS for path in real_files(format)]
by_sample = pytest.mark.parametrize("sample", SAMPLES, ids=[sample.file for sample in SAMPLES])
by_file = pytest.mark.parametrize(
    ("path", "format"),
    [pytest.param(sample.path, sample.format, id=sample.file) for sample in SAMPLES]
    + [pytest.param(path, format, id=f"real {format} {path.name}") for path, format in REAL_FILES],
)


@pytest.fixture
def sessions() -> Iterator[Sessions]:
    with Sessions() as opened:
        yield opened


def test_every_format_has_samples_and_an_earlier_form() -> None:
    assert {sample.format for sample in SAMPLES} == set(EARLIER) == {format.FORMAT for format in FORMATS}
    inside = {f"{path.parent.name}/{path.name}" for path in FOLDER.glob("*/*")}
    assert inside == {sample.file for sample in SAMPLES if "/" in sample.file}


@pytest.mark.skipif(REAL is None, reason="EVENTSTORE_REAL_CONVERSATIONS names no folder of real files")
def test_there_are_real_files_of_every_kind() -> None:
    assert {format for _, format in REAL_FILES} == set(REAL_FORMATS)


@by_sample
def test_counts(sessions: Sessions, sample: Sample) -> None:
    stored = {name: report for name, report in import_file(sessions, sample.path) if name is not None}
    assert list(stored) == [f"{sample.format}:{name}" for name in sample.counts]
    assert {name: counts_of(sessions.session(name)) for name in stored} == {
        f"{sample.format}:{name}": counts for name, counts in sample.counts.items()
    }
    assert sum(len(sessions.session(name).get_compactions()) for name in stored) == sample.summaries


@by_file
def test_a_file_is_recognised_and_read_as_the_laws_say(path: Path, format: str) -> None:
    found = format_of(path)
    assert format == found.FORMAT
    for read in found.read(path):
        check_read(read, format)


@by_file
def test_what_is_read_is_stored_and_a_second_import_says_nothing(sessions: Sessions, path: Path, format: str) -> None:
    reads = list(format_of(path).read(path))
    held: set[tuple[str, str]] = set()  # a file may tell a conversation twice, going on with it
    for read, (name, report) in zip(reads, import_file(sessions, path), strict=True):
        rows = {(read.session_id, row.message["id"]) for row in read.rows}
        assert (name, report.imported, report.known) == (read.session_id, len(rows - held), len(rows & held))
        assert report.skipped == read.skipped
        if read.rows and read.session_id not in {name for name, _ in held}:
            check_stored(sessions, read)
        held |= rows
    check_silent(sessions, path)
    first = {read.session_id: read.rows[0].message["id"] for read in reads if read.rows}
    for name, message_id in first.items():  # a person looks at another branch: that stays
        sessions.session(name).select_leaf(message_id)
    list(import_file(sessions, path))
    for name, message_id in first.items():
        leaf = sessions.session(name).get_latest_leaf()
        assert leaf is not None
        assert leaf["id"] == message_id
    assert sessions.verify().ok


def unread(sessions: Sessions, sample: Sample) -> set[str]:
    """The sessions of the conversations that an import of a sample needn't read."""
    noted = Noted(sessions)
    return {name for found in format_of(sample.path).find([sample.path]) for name in noted.unchanged(found) or {}}


def unread_then(sessions: Sessions, sample: Sample) -> set[str]:
    """Those that it needn't read once it has been imported."""
    return set() if sample.file in READ_AGAIN else {info.session_id for info in sessions.list_sessions()}


@by_sample
def test_what_is_unchanged_is_not_read_again(sessions: Sessions, sample: Sample) -> None:
    list(import_file(sessions, sample.path))
    assert unread(sessions, sample) == unread_then(sessions, sample)


@by_sample
def test_what_earlier_importers_stored_is_read_again_once(
    sessions: Sessions, sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(store, "_VERSIONED", f"/{store.VERSION - 1}")
        list(import_file(sessions, sample.path))
    assert unread(sessions, sample) == set()
    list(import_file(sessions, sample.path))
    assert unread(sessions, sample) == unread_then(sessions, sample)
    check_silent(sessions, sample.path)


def test_importers_that_find_other_things_are_another_version() -> None:
    """Else what they find anew stays unfound in files that were imported before. See `tests.exchange.found`."""
    assert recorded() == found()


READ_AGAIN = (
    "claude-code/damaged.jsonl",  # two sessions in one file
    "ai-sdk/chats.jsonl",  # a line that can't be read, to be named each time
    "openai-agents/session.jsonl",  # the same
    "lobechat/rows.json",  # the same, of an array
)


@by_file
def test_a_later_export_adds_what_is_new(sessions: Sessions, tmp_path: Path, path: Path, format: str) -> None:
    before = tmp_path / path.name
    before.write_bytes(EARLIER[format](path.read_bytes()))
    with contextlib.suppress(InvalidExport):  # the beginning may say too little to know what it is
        list(import_file(sessions, before))
    held = {
        (info.session_id, each.id)
        for info in sessions.list_sessions()
        for each in sessions.session(info.session_id).tree()
    }
    told: set[str | None] = set()
    for read, (name, report) in zip(format_of(path).read(path), import_file(sessions, path), strict=True):
        rows = {(read.session_id, row.message["id"]) for row in read.rows}
        assert report.imported == len(rows - held)
        held |= rows
        if not read.rows or name in told:
            continue
        session = sessions.session(read.session_id)
        told.add(name)
        assert {info.id for info in session.tree()} == {row.message["id"] for row in read.rows}
        for row in read.rows:
            assert session.get_message(row.message["id"]) == row.message
        assert session.get_metadata() == session.get_metadata() | read.metadata
        leaf = session.get_latest_leaf()
        assert leaf is not None
        if report.imported:
            assert leaf["id"] == (read.current or leaf["id"])
        assert {(each.to_message_id, each.summary) for each in read.summaries} <= {
            (each.to_message_id, each.summary) for each in session.get_compactions()
        }
    check_silent(sessions, path)
    assert sessions.verify().ok


@by_file
def test_an_earlier_export_behind_a_later_one_adds_nothing(
    sessions: Sessions, tmp_path: Path, path: Path, format: str
) -> None:
    before = tmp_path / path.name
    before.write_bytes(EARLIER[format](path.read_bytes()))
    list(import_file(sessions, path))
    whole = stored_in(sessions)
    with contextlib.suppress(InvalidExport):
        for name, report in import_file(sessions, before):
            assert report.imported == 0, name
    assert stored_in(sessions) == whole
    check_silent(sessions, path)
    assert sessions.verify().ok


def stored_in(sessions: Sessions) -> dict[str, dict[str, Message | None]]:
    """Every message of every session."""
    return {
        info.session_id: {each.id: sessions.session(info.session_id).get_message(each.id) for each in tree}
        for info in sessions.list_sessions()
        if (tree := list(sessions.session(info.session_id).tree()))
    }


def test_a_folder_and_an_archive_hold_what_their_files_hold(tmp_path: Path) -> None:
    one, other, third = (Sessions(), Sessions(), Sessions())
    with one, other, third, zipfile.ZipFile(tmp_path / "all.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for sample in SAMPLES:
            archive.write(sample.path, sample.file)
            for _ in import_file(one, sample.path):
                pass
        archive.close()
        folder = tmp_path / "folder"
        for sample in SAMPLES:
            (folder / sample.file).parent.mkdir(parents=True, exist_ok=True)
            (folder / sample.file).write_bytes(sample.path.read_bytes())
        for sessions, path in ((other, tmp_path / "all.zip"), (third, folder)):
            for _ in import_file(sessions, path):
                pass
            names = {info.session_id for info in one.list_sessions()}
            assert {info.session_id for info in sessions.list_sessions()} == names
            for name in names:
                expected, found = one.session(name), sessions.session(name)
                assert {info.id: info.parent_id for info in found.tree()} == {
                    info.id: info.parent_id for info in expected.tree()
                }
                assert found.get_history() == expected.get_history() or found.get_compactions()
            check_silent(sessions, path)


@given(st.sampled_from(SAMPLES), st.data())
def test_whatever_is_damaged_what_is_left_is_reachable(folder: Path, sample: Sample, data: st.DataObject) -> None:
    path = folder / f"damaged{sample.path.suffix}"
    path.write_bytes(_broken(sample.path.read_bytes(), data))
    with Sessions() as sessions:
        try:
            found, told = format_of(path), set[str | None]()
            for read, (name, report) in zip(found.read(path), import_file(sessions, path), strict=True):
                check_read(read, found.FORMAT)
                assert (name, report.imported + report.known) == (read.session_id, len(read.rows))
                if read.rows and report.known == 0 and name not in told:
                    check_stored(sessions, read)
                told.add(name)
        except InvalidExport:
            return
        check_silent(sessions, path)
        assert sessions.verify().ok


@pytest.mark.large
@by_sample
def test_anything_may_stand_anywhere(tmp_path: Path, sample: Sample) -> None:
    """Each value of a file in turn replaced by one of each kind."""
    path = tmp_path / sample.path.name
    for text in _replaced(sample.path.read_text()):
        path.write_text(text)
        with contextlib.suppress(InvalidExport):
            format = format_of(path)
            for read in format.read(path):
                check_read(read, format.FORMAT)


def _replaced(text: str) -> Iterator[str]:
    lines = text.splitlines() if not text.startswith(("[", "{\n")) else [text]
    for at, line in enumerate(lines):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        for holder, key in places_in(value):
            kept = holder[key]
            others: tuple[Any, ...] = ({"a": 1}, [[]], 7, "a text")
            for other in others:
                holder[key] = other
                yield "\n".join([*lines[:at], json.dumps(value), *lines[at + 1 :]])
            holder[key] = kept


def _broken(data: bytes, source: st.DataObject) -> bytes:
    """A file with a few things in it dropped, doubled, moved, renamed or torn."""

    def draw(below: int) -> int:
        return source.draw(st.integers(0, below - 1))

    lines = data.splitlines()
    if not lines[0].startswith((b"[", b"{\n")) and len(lines) > 1 and lines[0] != b"{":
        for _ in range(draw(4) + 1):
            at = draw(len(lines))
            action = draw(5)
            if action == 0 and len(lines) > 1:
                del lines[at]
            elif action == 1:
                lines.insert(draw(len(lines)), lines[at])
            elif action == 2:
                lines.insert(draw(len(lines)), lines.pop(at))
            elif action == 3:
                lines[at] = lines[at][: draw(len(lines[at]) + 1)]
            else:
                with contextlib.suppress(ValueError):
                    lines[at] = json.dumps(damaged(json.loads(lines[at]), draw)).encode()
        return b"\n".join(lines)
    value = json.loads(data)
    for _ in range(draw(4) + 1):
        value = damaged(value, draw)
    text = json.dumps(value).encode()
    return text[: draw(len(text) + 1)] if draw(8) == 7 else text
