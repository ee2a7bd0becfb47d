"""Real ChatGPT exports, read where they lie: each with its counts. Skipped where the files are not."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from eventstore.exchange import chatgpt, format_of
from tests.exchange.mappings import check_laws, counts, left_out

REAL = os.environ.get("EVENTSTORE_REAL_CONVERSATIONS")
pytestmark = pytest.mark.skipif(REAL is None, reason="EVENTSTORE_REAL_CONVERSATIONS names no folder of real files")
FOLDER = Path(REAL or ".") / "chatgpt"

# For each conversation: messages, branch points, leaves; then the messages that are left out.
EXPECTED = {
    "branches.json": [((11, 2, 3), 1)],
    "every-field.json": [((3, 1, 2), 0)],
    "hidden-nodes.json": [((10, 0, 1), 2)],
    "modern-three-conversations.json": [((4, 0, 1), 1), ((0, 0, 0), 0), ((2, 0, 1), 0)],
    "thoughts-and-multimodal.json": [((7, 1, 2), 1)],
}


def mappings(name: str) -> list[dict[str, Any]]:
    found = json.loads((FOLDER / name).read_text())
    return [each.get("mapping", {}) for each in (found if isinstance(found, list) else [found])]


def test_every_file_is_expected() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_counts(name: str) -> None:
    read = list(chatgpt.read(FOLDER / name))
    assert [(counts(each), len(left_out(each))) for each in read] == EXPECTED[name]
    for each in read:
        check_laws(each)


@pytest.mark.parametrize("name", EXPECTED)
def test_with_the_hidden_ones_every_node_with_a_message_is_one(name: str) -> None:
    for each, mapping in zip(chatgpt.read(FOLDER / name, keep_hidden=True), mappings(name), strict=True):
        assert {row.message["id"] for row in each.rows} == {
            key for key, node in mapping.items() if node["message"] is not None
        }
        assert left_out(each) == []


@pytest.mark.parametrize("name", EXPECTED)
def test_parents_siblings_and_times_are_the_files(name: str) -> None:
    for each, mapping in zip(chatgpt.read(FOLDER / name, keep_hidden=True), mappings(name), strict=True):
        for row in each.rows:
            parent = mapping[row.message["id"]]["parent"]
            assert row.parent_id == (parent if parent and mapping[parent]["message"] else None)
            created = mapping[row.message["id"]]["message"]["create_time"]
            assert created is None or abs(row.created_at.timestamp() - created) < 1e-6
        for key, node in mapping.items():
            if node["message"]:
                assert [row.message["id"] for row in each.rows if row.parent_id == key] == node["children"]


def test_thirteen_nodes_are_twelve_messages() -> None:
    [mapping] = mappings("branches.json")
    [everything] = chatgpt.read(FOLDER / "branches.json", keep_hidden=True)
    assert (len(mapping), counts(everything)) == (13, (12, 2, 3))
    [shown] = chatgpt.read(FOLDER / "branches.json")
    assert len(shown.rows) + len(left_out(shown)) == 12
    assert shown.current == "3623b83f-b3a7-7288-a13b-24d8e27f015f"
    answers = [row for row in shown.rows if row.message["role"] == "assistant"]
    assert {row.message["metadata"]["model"] for row in answers} == {"text-davinci-002-render-sha"}


def test_the_conversation_without_a_mapping_is_reported() -> None:
    _, lost, _ = chatgpt.read(FOLDER / "modern-three-conversations.json")
    assert [why for _, why in lost.skipped] == ["it has no mapping of messages"]


def test_only_these_files_are_recognised() -> None:
    for path in sorted(FOLDER.parent.glob("*/*")):
        recognised = chatgpt.recognises(path.read_bytes()[: 1 << 16])
        assert recognised == (path.parent == FOLDER), path
        assert not recognised or format_of(path) is chatgpt
