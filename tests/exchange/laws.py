"""What every importer owes, whatever it reads; and the files that the laws are tested over.

A new format: put small samples into `samples/<format>/`, give each a line in `SAMPLES`, and say in `EARLIER` how an
earlier export of the same conversations looks.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import attrs

from eventstore import Event, Session, Sessions
from eventstore.exchange.conversation import Conversation
from eventstore.exchange.files import import_file
from eventstore.exchange.store import MARK
from eventstore.exchange.values import usable, without
from tests.exchange.parts import check_parts

FOLDER = Path(__file__).parent / "samples"
REAL = os.environ.get("EVENTSTORE_REAL_CONVERSATIONS")
REAL_FORMATS = (
    "ai-sdk",
    "chatgpt",
    "claude-ai",
    "claude-code",
    "codex",
    "langchain",
    "librechat",
    "open-webui",
    "openai-agents",
    "openassistant",
    "pi",
    "pydantic-ai",
)
"""Formats that have real files."""
_FOLDERS = {"openassistant": "oasst", "langchain": "frameworks", "pydantic-ai": "frameworks"}


def real_files(format: str) -> list[Path]:
    """The real files of a format: those of the folder with its name, or of a folder that it shares with others."""
    if REAL is None:
        return []
    folder = _FOLDERS.get(format, format)
    named = format if folder == "frameworks" else ""
    return sorted(path for path in (Path(REAL) / folder).iterdir() if path.name.startswith(named))


Counts = tuple[int, int, int]
"""Messages, branch points (several roots are one, too), leaves."""


@attrs.frozen
class Sample:
    """A file below `samples/`, the counts of its conversations by their ids, and how many summaries they have."""

    file: str
    counts: dict[str, Counts]
    summaries: int = 0

    @property
    def path(self) -> Path:
        return FOLDER / self.file

    @property
    def format(self) -> str:
        """The folder's name; the files that lie in none are ChatGPT's."""
        return self.file.rpartition("/")[0] or "chatgpt"


SAMPLES = [
    Sample("three-conversations.json", {"garden": (6, 2, 3), "lost": (0, 0, 0), "soup": (2, 0, 1)}),
    Sample("damaged-tree.json", {"damaged": (11, 1, 4)}),
    Sample("tools-and-pictures.json", {"tools": (13, 1, 2)}),
    Sample("chatgpt/captured.json", {"captured": (3, 1, 2)}),
    Sample("claude-ai/linear.json", {"bread": (6, 0, 1), "nothing": (0, 0, 0)}),
    Sample("claude-ai/tree.json", {"walk": (10, 3, 5)}),
    Sample("claude-code/rewind-and-compact.jsonl", {"walls": (13, 2, 3)}, summaries=1),
    Sample("claude-code/no-parents.jsonl", {"2785fd68bd28f4b460e8ec4ac14cc7b3": (4, 0, 1)}),
    Sample("claude-code/damaged.jsonl", {"fence": (9, 2, 4), "gate": (1, 0, 1)}),
    Sample("claude-code/old-compaction.jsonl", {"pond": (5, 0, 1)}, summaries=2),
    Sample("claude-code/web.json", {"web": (2, 0, 1)}),
    Sample("codex/turns.jsonl", {"boat": (16, 0, 1)}, summaries=1),
    Sample("codex/old.jsonl", {"canoe": (2, 0, 1)}),
    Sample("codex/rolled-back.jsonl", {"kite": (16, 2, 3)}, summaries=1),
    Sample("pi/tree.jsonl", {"tent": (17, 2, 4)}, summaries=1),
    Sample("pi/version-1.jsonl", {"hut": (5, 0, 1)}, summaries=1),
    Sample("ai-sdk/list.json", {"298bf6e01dbf5e6252f222b2acc40855": (7, 0, 1)}),
    Sample(
        "ai-sdk/chats.jsonl",
        {
            "boats": (2, 0, 1),
            "7daae69f3fee3dbbc66084123556c26b": (2, 0, 1),
            "7daae69f3fee3dbbc66084123556c26b#2": (2, 0, 1),
            "unknown": (0, 0, 0),
        },
    ),
    Sample("ai-sdk/tree.json", {"afc39ec989b4a565a36de16ea9546ff6": (8, 2, 5)}),
    Sample("langchain/messages.json", {"5ac78b5afb6d1d88c4e68eebca202622": (9, 0, 1)}),
    Sample("langchain/dumped.json", {"5ac78b5afb6d1d88c4e68eebca202622": (9, 0, 1)}),
    Sample("langchain/threads.jsonl", {"th1": (2, 0, 1), "th2": (2, 0, 1)}),
    Sample("librechat/nested.json", {"lc1": (6, 2, 3)}),
    Sample("librechat/flat-damaged.json", {"lc2": (8, 2, 5)}),
    Sample("lobechat/rows.json", {"0b9c87b2979ba3965ce0c16dbedc9737": (10, 2, 3)}),
    Sample("open-webui/chats.json", {"tea": (6, 3, 4), "rice": (2, 0, 1), "unknown": (0, 0, 0)}),
    Sample("open-webui/bare.json", {"b1": (2, 0, 1)}),
    Sample("openai-agents/run.json", {"trace_keys": (8, 0, 1)}),
    Sample("openai-agents/run-of-javascript.json", {"8030b6df01f0258e924d97f44b26012c": (4, 0, 1)}),
    Sample("openai-agents/session.jsonl", {"eb4ca55fe1aaf1882d68ed768f5a6996": (11, 0, 1)}),
    Sample("openassistant/trees.jsonl", {"o1": (5, 1, 2), "p1": (2, 0, 1), "unknown": (0, 0, 0)}),
    Sample("openassistant/messages.jsonl", {"f1": (3, 1, 2), "g1": (3, 0, 1)}),
    Sample("openassistant/seeds.json", {"s1": (4, 1, 2), "z1": (2, 0, 1), "lost": (1, 0, 1)}),
    Sample("pydantic-ai/messages.json", {"632b0217a8f4b7f6b3c20ef1f300195e": (11, 0, 1)}),
]


# ---- earlier exports


def _half_the_lines(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join(lines[: len(lines) // 2 + 1])


def _of_each(shorten: Callable[[dict[str, Any]], None]) -> Callable[[bytes], bytes]:
    """Shortens each conversation of a JSON export."""

    def earlier(data: bytes) -> bytes:
        found = json.loads(data)
        for conversation in found if isinstance(found, list) else [found]:
            if isinstance(conversation, dict):
                shorten(conversation)
        return json.dumps(found).encode()

    return earlier


def _without_leaves(conversation: dict[str, Any]) -> None:
    mapping = conversation.get("mapping")
    if mapping is None:
        return
    parents = {node.get("parent") for node in mapping.values() if isinstance(node, dict)}
    conversation["mapping"] = {key: node for key, node in mapping.items() if key in parents}


def _half_and_nothing_removed(data: bytes) -> bytes:
    """The first half of an array, without the messages that one behind it removes: a store keeps what it has."""
    if not data.startswith(b"["):
        return _half_the_lines(data)
    found = json.loads(data)
    fields = [each.get("kwargs", each.get("data", {})) for each in found]
    removed = {each.get("id") for each in fields if each.get("type") == "remove"}
    half = zip(found[: len(found) // 2], fields, strict=False)
    return json.dumps([each for each, said in half if said.get("id") not in removed]).encode()


def _half_the_list(data: bytes) -> bytes:
    """The first half of an array, of the `messages` of an object, or of lines."""
    if data.startswith((b"[\n", b"{\n")):
        found = json.loads(data)
        if isinstance(found, list):
            return json.dumps(found[: len(found) // 2]).encode()
        return _of_each(_half_of("messages"))(data)
    return _half_the_lines(data)


def _half_the_chat(record: dict[str, Any]) -> None:
    chat = record.get("chat", record)
    messages = chat["history"]["messages"]
    chat["history"]["messages"] = {key: messages[key] for key in [*messages][: len(messages) // 2 + 1]}
    chat.pop("messages", None)


def _half_of(field: str) -> Callable[[dict[str, Any]], None]:
    def shorten(conversation: dict[str, Any]) -> None:
        listed = conversation.get(field, [])
        conversation[field] = listed[: len(listed) // 2]

    return shorten


EARLIER: dict[str, Callable[[bytes], bytes]] = {
    "chatgpt": _of_each(_without_leaves),
    "claude-ai": _of_each(_half_of("chat_messages")),
    "claude-code": lambda data: (
        _of_each(_half_of("loglines"))(data) if data.startswith(b"{\n") else _half_the_lines(data)
    ),
    "codex": _half_the_lines,
    "pi": _half_the_lines,
    "ai-sdk": _half_the_list,
    "langchain": _half_and_nothing_removed,
    "librechat": _of_each(_half_of("messages")),
    "lobechat": _half_the_list,
    "open-webui": _of_each(_half_the_chat),
    "openai-agents": lambda data: (
        _of_each(_half_of("generatedItems" if b"generatedItems" in data else "generated_items"))(data)
        if data.startswith(b"{\n")
        else _half_the_lines(data)
    ),
    "openassistant": _half_the_list,
    "pydantic-ai": _half_the_list,
}
"""For each format, how a file of it looked before the newest messages were written."""


# ---- the laws

WORD_FOR_WORD = ("ai-sdk",)
"""Formats whose messages are the store's own kind already: their parts and metadata are kept, sound or not."""


def check_read(read: Conversation, format: str) -> None:
    """What one conversation owes before it is stored."""
    assert read.session_id.startswith(f"{format}:")
    assert len(read.session_id) > len(format) + 1
    assert isinstance(read.metadata.get("title", ""), str)
    assert isinstance(read.metadata.get("model", ""), str)
    parents: dict[str, str | None] = {}
    for row in read.rows:
        message = row.message
        assert usable(message["id"])
        assert usable(message["role"])
        assert message["id"] not in parents
        assert row.parent_id is None or row.parent_id in parents, "parents come first"
        assert row.created_at.utcoffset() == timedelta(0)
        if format not in WORD_FOR_WORD:
            check_parts(message["parts"])
            assert isinstance(message.get("metadata", {}).get("model", ""), str)
        assert message["parts"], "what says nothing is no message"
        parents[message["id"]] = row.parent_id
    assert read.current is None or read.current in parents
    for summary in read.summaries:
        assert summary.summary.strip()
        node: str | None = summary.to_message_id
        while node is not None and node != summary.from_message_id:
            node = parents[node]
        assert node is not None, "a summary stands for messages of one path"
    for what, why in read.skipped:
        assert what
        assert why


def counts_of(session: Session) -> Counts:
    """Messages, branch points and leaves, by what the store answers."""
    infos = list(session.tree())
    points = [parent for parent in (None, *(info.id for info in infos)) if len(session.get_branches(parent)) > 1]
    return len(infos), len(points), len(session.get_leaves())


def check_stored(sessions: Sessions, read: Conversation) -> None:
    """The session holds exactly what was read, each message on a path to a leaf, siblings in the file's order."""
    session = sessions.session(read.session_id)
    rows = list(read.rows)
    assert {info.id: info.parent_id for info in session.tree()} == {row.message["id"]: row.parent_id for row in rows}
    paths = [session.history(leaf_id=leaf.id, compacted=False) for leaf in session.get_leaves()]
    assert {message["id"] for path in paths for message in path} == {row.message["id"] for row in rows}
    for row in rows:
        info = session.get_message_info(row.message["id"])
        assert info is not None
        assert info.created_at == row.created_at
        assert session.get_message(row.message["id"]) == row.message
    for parent in {row.parent_id for row in rows}:
        siblings = [row.message["id"] for row in rows if row.parent_id == parent]
        assert [message["id"] for message in session.get_branches(parent)] == siblings
    leaf = session.get_latest_leaf()
    assert leaf is not None
    assert leaf["id"] == (read.current or rows[-1].message["id"])
    assert without(session.get_metadata(), [MARK]) == without(read.metadata)
    assert [(each.from_message_id, each.to_message_id, each.summary) for each in session.get_compactions()] == [
        (each.from_message_id, each.to_message_id, each.summary) for each in read.summaries
    ]


def check_silent(sessions: Sessions, path: Path) -> None:
    """Importing a file that is stored writes nothing and tells nobody."""
    events: list[Event] = []
    seq = sessions.latest_seq
    with sessions.subscribe(events.append):
        for _, report in import_file(sessions, path):
            assert report.imported == 0
    assert (events, sessions.latest_seq) == ([], seq)


# ---- damage


OTHERS: tuple[Any, ...] = (
    *(7, "a text", {}, [], True, "", {"a": 1}, [[]], -1.5, 1e308, 10**30, "\ud83d", "\x00", "{", None),
)
"""What may stand where something else is wanted."""


def damaged(value: Any, draw: Callable[[int], int]) -> Any:
    """A JSON value with one thing in it dropped, doubled, moved, renamed or replaced; `draw(n)` gives 0 to n - 1."""
    value = copy.deepcopy(value)
    places = list(places_in(value))
    if not places:
        return value
    holder, key = places[draw(len(places))]
    _, other = places[draw(len(places))]
    action = draw(6)
    if action == 0:
        del holder[key]
    elif action == 1:
        holder[key] = None
    elif action == 2:
        holder[key] = copy.deepcopy(OTHERS[draw(len(OTHERS))])
    elif action == 3 and isinstance(holder, list):
        holder.insert(draw(len(holder) + 1), copy.deepcopy(holder[key]))
    elif action == 4 and isinstance(holder, list):
        holder.insert(draw(len(holder)), holder.pop(key))
    else:
        texts = [inner[at] for inner, at in places if isinstance(inner[at], str)]
        holder[key if isinstance(holder, list) or draw(3) else str(other)] = texts[draw(len(texts))] if texts else None
    return value


def places_in(value: Any) -> list[tuple[Any, Any]]:
    """(container, key) of everything in a value."""
    found: list[tuple[Any, Any]] = []
    waiting = [value] if isinstance(value, (dict, list)) else []
    while waiting:
        holder = waiting.pop()
        entries = list(holder.items()) if isinstance(holder, dict) else list(enumerate(holder))
        found += [(holder, key) for key, _ in entries]
        waiting += [inner for _, inner in entries if isinstance(inner, (dict, list))]
    return found
