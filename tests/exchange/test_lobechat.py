"""LobeChat's rows: the branch that is shown, calls with their results, and what tells them from other messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eventstore.exchange import format_of
from tests.exchange.reading import messages_of, read_sample, read_value


def row(id: str, parent: str | None, **more: Any) -> dict[str, Any]:
    return {"id": id, "role": "user", "content": id, "parentId": parent, "createdAt": 1740000000000, **more}


def active(index: Any) -> dict[str, Any]:
    return {"metadata": {"activeBranchIndex": index}}


@pytest.mark.parametrize(
    ("rows", "current"),
    [
        ([row("a", None), row("b", "a"), row("c", "a")], "c"),
        ([row("a", None, **active(0)), row("b", "a"), row("c", "a"), row("d", "b")], "d"),
        ([row("a", None, **active(7)), row("b", "a"), row("c", "a")], "c"),
        ([row("a", None, **active("0")), row("b", "a"), row("c", "a")], "c"),
        ([row("c", "a"), row("a", None, **active(1)), row("b", "a")], "b"),
        ([row("a", None), row("b", "a"), row("c", "b", content="")], "b"),
        ([row("a", "b"), row("b", "a")], "b"),
    ],
    ids=range(7),
)
def test_the_branch_that_is_shown(tmp_path: Path, rows: list[Any], current: str) -> None:
    [read] = read_value(tmp_path, rows)
    assert read.current == current


def test_calls_have_their_results_and_errors() -> None:
    found = messages_of(read_sample("lobechat/rows.json"))
    [wind] = found["lc-6"]["parts"]
    assert (wind["type"], wind["input"], wind["output"]) == ("tool-weather.wind", {"at": "sea"}, "5 knots")
    [rain] = found["lc-7"]["parts"]
    assert (rain["state"], rain["input"], rain["errorText"]) == ("output-error", "{not", '{"message":"no such place"}')
    assert [part["type"] for part in found["lc-4"]["parts"]] == ["text", "file", "data-lobechat-file"]


def test_rows_are_told_from_messages_of_others(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    for found, name in (
        (row("a", None), "lobechat"),
        ({**row("a", None), "parts": [{"type": "text", "text": "A"}]}, "ai-sdk"),
        ({"role": "user", "content": "A"}, "openai-agents"),
    ):
        path.write_text(json.dumps([found]))
        assert name == format_of(path).FORMAT
