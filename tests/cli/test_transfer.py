"""`import` and `export`: what goes in comes out, faults are told by file and line, nothing is half written."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from eventstore import Sessions
from eventstore.testing import json_text
from tests.cli.running import contents, json_lines, make_store, message, run
from tests.exchange.reads import reads

SAMPLES = Path(__file__).parent.parent / "exchange" / "samples"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    with Sessions(path) as sessions:
        for name in ("a", "b\x1b[1m"):
            session = sessions.session(name)
            session.append_messages([message("1"), message("2", "é \ud83d \x9b \x00"), message("3")])
            session.append_message(message("4", role="assistant"), parent_id="1")
            session.delete_messages(["3"])
            session.select_leaf("2")
            session.set_metadata({"title": name, "n": 2**70})
    return path


def same(one: Path, other: Path, *names: str) -> bool:
    with Sessions(one, read_only=True) as here, Sessions(other, read_only=True) as there:
        return all(json_text(reads(here.session(name))) == json_text(reads(there.session(name))) for name in names)


def test_an_export_is_imported_as_equal_sessions(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    assert run("export", "--all", "--db", store, "-o", out).stdout == ""
    done = run("import", out, "--db", tmp_path / "new.db")
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "a: 3 new messages, 0 known",
        "b\\x1b[1m: 3 new messages, 0 known",
        "2 conversations, 6 new messages",
    ]
    assert same(store, tmp_path / "new.db", "a", "b\x1b[1m")
    again = run("import", out, "--db", tmp_path / "new.db")
    assert again.stdout.splitlines()[0] == "a: 0 new messages, 3 known"
    assert run("verify", "--db", tmp_path / "new.db").exit_code == 0


def test_an_export_goes_to_standard_output_and_comes_from_standard_input(store: Path, tmp_path: Path) -> None:
    out = run("export", "a", "--db", store)
    assert out.exit_code == 0
    assert [json.loads(line).get("type") for line in out.stdout_bytes.splitlines()] == [
        None, "import", "import", "import", "import", "delete", "select", "metadata", "end",
    ]  # fmt: skip
    assert run("import", "-", "--db", tmp_path / "new.db", input=out.stdout_bytes).exit_code == 0
    assert same(store, tmp_path / "new.db", "a")
    torn = run("import", "-", "--db", tmp_path / "new.db", input=out.stdout_bytes[:-9])
    assert torn.exit_code == 1
    assert torn.stderr.startswith("eventstore: -, line 9: wanted JSON")


def test_a_chatgpt_export_is_imported(tmp_path: Path) -> None:
    done = run("import", SAMPLES / "three-conversations.json", "--db", tmp_path / "new.db", "--skipped")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "chatgpt:garden: 6 new messages, 0 known, 3 left out or mended"
    assert "  message 'gap': it is empty" in lines
    assert lines[-1] == "3 conversations, 8 new messages"
    listed = run("sessions", "--db", tmp_path / "new.db").stdout
    assert "chatgpt:garden" in listed
    assert "chatgpt:lost" not in listed


def test_a_file_that_cannot_be_read_stops_none_of_the_others(tmp_path: Path) -> None:
    files = [SAMPLES / name for name in ("torn.json", "another-kind.json", "nowhere.json", "tools-and-pictures.json")]
    done = run("import", *files, tmp_path, "--db", tmp_path / "new.db")
    assert done.exit_code == 1
    assert done.stdout.splitlines()[-1] == "chatgpt:tools: 13 new messages, 0 known"
    told = done.stderr.splitlines()
    assert [line.split(": ")[:2] for line in told] == [
        ["eventstore", f"{files[0]}, line 340"],
        ["eventstore", str(files[1])],
        ["eventstore", str(files[2])],
        ["eventstore", str(tmp_path)],
    ]


def test_each_torn_file_of_a_folder_or_archive_is_told_by_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "exports"
    folder.mkdir()
    for name in ("a.json", "c.json"):
        shutil.copy(SAMPLES / "torn.json", folder / name)
    shutil.copy(SAMPLES / "tools-and-pictures.json", folder / "b.json")
    (folder / "notes.txt").write_text("Dear diary")
    packed = shutil.make_archive(str(tmp_path / "exports"), "zip", folder)
    for source, name in ((folder, str(folder)), (packed, packed), ("-", "-")):
        given = Path(packed).read_bytes() if source == "-" else None
        done = run("import", source, "--skipped", "--db", tmp_path / f"{len(name)}.db", input=given)
        assert done.exit_code == 1
        torn = [line.split(": ")[1] for line in done.stderr.splitlines()]
        assert torn == [f"{name}/a.json, line 340", f"{name}/c.json, line 340"]
        assert f"  file '{name}/notes.txt': no export of a known kind: something else" in done.stdout.splitlines()
        assert "chatgpt:tools: 13 new messages, 0 known" in done.stdout.splitlines()


def test_only_a_file_that_is_an_export_makes_a_store(tmp_path: Path) -> None:
    for name in (SAMPLES / "another-kind.json", tmp_path / "nowhere"):
        assert run("import", name, "--db", tmp_path / "new.db").exit_code == 1
    assert contents(tmp_path) == {}


def test_what_came_before_a_fault_is_stored_and_told(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    run("export", "--all", "--db", store, "-o", out)
    out.write_bytes(out.read_bytes().replace(b'"session":"b', b'"sess":"b'))
    done = run("import", out, "--db", tmp_path / "new.db")
    assert (done.exit_code, done.stdout) == (1, "a: 3 new messages, 0 known\n")
    assert done.stderr.startswith(f"eventstore: {out}, line 10: wanted a session's first line")
    with Sessions(tmp_path / "new.db", read_only=True) as sessions:
        assert [info.session_id for info in sessions.list_sessions()] == ["a"]


def test_an_export_replaces_its_file_whole_or_not_at_all(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("precious")
    failed = run("export", "a", "nowhere", "--db", store, "-o", out)
    assert (failed.exit_code, out.read_text()) == (1, "precious")
    link = tmp_path / "link"
    link.symlink_to(out)
    assert run("export", "a", "--db", store, "-o", link).exit_code == 0
    assert link.is_symlink()
    assert json.loads(out.read_bytes().splitlines()[0]) == {"eventstore": 1, "session": "a"}
    assert out.stat().st_mode & 0o777 == 0o666 & ~_umask()
    assert sorted(contents(tmp_path)) == ["link", "out.jsonl", "store.db"]
    missing = run("export", "a", "--db", store, "-o", tmp_path / "no" / "folder")
    assert (missing.exit_code, missing.stderr) == (1, f"eventstore: {tmp_path}/no/folder: No such file or directory\n")
    assert run("export", "a", "--db", store, "-o", os.devnull).exit_code == 0


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_an_export_never_writes_over_the_store(store: Path, tmp_path: Path) -> None:
    before = contents(tmp_path)
    (tmp_path / "again.db").symlink_to(store)
    beside = [
        Path(f"{store}{end}") for end in ("-wal", "-shm", "-journal")
    ]  # not there now, and the store's all the same
    for target in (store, tmp_path / "again.db", *beside):
        for named in (store, tmp_path / "again.db"):
            failed = run("export", "--all", "--db", named, "-o", target)
            assert failed.exit_code == 1
            assert "that is the store itself" in failed.stderr
    (tmp_path / "again.db").unlink()
    assert contents(tmp_path) == before


@pytest.mark.parametrize("arguments", [["export"], ["export", "a", "--all"], ["import"]], ids=" ".join)
def test_misuse_is_told(store: Path, arguments: list[str]) -> None:
    failed = run(*arguments, "--db", store)
    assert (failed.exit_code, failed.stdout) == (2, "")
    assert failed.stderr.endswith(f". See `eventstore {arguments[0]} --help`\n")
    assert failed.stderr.count("\n") == 1


def test_a_store_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    out = SAMPLES / "tools-and-pictures.json"
    for path in (tmp_path, tmp_path / "no" / "folder.db", make_store(tmp_path / "text").with_name("x.txt")):
        if path.name == "x.txt":
            path.write_text("not a store, and more than that")
        failed = run("import", out, "--db", path)
        assert (failed.exit_code, failed.stdout) == (1, "")
        assert failed.stderr.startswith(f"eventstore: {path}: ")


def test_the_active_path_is_exported_as_messages(store: Path, tmp_path: Path) -> None:
    def exported(*options: str) -> list[Any]:
        out = run("export", "a", "--format", "messages", *options, "--db", store)
        assert (out.exit_code, out.stderr) == (0, "")
        found: list[Any] = json.loads(out.stdout_bytes)
        return found

    with Sessions(store) as sessions:
        session = sessions.session("a")
        session.append_messages([message(f"m{number}") for number in range(3)])
        session.add_compaction("in short", "1", "m0")
        assert json_text(exported()) == json_text(session.get_history(compacted=False))
        assert json_text(exported("--compacted")) == json_text(session.get_history())
        assert json_text(exported("--leaf", "4")) == json_text(session.get_history(leaf_id="4", compacted=False))
        session.clear_messages()
        assert exported() == []
    out = tmp_path / "out.json"
    assert run("export", "b\x1b[1m", "--format", "messages", "-o", out, "--db", store).exit_code == 0
    assert [each["id"] for each in json.loads(out.read_bytes())] == ["1", "2"]


def test_an_import_reports_as_json(tmp_path: Path) -> None:
    samples = [SAMPLES / "three-conversations.json", SAMPLES / "torn.json"]
    done = run("import", *samples, "--json", "--db", tmp_path / "new.db")
    assert done.exit_code == 1
    assert done.stderr.count("\n") == 1
    found = json_lines(done.stdout)
    assert [(each["file"], each["session_id"], each["imported"], each["known"]) for each in found[:3]] == [
        (str(samples[0]), "chatgpt:garden", 6, 0),
        (str(samples[0]), "chatgpt:lost", 0, 0),
        (str(samples[0]), "chatgpt:soup", 2, 0),
    ]
    assert found[0]["skipped"][0] == ["message 'sys'", "it is hidden from the conversation"]


@pytest.mark.parametrize("kind", ["folder", "archive"])
def test_a_folder_and_an_archive_are_imported(kind: str, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    shutil.copy(SAMPLES / "three-conversations.json", source)
    (source / "let\x1bter.txt").write_text("Dear Ms Leavitt,")
    if kind == "archive":
        source = Path(shutil.make_archive(str(tmp_path / "packed"), "zip", source))
    done = run("import", source, "--db", tmp_path / "new.db", "--skipped")
    assert (done.exit_code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == f"{source}: 1 file left out"
    assert "let\\x1bter.txt" in lines[1]
    assert lines[-1] == "3 conversations, 8 new messages"
    found = json_lines(run("import", source, "--db", tmp_path / "new.db", "--json").stdout)
    assert [each["session_id"] for each in found] == [None, "chatgpt:garden", "chatgpt:lost", "chatgpt:soup"]
    assert sum(each["imported"] for each in found) == 0
    (tmp_path / "empty").mkdir()
    failed = run("import", tmp_path / "empty", "--db", tmp_path / "none.db")
    assert (failed.exit_code, failed.stderr.count("\n")) == (1, 1)
    assert not (tmp_path / "none.db").exists()
