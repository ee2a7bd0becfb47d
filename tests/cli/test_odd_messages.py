"""Messages of every odd shape out of a store and in again: no export fails, none loses anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eventstore import Sessions
from eventstore.testing import json_text
from tests.cli.running import run
from tests.exchange.reads import reads

CALL = {"type": "tool-look", "toolCallId": "c", "state": "input-available", "input": {"at": [None]}}
PICTURE = {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,iVBORw0KGgo="}
ODD: dict[str, list[dict[str, Any]]] = {
    "a call alone": [CALL],
    "a picture alone": [PICTURE],
    "no parts": [],
    "half a pair": [{"type": "text", "text": "a\ud83d b"}],
    "a NUL and one that is spelt": [{"type": "text", "text": "\0"}, {"type": "text", "text": "\\u0000"}],
    "a part of no known kind": [{"type": "data-voice", "data": {"pointer": "audio", "parts": ["a", None, 5]}}],
    "an empty text": [{"type": "text", "text": ""}],
}


@pytest.mark.parametrize("what", ODD)
def test_every_form_of_export_works_and_json_loses_nothing(tmp_path: Path, what: str) -> None:
    path, out = tmp_path / "store.db", tmp_path / "out.jsonl"
    message = {"id": "m", "role": "assistant", "parts": ODD[what], "metadata": {"k\ud83d": None}}
    with Sessions(path) as sessions:
        sessions.session("s").append_message(message)
        expected = json_text(reads(sessions.session("s")))
    for form in ("messages", "markdown"):
        assert run("export", "s", "--db", path, "--format", form).exit_code == 0
    shown = json.loads(run("export", "s", "--db", path, "--format", "messages").stdout)
    assert [each["id"] for each in (shown if isinstance(shown, list) else [shown])] == ["m"]
    assert run("export", "s", "--db", path, "-o", out).exit_code == 0
    assert run("import", out, "--db", tmp_path / "new.db").exit_code == 0
    with Sessions(tmp_path / "new.db", read_only=True) as sessions:
        assert json_text(reads(sessions.session("s"))) == expected


def test_an_import_with_half_a_pair_is_read_and_exported(tmp_path: Path) -> None:
    path, store = tmp_path / "export.json", tmp_path / "store.db"
    path.write_text('[{"id": "m", "role": "user", "parts": [{"type": "text", "text": "\\ud83d and \\\\ud83d"}]}]')
    assert run("import", path, "--db", store).exit_code == 0
    with Sessions(store, read_only=True) as sessions:
        [info] = sessions.list_sessions()
        [found] = sessions.session(info.session_id).get_history()
        assert found["parts"][0]["text"] == "\ud83d and \\ud83d"
    for form in ("messages", "markdown"):
        assert run("export", info.session_id, "--db", store, "--format", form).exit_code == 0


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_a_number_that_is_none_is_refused_with_its_line(tmp_path: Path, number: str) -> None:
    path = tmp_path / "export.json"
    path.write_text('[\n{"id": "m", "role": "user", "parts": [{"type": "data-x", "data": ' + number + "}]}]")
    done = run("import", path, "--db", tmp_path / "store.db")
    assert done.exit_code == 1
    assert "line 2" in done.stderr
    assert "Traceback" not in done.stderr
