"""Our own JSON Lines into a session that holds messages: what is new is added, and nothing else changes."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given

from eventstore import ImportReport, Sessions
from eventstore.testing import Write, json_text, writes
from tests.exchange.exports import exported, heard, ids, message, stored
from tests.exchange.reads import id_of, reads


@given(writes(max_size=8), writes(max_size=8), writes(max_size=4))
def test_a_later_export_adds_what_is_new_and_nothing_else(
    folder: Path, history: list[Write], later: list[Write], own: list[Write]
) -> None:
    with Sessions() as here, Sessions() as there:
        source, target = here.session("x"), there.session("x")
        for write in history:
            write.apply(source)
        stored(there, folder, exported(here))
        for write in own:
            write.apply(target)
        before, bodies = ids(target), reads(target)["messages"]
        leaf, metadata = target.get_latest_leaf(), target.get_metadata()
        for write in later:
            write.apply(source)
        [(_, report)] = stored(there, folder, exported(here)) or [("", ImportReport(0, 0))]
        after = ids(target)
        added = set(after) - set(before)
        assert set(after) == set(before) | set(ids(source))
        assert (report.imported, report.known) == (len(added), len(ids(source)) - len(added))
        assert {message_id: after[message_id] for message_id in before} == before
        assert json_text([target.get_message(stored["id"]) for stored in bodies]) == json_text(bodies)
        for message_id in added:
            assert after[message_id] == ids(source)[message_id]
            assert json_text(target.get_message(message_id)) == json_text(source.get_message(message_id))
        shown = source.get_latest_leaf()
        if added and shown is not None:
            leaf = target.get_message(shown["id"])
        assert json_text(target.get_latest_leaf()) == json_text(leaf)
        assert json_text(target.get_metadata()) == json_text(metadata | source.get_metadata())
        assert there.verify().ok
        seq = there.latest_seq
        stored(there, folder, exported(here))
        assert there.latest_seq == seq


def test_what_was_deleted_here_comes_back_and_what_was_deleted_there_stays(
    sessions: Sessions, there: Sessions, tmp_path: Path
) -> None:
    source, target = sessions.session("x"), there.session("x")
    source.append_messages([message("a"), message("b"), message("c")])
    stored(there, tmp_path, exported(sessions))
    target.delete_messages(["b"])
    source.delete_messages(["c"])
    events = heard(there)
    [(_, report)] = stored(there, tmp_path, exported(sessions))
    assert report == ImportReport(1, 1)
    assert ids(target) == {"a": None, "c": "a", "b": "a"}
    assert [event.type for event in events] == ["import"]


def test_what_hung_on_deleted_messages_hangs_on_their_nearest_ancestor(
    sessions: Sessions, there: Sessions, tmp_path: Path
) -> None:
    there.session("x").append_messages([message("a"), message("own")])
    source = sessions.session("x")
    source.append_messages([message("root"), message("a"), message("b"), message("c")])
    source.append_message(message("d"), parent_id="root")
    source.delete_messages(["root", "b"])
    events = heard(there)
    stored(there, tmp_path, exported(sessions))
    assert ids(there.session("x")) == {"a": None, "own": "a", "c": "a", "d": None}
    assert [event.type for event in events] == ["import", "import"]
    assert [found["id"] for found in there.session("x").get_history()] == ["d"]


def test_a_known_message_stays_as_it_is_and_a_new_one_has_its_last_version(
    sessions: Sessions, there: Sessions, tmp_path: Path
) -> None:
    source, target = sessions.session("x"), there.session("x")
    source.append_message(message("a", "first"))
    stored(there, tmp_path, exported(sessions))
    source.update_message(message("a", "second"))
    source.append_message(message("b", "first"))
    source.update_message(message("b", "second"))
    stored(there, tmp_path, exported(sessions))
    assert target.get_history() == [message("a", "first"), message("b", "second")]
    here, copied = source.get_message_info("b"), target.get_message_info("b")
    assert here is not None
    assert copied is not None
    assert (copied.created_at, copied.updated_at) == (here.created_at, here.updated_at)
    assert there.verify().ok


def test_the_active_leaf_follows_only_when_something_was_added(
    sessions: Sessions, there: Sessions, tmp_path: Path
) -> None:
    source, target = sessions.session("x"), there.session("x")
    source.append_messages([message("a"), message("b")])
    source.append_message(message("b2"), parent_id="a")
    stored(there, tmp_path, exported(sessions))
    source.select_leaf("b")
    stored(there, tmp_path, exported(sessions))
    assert id_of(target.get_latest_leaf()) == "b2"
    source.append_message(message("c"), parent_id="b2")
    source.select_leaf("b")
    stored(there, tmp_path, exported(sessions))
    assert id_of(target.get_latest_leaf()) == "b"


def test_metadata_is_brought_up_to_date_beside_ones_own(sessions: Sessions, there: Sessions, tmp_path: Path) -> None:
    sessions.session("x").set_metadata({"title": "New chat", "n": 1})
    stored(there, tmp_path, exported(sessions))
    there.session("x").set_metadata({"owner": "me", "title": "Mine", "n": 1})
    sessions.session("x").set_metadata({"title": "About bicycles", "n": True})
    events = heard(there)
    stored(there, tmp_path, exported(sessions))
    assert str(there.session("x").get_metadata()) == "{'owner': 'me', 'title': 'About bicycles', 'n': True}"
    assert [event.type for event in events] == ["metadata"]


def test_a_summary_that_is_there_is_not_named_as_left_out(sessions: Sessions, there: Sessions, tmp_path: Path) -> None:
    source = sessions.session("x")
    source.append_messages([message("a"), message("b"), message("c")])
    first = source.add_compaction("What was said", "a", "b")
    stored(there, tmp_path, exported(sessions))
    [(_, again)] = stored(there, tmp_path, exported(sessions))
    assert again == ImportReport(0, 3)
    second = source.add_compaction("All that was said", "a", "c")
    [(_, later)] = stored(there, tmp_path, exported(sessions))
    assert [what for what, _ in later.skipped] == [f"summary {second.id!r}"]
    assert [each.id for each in there.session("x").get_compactions()] == [first.id]
