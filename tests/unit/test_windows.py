"""Paths read in windows: their sizes, and what happens to them between two."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventstore import LATEST, InvalidArgument, Message, Session, Sessions, UnknownMessage
from tests.unit.talk import chain, ids, message, sized_path


def ladder(session: Session, rungs: int) -> list[str]:
    """A path whose every message is a chain of its own: beside each lies another that came first."""
    session.append_message(message("m0"))
    with session.sessions.transaction():
        for n in range(1, rungs):
            session.append_message(message(f"d{n}"), parent_id=f"m{n - 1}")
            session.append_message(message(f"m{n}"), parent_id=f"m{n - 1}")
    return [f"m{n}" for n in range(rungs)]


def straight(session: Session, length: int) -> list[str]:
    """A path of one chain."""
    chain(session, *(f"m{n}" for n in range(length)))
    return [f"m{n}" for n in range(length)]


SHAPES = pytest.mark.parametrize("shape", [straight, ladder])
Shape = Callable[[Session, int], list[str]]


# ---- how large a window is


def expected_batches(names: list[str], sizes: list[int], count: int, budget: int) -> list[list[str]]:
    """As many as fit both limits, and at least one."""
    batches: list[list[str]] = []
    room = 0
    for name, size in zip(names, sizes, strict=True):
        if not batches or len(batches[-1]) == count or size > room:
            batches.append([])
            room = budget
        batches[-1].append(name)
        room -= size
    return batches


@given(
    count=st.integers(1, 80),
    budget=st.integers(1, 12_000) | st.sampled_from((1, 2**70)),
    backwards=st.booleans(),
    leaf=st.integers(0, 69),
    before=st.none() | st.integers(0, 69),
)
def test_batches_are_as_full_as_both_limits_let_them_be(
    count: int, budget: int, backwards: bool, leaf: int, before: int | None
) -> None:
    session, names, sizes = sized_path(70, 9)
    end = leaf + 1 if before is None or before > leaf else before
    if before is not None and before > leaf:
        with pytest.raises(InvalidArgument, match="isn't on the path"):
            session.history(leaf_id=names[leaf], before=names[before])
        before = None
    asked: dict[str, Any] = {"leaf_id": names[leaf], "newest_first": backwards}
    asked["before"] = None if before is None else names[before]
    step = -1 if backwards else 1
    path = names[:end][::step]
    batches = list(session.history_batches(batch_size=count, max_batch_bytes=budget, **asked))
    assert [ids(batch) for batch in batches] == expected_batches(path, sizes[:end][::step], count, budget)
    assert ids(session.history(**asked)) == ids(session.get_history(**asked)) == path


def test_the_default_window_is_fifty_messages_or_four_mib(session: Session) -> None:
    straight(session, 120)
    assert [len(batch) for batch in session.history_batches()] == [50, 50, 20]
    mebibyte = message("big", "x" * (1024 * 1024 - 200))
    session.clear_messages()
    session.append_messages([mebibyte | {"id": f"m{n}"} for n in range(6)])
    assert [ids(batch) for batch in session.history_batches()] == [["m0", "m1", "m2", "m3"], ["m4", "m5"]]


@pytest.mark.parametrize("wrong", [-1, True, 1.5, "5", None])
def test_a_window_of_no_number_is_refused_in_the_call(session: Session, wrong: Any) -> None:
    for argument in ("batch_size", "max_batch_bytes"):
        with pytest.raises(InvalidArgument, match=argument):
            session.history_batches(**{argument: wrong})
    with pytest.raises(InvalidArgument, match="batch_size"):
        session.history_batches(batch_size=0)


def test_a_window_without_room_holds_one_message(session: Session) -> None:
    straight(session, 3)
    assert [ids(batch) for batch in session.history_batches(max_batch_bytes=0)] == [["m0"], ["m1"], ["m2"]]


def test_arguments_are_checked_in_the_call_and_an_empty_session_has_no_history(session: Session) -> None:
    assert list(session.history()) == session.get_history() == []
    assert list(session.history_batches()) == []
    for call in (
        lambda: session.history(leaf_id="nope"),
        lambda: session.history(before="nope"),
        lambda: session.history_batches(leaf_id="nope"),
        lambda: session.get_history(before="nope"),
    ):
        with pytest.raises(UnknownMessage) as caught:
            call()
        assert caught.value.message_ids == ("nope",)


# ---- what is written between two windows


def begun(session: Session, *, newest_first: bool) -> tuple[list[Message], Iterator[Message]]:
    """A history of which the first message was taken, and with it the first window read."""
    reading = session.history(newest_first=newest_first)
    return [next(reading)], reading


@SHAPES
@pytest.mark.parametrize("newest_first", [False, True])
def test_messages_deleted_meanwhile_are_left_out(session: Session, shape: Shape, newest_first: bool) -> None:
    names = shape(session, 130)
    taken, reading = begun(session, newest_first=newest_first)
    session.delete_messages(["m10", "m60", "m61", "m75", "m119", "m129"])
    session.delete_messages(["m59"])
    path = names[::-1] if newest_first else names
    gone = {"m10", "m59", "m60", "m61", "m75", "m119", "m129"} - set(path[:50])  # the first window was read already
    assert ids(taken) + ids(reading) == [name for name in path if name not in gone]


@SHAPES
@pytest.mark.parametrize("newest_first", [False, True])
def test_what_is_appended_meanwhile_is_not_on_the_path(session: Session, shape: Shape, newest_first: bool) -> None:
    names = shape(session, 130)
    taken, reading = begun(session, newest_first=newest_first)
    session.append_message(message("later"))
    session.append_message(message("branch"), parent_id="m60")
    session.delete_messages(["m129"])  # what comes now takes its place in the chain, and is not on this path either
    session.append_message(message("instead"), parent_id="m128")
    path = names[::-1] if newest_first else names
    left_out = set() if newest_first else {"m129"}
    assert ids(taken) + ids(reading) == [name for name in path if name not in left_out]


@SHAPES
@pytest.mark.parametrize("newest_first", [False, True])
def test_bodies_are_those_of_the_moment_of_their_window(session: Session, shape: Shape, newest_first: bool) -> None:
    names = shape(session, 130)
    taken, reading = begun(session, newest_first=newest_first)
    for name in names:
        session.update_message(message(name, "new"))
    texts = [found["parts"][0]["text"] for found in (*taken, *reading)]
    assert texts == [""] * 50 + ["new"] * 80


@SHAPES
@pytest.mark.parametrize("newest_first", [False, True])
def test_a_session_emptied_meanwhile_ends_the_reading(session: Session, shape: Shape, newest_first: bool) -> None:
    names = shape(session, 130)
    taken, reading = begun(session, newest_first=newest_first)
    session.clear_messages()
    chain(session, "m0", "m1", "m129")  # others, of the same ids
    path = names[::-1] if newest_first else names
    assert ids(taken) + ids(reading) == path[:50]


def test_the_rest_of_a_path_is_read_when_the_chains_between_have_gone(session: Session) -> None:
    """A chain is pruned with its last message, and with it a reader's way back: what lies beyond is still its path."""
    ladder(session, 200)
    taken, reading = begun(session, newest_first=True)
    session.delete_messages([f"{kind}{n}" for n in range(40, 200) for kind in "md"])
    expected = [f"m{n}" for n in (*range(199, 149, -1), *range(39, -1, -1))]
    assert ids(taken) + ids(reading) == expected


def test_the_rest_is_found_past_messages_that_died_before(session: Session) -> None:
    ladder(session, 200)
    session.delete_messages(["m39", "m38", "m37"])
    taken, reading = begun(session, newest_first=True)
    session.delete_messages([f"{kind}{n}" for n in range(40, 200) for kind in "md"])
    session.delete_messages(["m36", "d36", "d37", "d38", "d39"])
    assert ids(taken) + ids(reading) == [f"m{n}" for n in (*range(199, 149, -1), *range(35, -1, -1))]


@pytest.mark.parametrize("died", [0, 1])
def test_the_rest_is_found_when_the_chain_of_the_leaf_has_gone(session: Session, died: int) -> None:
    """A read newest first has looked no further yet."""
    chain(session, *(f"m{n}" for n in range(60)))
    session.append_messages([message(f"b{n}") for n in range(70)], parent_id="m40")
    taken, reading = begun(session, newest_first=True)
    session.delete_branch("b0")
    session.delete_messages(["m40"] * died)
    window = [f"b{n}" for n in range(69, 19, -1)]
    assert ids(taken) + ids(reading) == window + [f"m{n}" for n in range(40 - died, -1, -1)]


@SHAPES
def test_a_reader_may_write_while_it_reads(session: Session, shape: Shape) -> None:
    names = shape(session, 130)
    for found in session.history():
        session.update_message(message(found["id"], "seen"))
        session.delete_messages([found["id"]]) if found["id"] in ("m3", "m77") else None
    assert ids(session.get_history()) == [name for name in names if name not in ("m3", "m77")]
    assert {found["parts"][0]["text"] for found in session.history()} == {"seen"}


# ---- trees in windows


def test_a_tree_of_many_chains_comes_parents_first(session: Session) -> None:
    names = ladder(session, 700)
    infos = list(session.tree())
    assert len(infos) == 1_399
    known: set[str | None] = {None}
    for info in infos:
        assert info.parent_id in known
        known.add(info.id)
    parents = {info.id: info.parent_id for info in infos}
    assert [parents[name] for name in names[1:]] == names[:-1]


def test_a_tree_read_while_it_changes_never_names_a_parent_that_it_has_not_shown(session: Session) -> None:
    names = ladder(session, 700)
    reading = session.tree()
    known = {next(reading).id}
    session.delete_messages(names[200:600:3])
    session.append_message(message("later"), parent_id="m650")
    for info in reading:
        assert info.parent_id in known or info.parent_id in names[200:600:3]
        known.add(info.id)
    assert known >= {"m699", "d699", "m650"}
    assert "m500" not in known


@pytest.mark.parametrize("read", ["tree", "history", "events"])
@pytest.mark.parametrize("length", [3, 500, 501])
def test_who_appends_at_each_of_what_a_reading_gives_comes_to_its_end(session: Session, read: str, length: int) -> None:
    names = straight(session, length)
    found = []
    for number, each in enumerate(getattr(session, read)()):
        assert number < length
        found.append(each)
        session.append_message(message(f"reply {number}"), parent_id=names[0] if number % 3 == 2 else LATEST)
    assert len(found) == length
    assert session.info().messages == 2 * length


# ---- numbers

NUMBERS: dict[str, Callable[[Session, int], Any]] = {
    "history_batches": lambda session, n: list(session.history_batches(batch_size=n, max_batch_bytes=n)),
    "newest first": lambda session, n: list(session.history_batches(batch_size=n, newest_first=True)),
    "get_recent_history": lambda session, n: session.get_recent_history(n, max_messages=n).messages,
    "search": lambda session, n: session.search("text", limit=n),
    "list_sessions": lambda session, n: list(session.sessions.list_sessions(limit=n)),
    "list_sessions of a view": lambda session, n: list(session.sessions.at(3).list_sessions(limit=n)),
    "events": lambda session, n: list(session.events(n)),
    "events of all": lambda session, n: list(session.sessions.events(n)),
    "tail": lambda session, n: list(session.tail(n, timeout=0)),
    "tail of all": lambda session, n: list(session.sessions.tail(n, timeout=0)),
}


@pytest.mark.parametrize("call", NUMBERS.values(), ids=NUMBERS)
@pytest.mark.parametrize(
    "number", [2**62, 2**63 - 1, 2**63, 2**64, 10**700], ids=["2^62", "-", "2^63", "2^64", "10^700"]
)
def test_a_number_that_sqlite_cannot_hold_is_a_large_one(
    session: Session, call: Callable[[Session, int], Any], number: int
) -> None:
    chain(session, "a", "b", "c")
    assert call(session, number) == call(session, 1_000_000)


@pytest.mark.parametrize("number", [2**63, 10**700], ids=["2^63", "10^700"])
def test_who_listens_from_such_a_number_hears_what_is_new(session: Session, sessions: Sessions, number: int) -> None:
    chain(session, "a")
    heard: list[str] = []
    for each in (session, sessions):
        each.subscribe(lambda event: heard.append(event.type), after=number)
    chain(session, "b")
    assert heard == ["append", "append"]


# ---- the log in windows


@pytest.mark.parametrize("read", ["events", "of a session", "tail", "subscribe"])
def test_a_window_of_the_log_holds_four_mib(sessions: Sessions, session: Session, read: str) -> None:
    """Seen by a reader that changes what it hasn't read: bodies are those of the moment of their window."""
    mebibyte = "x" * (1024 * 1024 - 200)
    session.append_messages([message(f"m{n}", mebibyte) for n in range(7)])
    reading: dict[str, Callable[[], Iterator[Any]]] = {
        "events": sessions.events,
        "of a session": session.events,
        "tail": lambda: sessions.tail(0, timeout=0),
    }
    texts: list[str] = []

    def see(event: Any) -> None:
        if event.type == "append":
            texts.append(event.message["parts"][0]["text"])
            if len(texts) == 1:
                for n in range(7):
                    session.update_message(message(f"m{n}", "new"))

    if read == "subscribe":
        sessions.subscribe(see, after=0)
    else:
        for event in reading[read]():
            see(event)
    assert [text == "new" for text in texts] == [False] * 4 + [True] * 3
