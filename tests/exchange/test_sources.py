"""Folders, archives and JSON Lines: what is read, what is left out and named, what is refused."""

from __future__ import annotations

import io
import json
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from eventstore import Sessions
from eventstore.exchange import InvalidExport, chatgpt
from eventstore.exchange.files import import_file, recognise
from eventstore.exchange.lines import Lines
from eventstore.exchange.sources import found_at
from tests.exchange.laws import FOLDER

CHATGPT = FOLDER / "three-conversations.json"
CODEX = FOLDER / "codex" / "old.jsonl"


@pytest.fixture
def sessions() -> Iterator[Sessions]:
    with Sessions() as opened:
        yield opened


def zipped(path: Path, *, method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.write(CHATGPT, "export/conversations.json")
        archive.write(CODEX, "rollout.jsonl")
        archive.writestr("export/user.json", '{"id": "me"}')
        archive.writestr("export/image.png", b"\x89PNG")
        archive.writestr("__MACOSX/rollout.jsonl", b"x")
    return path


def test_what_is_left_out_of_an_archive_is_named(sessions: Sessions, tmp_path: Path) -> None:
    path = zipped(tmp_path / "all.zip")
    assert recognise(path) == "chatgpt"
    (nothing, report), *stored = import_file(sessions, path)
    assert nothing is None
    assert [what for what, _ in report.skipped] == [
        f"file '{path}/{name}'" for name in ("__MACOSX/rollout.jsonl", "export/image.png", "export/user.json")
    ]
    names = [name for name, _ in stored]
    assert names == ["chatgpt:garden", "chatgpt:lost", "chatgpt:soup", "codex:canoe"]


def test_a_folder_is_read_in_order_with_its_archives(sessions: Sessions, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "b" / "notes.txt").write_text("dear diary")
    (tmp_path / "b" / "rollout.jsonl").write_bytes(CODEX.read_bytes())
    zipped(tmp_path / "a.zip")
    (tmp_path / "c.zip").write_bytes(b"PK\x03\x04 and no more")
    (nothing, report), *stored = import_file(sessions, tmp_path)
    assert nothing is None
    told = {what.rpartition("/")[2]: why for what, why in report.skipped}
    assert set(told) == {".git'", "notes.txt'", "rollout.jsonl'", "image.png'", "user.json'", "c.zip'"}
    assert told[".git'"] == "it is hidden"
    assert "whole zip archive" in told["c.zip'"]
    assert [name for name, _ in stored] == [
        *("chatgpt:garden", "chatgpt:lost", "chatgpt:soup", "codex:canoe", "codex:canoe")
    ]


def test_a_torn_file_in_a_folder_stops_none_of_the_others(sessions: Sessions, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes((FOLDER / "torn.json").read_bytes())
    (tmp_path / "b.jsonl").write_bytes(CODEX.read_bytes())
    with pytest.raises(InvalidExport) as caught:
        list(import_file(sessions, tmp_path))
    assert caught.value.path == str(tmp_path / "a.json")
    assert "codex:canoe" in {info.session_id for info in sessions.list_sessions()}


@pytest.mark.parametrize("content", [b"PK\x03\x04 and no more", b"PK\x05\x06"])
def test_a_broken_archive_is_refused(sessions: Sessions, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.zip"
    path.write_bytes(content)
    for use in (recognise, lambda path: list(import_file(sessions, path))):
        with pytest.raises(InvalidExport, match=r"broken\.zip: wanted a whole zip archive"):
            use(path)


def test_a_damaged_member_is_named_and_the_others_are_stored(
    sessions: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = zipped(tmp_path / "all.zip", method=zipfile.ZIP_STORED)
    path.write_bytes(path.read_bytes().replace(b'"soup"', b'"SOUP"'))
    (_, report), (name, _) = import_file(sessions, path)
    assert "found a fault" in dict(report.skipped)[f"file '{path}/export/conversations.json'"]
    assert name == "codex:canoe"
    monkeypatch.setattr("eventstore.exchange.HEAD", 4_000)  # the fault lies behind what a file is recognised by
    monkeypatch.setattr("eventstore.exchange.elements.CHUNK", 4_000)
    monkeypatch.setattr("eventstore.exchange.sources.BUFFER", 1_000)
    with pytest.raises(InvalidExport, match="found a fault"):
        list(import_file(sessions, path))
    assert sessions.verify().ok


def test_a_folder_without_exports_is_refused(sessions: Sessions, tmp_path: Path) -> None:
    uses = (recognise, lambda path: list(import_file(sessions, path)))
    for use in uses:
        with pytest.raises(InvalidExport, match=r"wanted a file of a known kind in it, found none$"):
            use(tmp_path)
    (tmp_path / "trees.jsonl.gz").write_bytes(b"\x1f\x8b")
    first = (
        rf"found none: file '{tmp_path}/trees.jsonl.gz': no export of a known kind: a gzip file: unpack it with gunzip"
    )
    for use in uses:
        with pytest.raises(InvalidExport, match=f"{first}$"):
            use(tmp_path)
    (tmp_path / "upper.txt").write_text("dear diary")
    for use in uses:
        with pytest.raises(InvalidExport, match=f"{first}; and 1 more$"):
            use(tmp_path)


def test_an_archive_in_an_archive_and_links_to_folders_are_left_out(sessions: Sessions, tmp_path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.write(CODEX, "rollout.jsonl")
    with zipfile.ZipFile(tmp_path / "outer.zip", "w") as archive:
        archive.writestr("inner.zip", inner.getvalue())
        archive.write(CODEX, "rollout.jsonl")
    (tmp_path / "again").symlink_to(tmp_path)
    with found_at(tmp_path) as found:
        assert len(found.sources) == 2
    (_, report), (name, _) = import_file(sessions, tmp_path)
    assert [what for what, _ in report.skipped] == [
        *(f"file '{tmp_path}/again'", f"file '{tmp_path}/outer.zip/inner.zip'")
    ]
    assert name == "codex:canoe"


def test_our_own_export_is_read_from_an_archive(sessions: Sessions, tmp_path: Path) -> None:
    from tests.exchange.exports import exported, ids, message

    with Sessions() as source, zipfile.ZipFile(tmp_path / "own.zip", "w") as archive:
        source.session("a").append_messages([message("1"), message("2")])
        archive.writestr("own.jsonl", exported(source))
    assert [(name, report.imported) for name, report in import_file(sessions, tmp_path / "own.zip")] == [("a", 2)]
    assert ids(sessions.session("a")) == {"1": None, "2": "1"}


def test_progress_is_bytes_up_to_all_of_them(sessions: Sessions, tmp_path: Path) -> None:
    path = zipped(tmp_path / "all.zip")
    told: list[tuple[int, int | None]] = []
    for _ in import_file(sessions, path, lambda done, total: told.append((done, total))):
        pass
    size = CHATGPT.stat().st_size + CODEX.stat().st_size
    assert told == sorted(told)
    assert told[-1] == (size, size)
    told.clear()
    for _ in import_file(sessions, path, lambda done, total: told.append((done, total))):
        pass
    assert told[-1] == (size, size)


def test_a_conversation_that_no_store_can_hold_is_named_and_stops_none_of_the_others(
    sessions: Sessions, tmp_path: Path
) -> None:
    deep: list[object] = []
    for _ in range(600):
        deep = [deep]
    message = {"uuid": "m", "sender": "human", "text": "", "content": [{"type": "deep", "value": deep}]}
    other = {"uuid": "o", "sender": "human", "text": "Hello", "content": []}
    talks = [{"uuid": "deep", "chat_messages": [message]}, {"uuid": "shallow", "chat_messages": [other]}]
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(talks))
    (_, left_out), (_, stored) = import_file(sessions, path)
    assert [what for what, _ in left_out.skipped] == ["conversation 'claude-ai:deep'"]
    assert (left_out.imported, stored.imported) == (0, 1)
    assert [info.session_id for info in sessions.list_sessions()] == ["claude-ai:shallow"]


def test_an_error_of_who_reads_is_no_fault_of_the_archive(tmp_path: Path) -> None:
    with found_at(zipped(tmp_path / "all.zip")) as found:
        source = next(each for each in found.sources if each.name.endswith("conversations.json"))
        reads = chatgpt.read(source)
        next(reads)
        with pytest.raises(ValueError, match="mine"):
            reads.throw(ValueError("mine"))  # type: ignore[attr-defined]


# ---- lines


def test_lines_come_with_their_places_and_their_faults(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n\n  \nrubbish\n"\xff"\n' + b"[" * 600 + b"]" * 600 + b'\n7\n{"b": 2')
    with Lines(path).open() as lines:
        found = []
        for line in lines:
            found.append((line.number, line.value, line.fault))
            assert lines.value(0) == {"a": 1}  # reading elsewhere in between disturbs nothing
    assert [(number, value) for number, value, fault in found if fault is None] == [(1, {"a": 1}), (7, 7)]
    faults = {number: fault or "" for number, _, fault in found if fault is not None}
    assert list(faults) == [4, 5, 6, 8]
    assert "damaged" in faults[4]
    assert "damaged" in faults[5]
    assert "deeper" in faults[6]
    assert "torn" in faults[8]
    assert lines.value(0) == {"a": 1}  # and behind the end of `open` too


def test_memory_holds_no_contents_of_a_long_transcript(
    sessions: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eventstore.importing.BATCH_BYTES", 1 << 20)
    path = tmp_path / "rollout.jsonl"
    with open(path, "w") as file:
        file.write('{"type": "session_meta", "payload": {"id": "long"}}\n')
        for number in range(600):
            block = {"type": "input_text", "text": f"{number} " + "x" * 50_000}
            payload = {"type": "message", "role": "user", "content": [block]}
            file.write(json.dumps({"type": "response_item", "payload": payload}) + "\n")
    tracemalloc.start()
    [(_, report)] = import_file(sessions, path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert report.imported == 600
    assert peak < 10_000_000 < path.stat().st_size
