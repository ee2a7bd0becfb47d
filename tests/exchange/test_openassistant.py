"""OpenAssistant's trees, nested and flat messages, and seeds."""

from __future__ import annotations

from pathlib import Path

from tests.exchange.mappings import shape
from tests.exchange.reading import messages_of, read_rows, read_sample, texts


def test_a_tree_without_what_was_deleted_or_is_empty() -> None:
    read = read_sample("openassistant/trees.jsonl")
    assert shape(read.rows) == {"o1": None, "o2": "o1", "o4": "o2", "o6": "o4", "o7": "o1"}
    assert read.session_id == "openassistant:o1"
    assert read.metadata == {"openassistant": {"tree_state": "ready_for_export"}}
    assert messages_of(read)["o2"] == {
        "id": "o2",
        "role": "assistant",
        "parts": [{"type": "text", "text": "Light scatters."}],
        "metadata": {
            "openassistant": {
                "lang": "en",
                "review_count": 3,
                "deleted": False,
                "synthetic": False,
                "rank": 1,
                "emojis": {"+1": 2},
            }
        },
    }
    assert messages_of(read)["o1"]["role"] == "user"


def test_a_message_with_its_replies_is_a_tree_and_names_its_model() -> None:
    read = read_sample("openassistant/trees.jsonl", 1)
    assert (read.session_id, shape(read.rows)) == ("openassistant:p1", {"p1": None, "p2": "p1"})
    assert messages_of(read)["p2"]["metadata"]["model"] == "writer-1b"


def test_flat_messages_of_a_tree_follow_each_other() -> None:
    first, second = (read_sample("openassistant/messages.jsonl", number) for number in (0, 1))
    assert shape(first.rows) == {"f1": None, "f2": "f1", "f3": "f1"}
    assert shape(second.rows) == {"g1": None, "g2": "g1", "g3": "g2"}  # told before its parent
    assert [row.created_at.day for row in second.rows] == [1, 2, 3]


def test_each_root_of_a_seed_is_a_conversation() -> None:
    one, riddle, lost = (read_sample("openassistant/seeds.json", number) for number in range(3))
    assert shape(one.rows) == {"s1": None, "s2": "s1", "s3": "s1", "s4": "s3"}
    assert texts(riddle) == ["A riddle?", "What walks?"]
    assert (lost.session_id, shape(lost.rows)) == ("openassistant:lost", {"lost": None})
    assert lost.skipped == (("parent of 'lost'", "'never' is not in the file: a root, unless the session holds it"),)


def test_seeds_in_a_cycle_without_ids_and_told_twice(tmp_path: Path) -> None:
    def seed(id: object, parent: object, text: str) -> dict[str, object]:
        return {"user_message_id": id, "parent_message_id": parent, "text": text, "role": "prompter"}

    rows = [seed("a", "b", "A"), seed("b", "a", "B"), seed(None, None, "C"), seed("a", None, "D"), seed(9, "b", "E")]
    reads = read_rows(tmp_path, *rows)
    assert [texts(read) for read in reads] == [["A", "B", "E", "D"], ["C"]]


def test_messages_of_one_tree_apart_from_each_other_meet_in_its_session(tmp_path: Path) -> None:
    def told(id: str, parent: str | None, tree: str) -> dict[str, object]:
        return {"message_id": id, "parent_id": parent, "message_tree_id": tree, "text": id, "role": "prompter"}

    first, _, later = read_rows(tmp_path, told("a", None, "a"), told("b", None, "b"), told("c", "a", "a"))
    assert first.session_id == later.session_id
    assert later.elsewhere == {"c": "a"}
