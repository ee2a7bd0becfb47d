"""Files that aren't what they seem, folders with all that a disk can hold, and files larger than memory should be."""

from __future__ import annotations

import gzip
import io
import json
import os
import socket
import tempfile
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventstore import Message, Sessions
from eventstore.exchange import InvalidExport, format_of
from eventstore.exchange.files import import_file, recognise
from tests.benchmarks.exports import FILES
from tests.benchmarks.material import messages
from tests.cli.forking import run_all
from tests.exchange.laws import FOLDER, SAMPLES, Sample, check_read, check_silent

SAMPLE = FOLDER / "claude-ai" / "linear.json"
by_sample = pytest.mark.parametrize("sample", SAMPLES, ids=[sample.file for sample in SAMPLES])


@pytest.fixture
def sessions() -> Iterator[Sessions]:
    with Sessions() as opened:
        yield opened


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("odd")


def stored(sessions: Sessions) -> dict[str, dict[str, str | None]]:
    """The tree of each session."""
    return {
        info.session_id: {each.id: each.parent_id for each in sessions.session(info.session_id).tree()}
        for info in sessions.list_sessions()
    }


# ---- the same text in other clothes


@by_sample
@pytest.mark.parametrize(
    "dressed",
    [
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: b"\n \r\n" + data,
    ],
    ids=["byte order mark", "lines of Windows", "blank lines first"],
)
def test_marks_and_line_ends_change_nothing(
    sessions: Sessions, tmp_path: Path, sample: Sample, dressed: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "dressed"
    path.write_bytes(dressed(sample.path.read_bytes()))
    list(import_file(sessions, path))
    with Sessions() as plain:
        list(import_file(plain, sample.path))
        assert stored(sessions) == stored(plain)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (SAMPLE.read_bytes().decode().encode("utf-16"), "UTF-16"),
        (gzip.compress(SAMPLE.read_bytes()), "gzip"),
        (b"", "nothing"),
        (b"\0" * 100, "something else"),
        (b"SQLite format 3\0" + b"\0" * 84, "database"),
        (b"null", "something else"),
        (b"NaN", "something else"),
        (b"[" * 100_000, "JSON of another kind"),
    ],
    ids=["UTF-16", "gzip", "empty", "zeros", "database", "null", "NaN", "brackets"],
)
def test_what_a_file_is_instead_is_said(sessions: Sessions, tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "export.json"
    path.write_bytes(data)
    for use in (recognise, lambda path: list(import_file(sessions, path))):
        with pytest.raises(InvalidExport, match=said):
            use(path)


# ---- damage


NUMBERS = (b"NaN", b"-Infinity", b"1e999", b"9" * 5_000, b"-0.0", b"1e-400", b"007", b"1" + b"0" * 400)
NESTED = (b"[" * 600 + b"]" * 600, b'{"a":' * 505 + b"1" + b"}" * 505, b"[" * 5_000, b'"\\ud83d"', b'"\\u0000"')


@given(st.sampled_from(SAMPLES), st.data())
def test_any_bytes_are_read_or_refused(folder: Path, sample: Sample, source: st.DataObject) -> None:
    data = sample.path.read_bytes()
    for _ in range(source.draw(st.integers(1, 3))):
        at = source.draw(st.integers(0, max(len(data) - 1, 0)))
        kind = source.draw(st.integers(0, 5))
        if kind == 0:  # a value where another one was
            end = next((place for place in range(at, len(data)) if data[place] in b",]}\n"), len(data))
            begin = max(data.rfind(mark, 0, at) for mark in (b":", b",", b"[")) + 1
            data = data[:begin] + source.draw(st.sampled_from((*NUMBERS, *NESTED))) + data[end:]
        elif kind == 1:
            data = data[:at] + source.draw(st.binary(max_size=4)) + data[at + 1 :]
        elif kind == 2:
            data = data[:at] + data[at + source.draw(st.integers(1, 60)) :]
        elif kind == 3:
            data = data + data[at:]
        elif kind == 4:
            data = data[:at]
        else:
            data = data.replace(b"\n", source.draw(st.sampled_from((b"\r", b"\xe2\x80\xa8", b"\0\n"))))
    path = folder / "damaged"
    path.write_bytes(data)
    with Sessions() as sessions:
        for _ in range(2):
            seq = sessions.latest_seq
            try:
                list(import_file(sessions, path))
                for read in format_of(path).read(path):
                    check_read(read, format_of(path).FORMAT)
            except InvalidExport:
                continue
        assert sessions.latest_seq == seq, "the second import writes nothing"
        for name, tree in stored(sessions).items():
            session = sessions.session(name)
            leaves = [leaf.id for leaf in session.get_leaves()]
            paths = [session.history(leaf_id=leaf, compacted=False) for leaf in leaves]
            assert {message["id"] for path in paths for message in path} == set(tree)
        assert sessions.verify().ok


def test_what_isnt_text_is_kept_as_data(sessions: Sessions, tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    message = {"uuid": "m", "sender": "human", "text": 7, "content": [""]}
    path.write_text(json.dumps([{"uuid": "c", "chat_messages": [message]}]))
    list(import_file(sessions, path))
    found = sessions.session("claude-ai:c").get_message("m")
    assert found is not None
    assert found["parts"] == [{"type": "data-claude-ai-text", "data": 7}]


# ---- folders


def test_what_a_folder_holds_beside_files_is_named(sessions: Sessions, tmp_path: Path) -> None:
    good = tmp_path / "good.json"
    good.write_bytes(SAMPLE.read_bytes())
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    (tmp_path / "itself").symlink_to(tmp_path / "itself")
    (tmp_path / "up").symlink_to(tmp_path, target_is_directory=True)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(tmp_path / "socket"))
        (nothing, report), *rest = import_file(sessions, tmp_path)
    assert nothing is None
    assert {Path(what.split("'")[1]).name for what, _ in report.skipped} == {"pipe", "gone", "itself", "up", "socket"}
    assert all(why for _, why in report.skipped)
    assert [name for name, _ in rest] == ["claude-ai:bread", "claude-ai:nothing"]


def test_what_cant_be_read_is_named() -> None:
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to whoever has no rights
        folder = Path(name)
        (folder / "in").mkdir()
        (folder / "in" / "good.json").write_bytes(SAMPLE.read_bytes())
        (folder / "in" / "locked.json").write_bytes(SAMPLE.read_bytes())
        (folder / "in" / "secret").mkdir()
        for path, mode in ((folder, 0o777), (folder / "in" / "locked.json", 0), (folder / "in" / "secret", 0)):
            path.chmod(mode)
        call = ["import", folder / "in", "--db", folder / "store.db", "--json", "--skipped"]
        [done] = run_all([call], "file", folder, as_nobody=True)
        (folder / "in" / "secret").chmod(0o700)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.status, done.stderr) == (0, "")
    assert {Path(what.split("'")[1]).name for what, _ in told[0]["skipped"]} == {"locked.json", "secret"}
    assert all("ermission denied" in why for _, why in told[0]["skipped"])
    assert [each["session_id"] for each in told[1:]] == ["claude-ai:bread", "claude-ai:nothing"]


@pytest.mark.parametrize("name", ["a\nb.json", "é ü.json", "\U0001f600.json", "-x.json", "a'b\".json", "\udcff.json"])
def test_names_of_any_kind(sessions: Sessions, tmp_path: Path, name: str) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    (path / name).write_bytes(SAMPLE.read_bytes())
    (path / f"{name}.txt").write_text("a note")
    (_, report), *rest = import_file(sessions, path)
    assert [what for what, _ in report.skipped] == [f"file {str(path / f'{name}.txt')!r}"]
    assert len(rest) == 2


# ---- archives


def test_an_empty_archive_and_one_in_another_are_refused(sessions: Sessions, tmp_path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w"):
        pass
    (tmp_path / "empty.zip").write_bytes(inner.getvalue())
    with zipfile.ZipFile(tmp_path / "nested.zip", "w") as archive:
        archive.writestr("empty.zip", inner.getvalue())
    for name in ("empty.zip", "nested.zip"):
        with pytest.raises(InvalidExport, match="found none"):
            list(import_file(sessions, tmp_path / name))


def test_a_member_that_grows_beyond_measure_is_named_and_not_read(
    sessions: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eventstore.exchange.sources.LARGE", 100_000)
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.json", b"[" + b" " * 1_000_000 + b"]")
        archive.write(SAMPLE, "conversations.json")
    (_, report), *rest = import_file(sessions, tmp_path / "bomb.zip")
    assert [(what.rpartition("/")[2], "1000002 bytes" in why) for what, why in report.skipped] == [("bomb.json'", True)]
    assert len(rest) == 2


@pytest.mark.parametrize("kind", ["Claude.ai export", "AI SDK chats", "Claude Code transcript", "LangChain threads"])
def test_a_value_beyond_measure_is_refused_or_named(
    sessions: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    for module in ("elements", "lines"):
        monkeypatch.setattr(f"eventstore.exchange.{module}.LARGEST", 3_000)
    monkeypatch.setattr("eventstore.exchange.elements.CHUNK", 500)
    path = tmp_path / "export"
    small, large = messages(2), messages(2)
    large[0]["parts"][0]["text"] *= 50
    path.write_text(FILES[kind]([small, large]))
    if kind in ("Claude.ai export", "AI SDK chats"):
        with pytest.raises(InvalidExport, match="more than 3000 characters"):
            list(import_file(sessions, path))
    else:
        skipped = [what for _, report in import_file(sessions, path) for what in report.skipped]
        assert any("longer than 3000 bytes" in why for _, why in skipped)
    assert len(list(sessions.list_sessions())) == 1


# ---- memory

MESSAGE = "x" * 8_000
TALKS = 25
LONG = 20  # messages of a conversation: one of them may be in memory


def _talks() -> list[list[Message]]:
    talks = [messages(LONG, seed) for seed in range(TALKS)]
    for talk in talks:
        for message in talk:
            message["parts"][0]["text"] = MESSAGE
    return talks


QUICK = [("Claude.ai export", False), ("Open WebUI export", True), ("Codex rollout", True)]
QUICK += [("Agents SDK session", True), ("pydantic-ai messages", False)]
LARGE = [pytest.mark.large]


@pytest.mark.parametrize(
    ("name", "packed"),
    [
        pytest.param(name, packed, id=f"{name}{' packed' * packed}", marks=[] if (name, packed) in QUICK else LARGE)
        for name in FILES
        for packed in (False, True)
    ],
)
def test_memory_holds_one_conversation_whatever_the_file(
    sessions: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, packed: bool
) -> None:
    monkeypatch.setattr("eventstore.importing.BATCH_BYTES", 1 << 18)
    monkeypatch.setattr("eventstore.exchange.elements.CHUNK", 1 << 16)
    monkeypatch.setattr("eventstore.exchange.spool.IN_MEMORY", 1 << 16)
    path = tmp_path / "export"
    path.write_text(FILES[name](_talks()))
    size = path.stat().st_size
    if packed:
        with zipfile.ZipFile(tmp_path / "export.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(path, "export")
        path = tmp_path / "export.zip"
    with Sessions(tmp_path / "store.db") as store:
        peaks = []
        for _ in range(2):
            tracemalloc.start()
            imported = sum(report.imported for _, report in import_file(store, path))
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert imported == 0
    assert max(peaks) < 2_500_000 < size


def test_a_silent_second_import_of_each(sessions: Sessions, tmp_path: Path) -> None:
    for name, make in FILES.items():
        path = tmp_path / name
        path.write_text(make([messages(4, 1), messages(4, 2)]))
        assert sum(report.imported for _, report in import_file(sessions, path)) == 8
        check_silent(sessions, path)
