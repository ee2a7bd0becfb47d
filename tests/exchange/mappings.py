"""Conversations of ChatGPT's shape, sound and damaged, by hand and by hypothesis; and what is asked of a reading."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from eventstore.exchange.conversation import Conversation
from eventstore.reports import ImportRow

KEYS = [f"k{number}" for number in range(9)]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KINDS = st.sampled_from(
    [
        "text",
        "multimodal_text",
        "code",
        "execution_output",
        "tether_quote",
        "tether_browsing_display",
        "thoughts",
        "reasoning_recap",
        "hologram",
        "",
    ]
)


def fields(**values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with some of these fields; now and then a field holds something else."""
    return st.fixed_dictionaries({}, optional={name: value | JSON for name, value in values.items()})


entries = st.lists(
    st.sampled_from(["", "some text"]) | fields(content_type=KINDS, text=st.text(max_size=5)), max_size=3
)
contents = fields(content_type=KINDS, parts=entries, text=st.text(max_size=5), thoughts=entries, language=st.just("py"))
messages = fields(
    id=st.sampled_from(KEYS),
    author=fields(role=st.sampled_from(["user", "assistant", "tool", "system"]), name=st.sampled_from(["t1", "t2"])),
    content=contents,
    create_time=st.floats(0, 2e9),
    recipient=st.sampled_from(["all", "t1", "t2"]),
    metadata=fields(
        is_visually_hidden_from_conversation=st.booleans(), model_slug=st.text(max_size=5), attachments=entries
    ),
)
nodes = fields(
    message=messages,
    parent=st.none() | st.sampled_from([*KEYS, "never written"]),
    children=st.lists(st.sampled_from([*KEYS, "never written"]), max_size=4),
)
mappings = st.dictionaries(st.sampled_from([*KEYS, "", "half \ud83d"]), nodes | JSON, max_size=10)
conversations = st.fixed_dictionaries(
    {"mapping": mappings},
    optional={
        "conversation_id": st.sampled_from(["c1", "c2"]) | JSON,
        "title": st.text(max_size=5) | JSON,
        "create_time": st.floats(0, 2e9) | JSON,
        "current_node": st.sampled_from(KEYS) | JSON,
    },
)


def write_json(folder: Path, value: Any, name: str = "conversations.json") -> Path:
    """`value` as a JSON file."""
    path = folder / name
    path.write_text(json.dumps(value))
    return path


def node(
    key: str,
    parent: str | None,
    text: str | None = None,
    *,
    role: str = "user",
    children: Sequence[str] = (),
    **message: Any,
) -> dict[str, Any]:
    """One node of a mapping, without a message unless it has a text or other fields of a message."""
    said = {
        "id": key,
        "author": {"role": role},
        "content": {"content_type": "text", "parts": [text]},
        "recipient": "all",
        **message,
    }
    return {
        "id": key,
        "parent": parent,
        "children": [*children],
        "message": said if text is not None or message else None,
    }


def conversation(*nodes: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A conversation of these nodes."""
    return {"conversation_id": "c1", "title": "A title", "mapping": {node["id"]: node for node in nodes}, **more}


def ids(rows: Iterable[ImportRow]) -> list[str]:
    """The ids of rows, in order."""
    return [row.message["id"] for row in rows]


def shape(rows: Iterable[ImportRow]) -> dict[str, str | None]:
    """Each row's parent, in order."""
    return {row.message["id"]: row.parent_id for row in rows}


def counts(read: Conversation) -> tuple[int, int, int]:
    """How many messages, branch points and leaves a conversation has; several roots are a branch point too."""
    parents = [row.parent_id for row in read.rows]
    points = {parent for parent in parents if parents.count(parent) > 1}
    return len(read.rows), len(points), len(set(ids(read.rows)) - set(parents))


def left_out(read: Conversation) -> list[str]:
    """What was named as a message that was left out."""
    return [what for what, _ in read.skipped if what.startswith("message ")]


def check_laws(read: Conversation) -> None:
    """Parents come first, ids are unique, every message is reachable, the current one is there."""
    seen: set[str] = set()
    for row in read.rows:
        assert row.parent_id is None or row.parent_id in seen
        assert row.message["id"] not in seen
        seen.add(row.message["id"])
    assert read.current is None or read.current in seen
