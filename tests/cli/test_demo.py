"""`demo`: what it shows, that it hurts nobody's store, and the conversation that it brings."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

import pytest

from eventstore import Sessions
from eventstore.cli.demo import ANSWER, conversation
from tests.cli.running import contents, make_store, message, run


def test_the_conversation_is_a_real_one() -> None:
    found = conversation("demo")
    assert 12 <= len(found.rows) <= 16
    children: dict[str | None, int] = {}
    for row in found.rows:
        children[row.parent_id] = children.get(row.parent_id, 0) + 1
    assert sorted(children.values())[-3:] == [1, 2, 2]
    kinds = {part["type"] for row in found.rows for part in row.message["parts"]}
    assert {"text", "tool-cloud_cover", "reasoning"} <= kinds
    times = [row.created_at for row in found.rows]
    assert times == sorted(times)


def test_it_shows_the_tree_and_the_list_as_they_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("eventstore.cli.stage.time.sleep", lambda _: pytest.fail("it waits where nobody watches"))
    done = run("demo")
    assert done.exit_code == 0
    assert done.stderr == ""
    scenes = re.split(r"^(?=\d\. )", done.stdout, flags=re.MULTILINE)[1:]
    assert [scene[:2] for scene in scenes] == ["1.", "2.", "3.", "4."]
    active = [re.findall(r"● (\S+)", scene)[-1] for scene in scenes]
    assert active == ["sky-13", "sky-14", "sky-15", "sky-13"]
    listed = [re.findall(r"^ +\d+ (sky-\d+)", scene, flags=re.MULTILINE) for scene in scenes]
    path = [f"sky-{number}" for number in ("01", "02", "05", "06", "07", "09", "10", "11", "12", "13")]
    assert listed == [path, [*path, "sky-14"], [*path, "sky-14", "sky-15"], path]
    assert "15 messages, 4 leaves, from 40 events" in done.stdout
    assert "as it was before the branch: 13 messages" in done.stdout
    assert "checked against itself: no problems" in done.stdout
    assert "eventstore tree demo --db demo.db" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_is_named_keeps_it_and_all_else(tmp_path: Path) -> None:
    path = make_store(tmp_path / "mine.db", name="demo", messages=[message("precious")])
    for name in ("demo-2", "demo-3"):
        done = run("demo", "--db", path)
        assert done.exit_code == 0
        assert f"eventstore tree {name} --db {path}" in done.stdout
    with Sessions(path, read_only=True) as sessions:
        assert [info.session_id for info in sessions.list_sessions()] == ["demo-3", "demo-2", "demo"]
        assert sessions.session("demo").get_history() == [message("precious")]
        session = sessions.session("demo-2")
        assert session.get_message("sky-15") == {
            "id": "sky-15",
            "role": "assistant",
            "parts": [{"type": "text", "text": ANSWER, "state": "done"}],
        }
        assert [leaf.id for leaf in session.get_leaves()] == ["sky-13", "sky-15", "sky-08", "sky-04"]
        assert sessions.verify().ok


def test_the_variable_names_a_store_too(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    assert "  eventstore tree demo\n" in run("demo", EVENTSTORE_DB=str(path)).stdout
    assert list(contents(tmp_path)) == ["new.db"]


def test_a_file_that_is_no_store_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear Ms Leavitt,")
    assert run("demo", "--db", path).exit_code == 1
    assert path.read_text() == "Dear Ms Leavitt,"


@pytest.mark.parametrize(("columns", "lines"), [("100", "40"), ("50", "24"), ("20", "10")])
def test_on_a_terminal_it_is_drawn_in_place_in_about_five_seconds(
    monkeypatch: pytest.MonkeyPatch, columns: str, lines: str
) -> None:
    waited: list[float] = []
    monkeypatch.setattr("eventstore.cli.stage.time.sleep", waited.append)
    done = run("demo", FORCE_COLOR="1", COLUMNS=columns, LINES=lines, TERM="xterm-256color")
    assert done.exit_code == 0
    assert 3 < sum(waited) < 6
    assert "\x1b[2K" in done.stdout
    assert "Closed and opened again" in done.stdout
    if columns == "100":
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", done.stdout)
        frames = text.split("messages[-1]: ")
        assert len(frames) > len(ANSWER.split()) // 2
        assert any("● sky-15 assistant" in frame and " 11 sky-15 " in frame for frame in frames)


def test_an_interrupted_demo_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("eventstore.cli.stage.time.sleep", interrupt)
    done = run("demo", FORCE_COLOR="1", TERM="xterm-256color")
    assert done.exit_code == 130
    assert os.listdir(tmp_path) == []
