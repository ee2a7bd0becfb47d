"""`stats`: every number against what the reads say, whatever was written, branched and deleted."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventstore import Session, Sessions
from eventstore.measuring import measure_session, measure_store
from tests.cli.running import make_store, message, run


def expected_shape(session: Session) -> dict[str, int]:
    """By the tree, message by message."""
    children: Counter[str | None] = Counter()
    depths: dict[str | None, int] = {None: 0}
    for info in session.tree():
        children[info.parent_id] += 1
        depths[info.id] = depths[info.parent_id] + 1
    return {
        "roots": children[None],
        "branch_points": sum(count > 1 for count in children.values()),
        "leaves": len(session.get_leaves()),
        "depth": max(depths.values()),
    }


def check(sessions: Sessions) -> None:
    """Holds the numbers of a store and of each session against its reads."""
    infos = list(sessions.list_sessions())
    store = measure_store(sessions._store)
    roles: Counter[str] = Counter()
    shapes = []
    for info in infos:
        session = sessions.session(info.session_id)
        found = measure_session(sessions._store, info.session_id)
        assert (found.messages, found.bytes, found.token_estimate) == (info.messages, info.bytes, info.token_estimate)
        shape = expected_shape(session)
        assert found.shape.to_dict() == shape
        shapes.append(shape)
        assert found.events == len(list(session.events()))
        assert found.compactions == len(session.get_compactions())
        own = Counter(each.role for each in session.tree())
        assert {share.name: share.messages for share in found.roles} == own
        assert sum(share.bytes for share in found.roles) == info.bytes
        roles += own
    assert store.sessions == len(infos)
    assert store.messages == sum(info.messages for info in infos)
    assert store.events == sessions.latest_seq
    assert {share.name: share.messages for share in store.roles} == roles
    for key in ("roots", "branch_points", "leaves"):
        assert store.shape.to_dict()[key] == sum(shape[key] for shape in shapes)
    assert store.shape.depth == max((shape["depth"] for shape in shapes), default=0)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "append", "delete", "branch", "root", "update"]), st.integers(0, 30)
    ),
    max_size=25,
)


@given(STEPS)
def test_the_numbers_are_those_of_the_reads(steps: list[tuple[str, int]]) -> None:
    with Sessions() as sessions:
        for number, (verb, at) in enumerate(steps):
            session = sessions.session("ab"[at % 2])
            there = [info.id for info in session.tree()]
            target = there[at % len(there)] if there else None
            role = ("user", "assistant")[number % 2]
            if verb == "append" or target is None:
                session.append_message(message(f"m{number}", role=role), parent_id=target)
            elif verb == "root":
                session.append_message(message(f"m{number}", role=role), parent_id=None)
            elif verb == "delete":
                session.delete_messages([target])
            elif verb == "branch":
                session.delete_branch(target)
            else:
                session.update_message(message(target, f"now {number}", role=role))
        check(sessions)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A conversation with two models, an image twice, a search index and a session that was deleted."""
    path = tmp_path / "s.db"
    image = "data:image/png;base64," + "iVBORw0KGgoA" * 2_000
    parts: list[dict[str, Any]] = [{"type": "file", "mediaType": "image/png", "url": image}]
    with Sessions(path) as sessions:
        chat = sessions.session("chat")
        chat.append_message(message("q"))
        for number, model in enumerate(("small", "large", "large", None, 7)):
            about = {} if model is None else {"metadata": {"model": model}}
            chat.append_message({"id": f"a{number}", "role": "assistant", "parts": parts, **about})
        chat.set_metadata({"model": "large", "title": "A talk"})
        sessions.session("gone").append_message(message("x"))
        sessions.delete_session("gone")
        sessions.search("hello")
    return path


def test_json_of_a_session(store: Path) -> None:
    found = json.loads(run("stats", "chat", "--json", "--db", store).stdout)
    assert {share["name"]: share["messages"] for share in found["models"]} == {"small": 1, "large": 2}
    assert (found["attachments"], found["attachment_bytes"]) == (1, 18_000)
    assert found["shape"] == {"roots": 1, "branch_points": 0, "leaves": 1, "depth": 6}
    with Sessions(store, read_only=True) as sessions:
        info = sessions.session("chat").info()
        assert [found[key] for key in ("messages", "bytes", "token_estimate")] == [
            info.messages,
            info.bytes,
            info.token_estimate,
        ]
        check(sessions)


def test_json_of_a_store(store: Path) -> None:
    found = json.loads(run("stats", "--json", "--db", store).stdout)
    assert (found["sessions"], found["retain"], found["attachments"]) == (1, "current", 1)
    assert [(share["name"], share["messages"]) for share in found["models"]] == [("large", 6)]
    file = found["file"]
    assert file["file"] == store.stat().st_size
    assert sum(file[key] for key in ("log", "tables", "index", "free")) <= file["file"]
    assert min(file[key] for key in ("log", "tables", "index")) > 0
    assert file["log"] > 18_000
    assert file["wal"] == 0


def test_people_get_the_same(store: Path) -> None:
    lines = run("stats", "--db", store).stdout.splitlines()
    assert lines[0] == str(store)
    for line in (
        "  sessions        1",
        "  messages        6",
        "  longest path    6 messages",
        "  attachments     1 (18.0 kB)",
    ):
        assert line in lines
    assert ["model", "messages", "size", "tokens"] in [line.split() for line in lines]
    own = run("stats", "chat", "--db", store).stdout
    assert own.splitlines()[0] == "chat"
    assert "small" in own
    empty = make_store(store.with_name("empty.db"))
    assert "  messages        0" in run("stats", "--db", empty).stdout.splitlines()


def test_a_narrow_screen_gets_cells_below_each_other(store: Path) -> None:
    lines = run("stats", "--db", store, COLUMNS="20").stdout.splitlines()
    assert "role assistant" in lines
    assert "  messages 5" in lines
