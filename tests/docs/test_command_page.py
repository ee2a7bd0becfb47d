"""The reference page of the command: it is what the command says of itself, and `--json` prints what it says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.commands import COMMANDS, JSON_CALLS, fill, talk
from tests.cli.running import run
from tests.docs.command_page import JSON, NOTES, PAGE, page


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "python -m tests.docs.command_page > docs/reference/command.md"


def test_every_shape_is_described() -> None:
    assert {
        name: "line" if command.json == "lines" else "object" for name, command in COMMANDS.items() if command.json
    } == {name: shape.kind for name, shape in JSON.items()}
    assert set(NOTES) <= set(COMMANDS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store and an export of it."""
    made = tmp_path_factory.mktemp("shapes")
    talk(made / "s.db")
    run("export", "--all", "--db", made / "s.db", "-o", made / "file.jsonl")
    return made


@pytest.mark.parametrize("call", JSON_CALLS, ids=" ".join)
def test_json_has_the_described_keys(call: tuple[str, ...], folder: Path) -> None:
    shape = JSON[call[0]]
    shutil.copy(folder / "s.db", folder / "copy.db")
    text = run(*fill(folder, call), "--db", folder / "copy.db").stdout
    values = [json.loads(text)] if shape.kind == "object" else [json.loads(line) for line in text.splitlines()]
    for value in values:
        if call[0] in ("show", "tail"):  # messages and events have more keys of their own
            assert set(value) >= set(shape.keys)
        else:
            assert tuple(value) in (shape.keys, shape.other)
