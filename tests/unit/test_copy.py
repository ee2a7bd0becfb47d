"""Copies: the target reads as its source does, whatever it was before."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from eventstore import AsyncSessions, InvalidArgument, Message, Sessions
from tests.unit.talk import chain, ids, message


@pytest.mark.parametrize("given", [{}, {"title": "the source's"}])
def test_metadata_is_the_sources_whatever_the_target_had(given: dict[str, str]) -> None:
    with Sessions() as store:
        source, target = store.session("source"), store.session("target")
        source.append_message(message("a"))
        if given:
            source.set_metadata(given)
        target.set_metadata({"title": "the target's", "more": 1})
        source.copy_to(target)
        assert target.get_metadata() == source.get_metadata() == given
        assert target.get_history() == source.get_history()
        assert store.verify().ok


def test_a_session_with_messages_is_no_target() -> None:
    with Sessions() as store:
        source, target = store.session("source"), store.session("target")
        source.append_message(message("a"))
        target.append_message(message("b"))
        seq = store.latest_seq
        with pytest.raises(InvalidArgument, match="holds 1 messages"):
            source.copy_to(target)
        assert store.latest_seq == seq


def test_what_is_no_session_is_no_target() -> None:
    with Sessions() as store:
        store.session("source").append_message(message("a"))
        wrong: Any
        for wrong in (store, "the copy's name", None):
            with pytest.raises(InvalidArgument, match=r"store\.session\(name\)"):
                store.session("source").copy_to(wrong)


def test_a_session_of_a_loop_is_no_target_of_one_without_and_the_other_way_round() -> None:
    async def both_ways() -> None:
        async with AsyncSessions() as other:
            with Sessions() as store:
                wrong: Any = store.session("target")
                with pytest.raises(InvalidArgument, match="another AsyncSession"):
                    await other.session().copy_to(wrong)
                wrong = other.session()
                with pytest.raises(InvalidArgument, match="another Session"):
                    store.session().copy_to(wrong)

    asyncio.run(both_ways())


@pytest.mark.parametrize("leaf", [None, "m7", "m5", "beside"])
@pytest.mark.parametrize("gone", [[], ["m2"], ["m4"], ["m2", "m4"], ["m2", "m3", "m4"]])
def test_summaries_come_along_whatever_became_of_their_ends(gone: list[str], leaf: str | None) -> None:
    """Of a whole session, and of a path out of it, to the same store and another."""
    with Sessions() as store, Sessions() as another:
        source = store.session("source")
        chain(source, *(f"m{number}" for number in range(1, 9)))
        source.append_message(message("beside"), parent_id="m6")
        source.select_leaf("m8")
        source.add_compaction("A", "m2", "m4")
        source.add_compaction("B", "m6", "m7")
        source.delete_messages(gone)
        for target in (store.session("copy"), another.session()):
            if leaf is None:
                source.copy_to(target)
            else:
                source.copy_to(target, leaf_id=leaf)
            for compacted in (True, False):
                expected = source.get_history(leaf_id=leaf, compacted=compacted)
                assert shown(target.get_history(compacted=compacted)) == shown(expected)
        assert store.verify().ok
        assert another.verify().ok


def shown(messages: list[Message]) -> list[Message | str]:
    """Messages; of a summary its text, since each overlay has an id of its own."""
    return [m["parts"][0]["text"] if m["id"].startswith("compaction_") else m for m in messages]


@pytest.mark.parametrize("whole", [True, False])
def test_a_copy_is_nobodys_but_its_own(whole: bool) -> None:
    """What goes from the original stays in the copy, and the other way round."""
    with Sessions() as store:
        source, copy = store.session("source"), store.session("copy")
        chain(source, "m1", "m2", "m3", "m4", "m5")
        if whole:
            source.copy_to(copy)
        else:
            source.copy_to(copy, leaf_id="m4")
        before = copy.get_history()
        assert ids(before)[:4] == ["m1", "m2", "m3", "m4"]
        source.delete_messages(["m2"])
        source.update_message(message("m3", "changed"))
        assert copy.get_history() == before
        copy.delete_branch("m3")
        assert ids(source.get_history()) == ["m1", "m3", "m4", "m5"]
        store.delete_session("source")
        assert copy.get_history() == before[:2]
        assert store.verify().ok
