"""The formats of messages in lists and trees, file by file: counts, and by how much of a file it is recognised."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path

import pytest

from eventstore.exchange import FORMATS, InvalidExport, format_of
from eventstore.exchange.conversation import Conversation
from eventstore.exchange.elements import HEAD
from tests.exchange.mappings import counts

SAMPLES = Path(__file__).parent / "samples"
REAL = os.environ.get("EVENTSTORE_REAL_CONVERSATIONS")

# For each file: conversations; messages, branch points, leaves of all; how much was left out or mended.
EXPECTED = {
    "ai-sdk/chats.jsonl": (4, (6, 0, 3), 2),
    "ai-sdk/list.json": (1, (7, 0, 1), 2),
    "ai-sdk/tree.json": (1, (8, 2, 5), 4),
    "langchain/dumped.json": (1, (9, 0, 1), 3),
    "langchain/messages.json": (1, (9, 0, 1), 3),
    "langchain/threads.jsonl": (2, (4, 0, 2), 1),
    "librechat/flat-damaged.json": (1, (8, 2, 5), 5),
    "librechat/nested.json": (1, (6, 2, 3), 1),
    "lobechat/rows.json": (1, (10, 2, 3), 3),
    "open-webui/bare.json": (1, (2, 0, 1), 0),
    "open-webui/chats.json": (3, (8, 3, 5), 7),
    "openai-agents/run-of-javascript.json": (1, (4, 0, 1), 0),
    "openai-agents/run.json": (1, (8, 0, 1), 1),
    "openai-agents/session.jsonl": (1, (11, 0, 1), 3),
    "openassistant/messages.jsonl": (2, (6, 1, 3), 0),
    "openassistant/seeds.json": (3, (7, 1, 4), 1),
    "openassistant/trees.jsonl": (3, (7, 1, 3), 4),
    "pydantic-ai/messages.json": (1, (11, 0, 1), 3),
}
REAL_EXPECTED = {
    "ai-sdk/uimessages.jsonl": (120, (139, 0, 117), 4),
    "frameworks/langchain-dumpd.json": (1, (4, 0, 1), 1),
    "frameworks/langchain-messages_to_dict.json": (1, (4, 0, 1), 1),
    "frameworks/pydantic-ai-messages.json": (1, (5, 0, 1), 0),
    "librechat/flat-two-roots.json": (1, (5, 2, 3), 0),
    "librechat/nested-tree.json": (1, (9, 2, 3), 0),
    "oasst/flat-seed.json": (74, (444, 77, 158), 0),
    "oasst/trees.jsonl": (100, (1167, 260, 626), 0),
    "open-webui/export-2.json": (3, (6, 0, 3), 0),
    "open-webui/export.json": (1, (2, 0, 1), 0),
    "openai-agents/pending-approval.json": (1, (2, 0, 1), 0),
    "openai-agents/programmatic-tool-calling.json": (1, (4, 0, 1), 0),
}
FORMAT_OF_FOLDER = {"oasst": "openassistant"}

here = [pytest.param(SAMPLES / name, EXPECTED[name], id=name) for name in EXPECTED]
there = [
    pytest.param(
        Path(REAL or ".") / name,
        REAL_EXPECTED[name],
        id=f"real {name}",
        marks=pytest.mark.skipif(REAL is None, reason="EVENTSTORE_REAL_CONVERSATIONS names no folder of real files"),
    )
    for name in REAL_EXPECTED
]
every_file = pytest.mark.parametrize(("path", "expected"), [*here, *there])


def read(path: Path) -> list[Conversation]:
    return list(format_of(path).read(path))


def format_name(path: Path) -> str:
    if path.parent.name == "frameworks":
        return "pydantic-ai" if path.name.startswith("pydantic") else "langchain"
    return FORMAT_OF_FOLDER.get(path.parent.name, path.parent.name)


@every_file
def test_counts(path: Path, expected: tuple[int, tuple[int, int, int], int]) -> None:
    found = read(path)
    messages, points, leaves = (sum(numbers) for numbers in zip(*map(counts, found), strict=True))
    assert (len(found), (messages, points, leaves), sum(len(each.skipped) for each in found)) == expected


@every_file
def test_the_file_is_told_by_its_content_and_names_its_sessions(path: Path, expected: object) -> None:
    name = format_name(path)
    assert name == format_of(path).FORMAT
    for each in read(path):
        assert each.session_id.startswith(f"{name}:")
        assert len(each.session_id) > len(name) + 1
        assert {key for key in each.metadata if key not in ("title", "model", "created_at", "updated_at")} <= {name}


@every_file
def test_two_readings_are_equal(path: Path, expected: object) -> None:
    for one, other in zip(read(path), read(path), strict=True):
        assert [*one.rows] == [*other.rows]
        assert (one.session_id, one.metadata, one.current, one.skipped) == (
            other.session_id,
            other.metadata,
            other.current,
            other.skipped,
        )


@pytest.mark.parametrize(("path", "expected"), here)
def test_a_file_is_recognised_by_a_part_of_it(path: Path, expected: object) -> None:
    """As the head of a file that is larger than what is looked at: cut off anywhere behind its first message."""
    whole = json.dumps(json.loads(path.read_text())).encode() if path.suffix == ".json" else path.read_bytes()
    name = format_name(path)
    least = 700 if name == "openai-agents" else 450
    for end in range(min(least, len(whole)), len(whole), 97):
        head = whole[: min(end, HEAD)]
        assert next((format.FORMAT for format in FORMATS if format.recognises(head)), None) == name, head


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "nothing: the file is empty"),
        (b"SQLite format 3\0" + bytes(100), "an SQLite database: if it is a store, open it with --db"),
        (gzip.compress(b'{"messages": []}'), "a gzip file: unpack it with gunzip"),
        (b' \xef\xbb\xbf\n{"a": 1}', "JSON of another kind"),
        (b"# Notes\n", "something else"),
    ],
    ids=["nothing", "a store", "gzip", "JSON", "text"],
)
def test_a_file_that_is_no_export_is_named_for_what_it_is(tmp_path: Path, content: bytes, found: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(InvalidExport, match="wanted an export.*, found " + re.escape(found)):
        format_of(path)
