"""Every golden file opens, is whole, reads as it was recorded, and can be written on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from eventstore import Sessions
from tests.golden.make import HERE, VERSION, observed, text

FILES = sorted(path.name for path in HERE.glob("*.db"))


def test_the_present_format_has_its_files() -> None:
    assert {f"v{VERSION}-current.db", f"v{VERSION}-all.db"} <= set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_a_golden_file_reads_as_it_was_recorded(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    shutil.copy(HERE / name, path)
    recorded = json.loads((HERE / name).with_suffix(".json").read_text(encoding="ascii"))
    with Sessions(path, read_only=True) as store:
        assert observed(store) == recorded
    with Sessions(path) as store:
        assert store.verify().problems == ()
        store.rebuild()
        assert observed(store) == recorded


@pytest.mark.parametrize("name", FILES)
def test_a_golden_file_can_be_written_on(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    shutil.copy(HERE / name, path)
    with Sessions(path) as store:
        session = store.session("branches")
        session.append_message(text("new", "written later"))
        session.update_message(text("u2", "edited later"))
        session.delete_messages(["m1"])
        store.session("growing").update_message(text("reply", "cut short", "assistant"))
        store.session("media").clear_messages()
        store.delete_session("odd \N{SNOWMAN} values")
        assert session.get_history()[-1] == text("new", "written later")
        assert store.verify().problems == ()
