"""The soak itself: it tells what is wrong, its large stores hold in small, the page of promises names what there is."""

from __future__ import annotations

import logging
import re
import shlex
from collections import Counter
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, read_page
from tests.soak import __main__ as program
from tests.soak import large
from tests.soak.sections import SECTIONS, Section


def commands() -> list[list[str]]:
    """The words of every command on the page of promises."""
    blocks = read_page(ROOT / "docs" / "guarantees.md").blocks()
    return [shlex.split(line, comments=True) for block in blocks for line in block.text.splitlines()]


def test_every_command_of_the_promises_is_one() -> None:
    named: set[str] = set()
    for words in commands():
        match words:
            case ["pytest", *paths]:
                assert all((ROOT / path).exists() for path in paths), words
            case ["python", "-m", "tests.soak", *names]:
                assert set(names) <= set(SECTIONS), words
                named.update(names)
            case _:
                assert words[:2] == ["eventstore", "verify"]
    assert named == set(SECTIONS)


def test_what_is_wrong_is_counted_told_and_does_not_end_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def step(folder: Path, seed: int) -> Counter[str]:
        assert folder.is_dir()
        assert seed != 8, "it was lost"
        return Counter({"tries": 1})

    monkeypatch.setattr(program, "SECTIONS", {"a section": Section(step, least=3)})
    monkeypatch.setattr(program, "prepare_courses", lambda: None)
    monkeypatch.setattr("sys.unraisablehook", lambda _: None)
    monkeypatch.setattr(logging.getLogger("eventstore"), "disabled", False)
    assert program.main(["--seed", "7"]) == 1
    told = capsys.readouterr()
    assert "a section, seed 8:" in told.err
    assert "it was lost" in told.err
    assert re.search(r"a section +1 +3 +\d+ +2 tries", told.out)


@pytest.mark.parametrize("number", range(len(large.SIZES)))
def test_large_stores_in_small(tmp_path: Path, number: int) -> None:
    assert large.build(tmp_path / "store.db", number, 300)[large.SIZES[number][0]] == 300
