"""Conversations into a store: everything reachable, a second import silent, a later export adding what is new."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given

from eventstore import Event, NotSerializable, Session, Sessions, UnknownMessage
from eventstore.exchange import chatgpt
from eventstore.exchange.conversation import Conversation
from eventstore.exchange.store import MARK, store
from eventstore.exchange.values import without
from tests.exchange.mappings import conversation, conversations, counts, ids, node, shape, write_json

SAMPLES = Path(__file__).parent / "samples"
REAL = os.environ.get("EVENTSTORE_REAL_CONVERSATIONS")
WHOLE = ["damaged-tree.json", "three-conversations.json", "tools-and-pictures.json"]


@pytest.fixture
def sessions(tmp_path: Path) -> Iterator[Sessions]:
    with Sessions(tmp_path / "conversations.db") as opened:
        yield opened


def stored_counts(session: Session) -> tuple[int, int, int]:
    """Messages, branch points and leaves, by what the store answers."""
    infos = list(session.tree())
    points = [info.id for info in infos if len(session.get_branches(info.id)) > 1]
    roots = session.get_branches(None)
    return len(infos), len(points) + (len(roots) > 1), len(session.get_leaves())


def check_stored(sessions: Sessions, read: Conversation) -> None:
    """The session holds exactly what was read, each message on a path to a leaf, siblings in the export's order."""
    session = sessions.session(read.session_id)
    assert {info.id: info.parent_id for info in session.tree()} == shape(read.rows)
    assert stored_counts(session) == counts(read)
    reached = {message["id"] for leaf in session.get_leaves() for message in session.get_history(leaf_id=leaf.id)}
    assert reached == set(ids(read.rows))
    for row in read.rows:
        info = session.get_message_info(row.message["id"])
        assert info is not None
        assert info.created_at == row.created_at
        assert session.get_message(row.message["id"]) == row.message
    for parent in {row.parent_id for row in read.rows}:
        siblings = [row.message["id"] for row in read.rows if row.parent_id == parent]
        assert [message["id"] for message in session.get_branches(parent)] == siblings
    leaf = session.get_latest_leaf()
    assert leaf is not None
    assert leaf["id"] == (read.current or read.rows[-1].message["id"])
    assert without(session.get_metadata(), [MARK]) == without(read.metadata)


def heard(sessions: Sessions) -> list[Event]:
    """A list that every event from now on is put into."""
    events: list[Event] = []
    sessions.subscribe(events.append)
    return events


@pytest.mark.parametrize("name", WHOLE)
def test_what_is_read_is_stored_and_a_second_import_says_nothing(sessions: Sessions, name: str) -> None:
    for read in chatgpt.read(SAMPLES / name):
        report = store(sessions, read)
        assert (report.imported, report.known, report.skipped) == (len(read.rows), 0, read.skipped)
        if read.rows:
            check_stored(sessions, read)
    events, seq = heard(sessions), sessions.latest_seq
    for read in chatgpt.read(SAMPLES / name):
        report = store(sessions, read)
        assert (report.imported, report.known, report.skipped) == (0, len(read.rows), read.skipped)
    assert (events, sessions.latest_seq) == ([], seq)
    assert sessions.verify().ok


@given(conversations)
def test_any_mapping_is_stored_whole_and_the_second_time_not_at_all(folder: Path, found: dict[str, Any]) -> None:
    [read] = chatgpt.read(write_json(folder, found))
    with Sessions() as sessions:
        assert store(sessions, read).imported == len(read.rows)
        assert len(list(sessions.list_sessions())) == (1 if read.rows else 0)
        if read.rows:
            check_stored(sessions, read)
        seq = sessions.latest_seq
        assert store(sessions, read).imported == 0
        assert sessions.latest_seq == seq


FIRST = [node("u", None, "Hello", children=["a"]), node("a", "u", "Hi", role="assistant", children=["b"])]
LATER = [*FIRST, node("b", "a", "And?", children=["c"]), node("c", "b", "So.", role="assistant")]


def read_one(tmp_path: Path, *nodes: dict[str, Any], **more: Any) -> Conversation:
    [read] = chatgpt.read(write_json(tmp_path, conversation(*nodes, **more)))
    return read


def test_a_later_export_adds_what_is_new_and_updates_the_title(sessions: Sessions, tmp_path: Path) -> None:
    store(sessions, read_one(tmp_path, *FIRST, current_node="a", title="New chat"))
    session = sessions.session("chatgpt:c1")
    events = heard(sessions)
    report = store(sessions, read_one(tmp_path, *LATER, current_node="c", title="Hello and so"))
    assert (report.imported, report.known) == (2, 2)
    assert [event.type for event in events] == ["import", "import", "metadata"]
    assert session.get_metadata()["title"] == "Hello and so"
    assert [message["id"] for message in session.get_history()] == ["u", "a", "b", "c"]


def test_a_renamed_conversation_is_renamed_and_nothing_else(sessions: Sessions, tmp_path: Path) -> None:
    store(sessions, read_one(tmp_path, *LATER, current_node="c"))
    session = sessions.session("chatgpt:c1")
    session.select_leaf("a")
    events = heard(sessions)
    store(sessions, read_one(tmp_path, *LATER, current_node="c", title="Renamed"))
    assert [event.type for event in events] == ["metadata"]
    leaf = session.get_latest_leaf()
    assert leaf is not None
    assert leaf["id"] == "a"


def test_an_earlier_export_takes_nothing_back(sessions: Sessions, tmp_path: Path) -> None:
    earlier = read_one(tmp_path, *FIRST, title="New chat", update_time=1.0, is_archived=False)
    store(sessions, read_one(tmp_path, *LATER, current_node="c", title="Renamed", update_time=2.0))
    events = heard(sessions)
    report = store(sessions, earlier)
    assert (report.imported, report.known) == (0, 2)
    assert events == []
    assert sessions.session("chatgpt:c1").get_metadata()["title"] == "Renamed"


def test_metadata_of_ones_own_stays(sessions: Sessions, tmp_path: Path) -> None:
    read = read_one(tmp_path, *FIRST)
    session = sessions.session(read.session_id)
    session.set_metadata({"owner": "me", "title": "Mine"})
    store(sessions, read)
    assert without(session.get_metadata(), [MARK]) == without({"owner": "me", **read.metadata})


def test_values_that_python_takes_for_equal_are_a_change(sessions: Sessions, tmp_path: Path) -> None:
    store(sessions, read_one(tmp_path, *FIRST, is_archived=1))
    store(sessions, read_one(tmp_path, *FIRST, is_archived=True))
    assert sessions.session("chatgpt:c1").get_metadata()["chatgpt"]["is_archived"] is True


def test_the_shown_branch_is_selected_although_another_was_imported_last(sessions: Sessions, tmp_path: Path) -> None:
    nodes = [node("u", None, "?", children=["shown", "other"]), node("shown", "u", "1"), node("other", "u", "2")]
    store(sessions, read_one(tmp_path, *nodes, current_node="shown"))
    assert [message["id"] for message in sessions.session("chatgpt:c1").get_history()] == ["u", "shown"]


def test_a_conversation_without_rows_creates_no_session(sessions: Sessions) -> None:
    _, lost, _ = chatgpt.read(SAMPLES / "three-conversations.json")
    report = store(sessions, lost)
    assert (report.imported, report.known, report.skipped) == (0, 0, lost.skipped)
    assert list(sessions.list_sessions()) == []
    assert sessions.latest_seq == 0


def test_a_conversation_is_stored_whole_or_not_at_all(sessions: Sessions, tmp_path: Path) -> None:
    events = heard(sessions)
    read = read_one(tmp_path, *LATER, current_node="c")
    broken = attrs.evolve(read.rows[-1], message={**read.rows[-1].message, "metadata": {"when": object()}})
    with pytest.raises(NotSerializable):
        store(sessions, attrs.evolve(read, rows=(*read.rows[:-1], broken)))
    with pytest.raises(UnknownMessage):
        store(sessions, attrs.evolve(read, current="nowhere"))
    assert (events, sessions.latest_seq, list(sessions.list_sessions())) == ([], 0, [])


def test_progress_is_told(sessions: Sessions, tmp_path: Path) -> None:
    told: list[int] = []
    store(sessions, read_one(tmp_path, *LATER), progress=lambda done, _: told.append(done))
    assert told[-1] == len(LATER)


@pytest.mark.skipif(REAL is None, reason="EVENTSTORE_REAL_CONVERSATIONS names no folder of real files")
def test_real_exports_are_stored_whole_and_the_second_import_says_nothing(sessions: Sessions) -> None:
    files = sorted((Path(REAL or ".") / "chatgpt").glob("*.json"))
    assert files
    everything = [read for path in files for read in chatgpt.read(path)]
    for read in everything:
        store(sessions, read)
    for read in everything:
        if read.rows:
            check_stored(sessions, read)
    seq = sessions.latest_seq
    assert [store(sessions, read).imported for read in everything] == [0] * len(everything)
    assert sessions.latest_seq == seq
    assert len(list(sessions.list_sessions())) == sum(bool(read.rows) for read in everything)
    assert sessions.verify().ok
