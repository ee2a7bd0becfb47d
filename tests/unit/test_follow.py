"""`follow`: the list is the history, changed where it changes and nowhere else."""

from __future__ import annotations

import logging
from collections import UserList, deque
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from eventstore import Event, ImportRow, InvalidArgument, Message, Session, Sessions, StoreClosed, UnknownMessage
from eventstore.testing import same_json
from projections import Change, Following, follow
from tests.unit.talk import chain, ids, message

WHEN = datetime(2020, 2, 2, tzinfo=UTC)


class Told(list[tuple[int, list[str], list[str]]]):
    """Notes changes: where, the ids that go, the ids that come."""

    def __call__(self, change: Change[Message]) -> None:
        self.append((change.start, ids(change.removed), ids(change.added)))

    def taken(self) -> list[tuple[int, list[str], list[str]]]:
        """What was told since the last time."""
        told = list(self)
        self.clear()
        return told


class Followed:
    """A session with a list that follows it."""

    def __init__(self, session: Session, **options: Any) -> None:
        self.session = session
        self.options = options
        self.messages: list[Message] = []
        self.told = Told()
        self.following = follow(session, self.messages, on_change=self.told, **options)

    def check(self) -> list[tuple[int, list[str], list[str]]]:
        """That the list is the history; returns what was told of since the last time."""
        assert same_json(self.messages, self.session.get_history(**self.options))
        return self.told.taken()


@pytest.fixture
def followed(session: Session) -> Followed:
    """a - b - c, followed."""
    chain(session, "a", "b", "c")
    made = Followed(session)
    assert made.check() == [(0, [], ["a", "b", "c"])]
    return made


def test_it_is_filled_in_place_of_what_was_there(session: Session) -> None:
    chain(session, "a", "b")
    told = Told()
    messages: list[Message] = [message("a"), message("x"), message("y")]
    follow(session, messages, on_change=told)
    assert ids(messages) == ["a", "b"]
    assert told == [(1, ["x", "y"], ["b"])]


def test_an_empty_session_is_followed_from_its_first_message(session: Session) -> None:
    followed = Followed(session)
    chain(session, "a")
    assert followed.check() == [(0, [], ["a"])]


def test_appends_push_and_updates_replace(followed: Followed) -> None:
    session = followed.session
    session.append_message(message("d"))
    session.update_message(message("b", "new"))
    session.append_message(message("a"))  # known
    session.update_message(message("b", "new"))  # equal
    assert followed.check() == [(3, [], ["d"]), (1, ["b"], ["b"])]


def test_a_branch_replaces_what_lies_behind_its_fork(followed: Followed) -> None:
    session = followed.session
    session.append_message(message("c2"), parent_id="b")
    assert followed.check() == [(2, ["c"], ["c2"])]
    session.update_message(message("c", "on the other branch"))
    assert followed.check() == []
    session.select_leaf("c")
    assert followed.check() == [(2, ["c2"], ["c"])]
    session.select_leaf("a")
    assert followed.check() == [(1, ["b", "c"], [])]
    session.append_message(message("root"), parent_id=None)
    assert followed.check() == [(0, ["a"], ["root"])]


def test_deletes_take_out_the_slice_that_holds_them(followed: Followed) -> None:
    session = followed.session
    chain(session, "d", "e", parent_id="c")
    followed.told.clear()
    session.delete_messages(["d", "b"])
    assert followed.check() == [(1, ["b", "c", "d"], ["c"])]
    session.delete_messages(["e"])  # the leaf: the path ends before it
    assert followed.check() == [(2, ["e"], [])]
    session.clear_messages()
    assert followed.check() == [(0, ["a", "c"], [])]


def test_when_the_leaf_dies_the_path_that_was_touched_before_is_shown(followed: Followed) -> None:
    session = followed.session
    chain(session, "x", "y", parent_id="a")
    session.select_leaf("c")
    followed.told.clear()
    session.delete_messages(["c"])
    assert followed.check() == [(1, ["b", "c"], ["x", "y"])]


def test_imports_and_copies_are_followed(followed: Followed, sessions: Sessions) -> None:
    other = sessions.session("other")
    copy = Followed(other)
    followed.session.append_message(message("c2"), parent_id="b")
    followed.session.copy_to(other)
    assert ids(copy.messages) == ["a", "b", "c2"]
    copy.check()
    sessions.delete_session("other")
    assert copy.check() == [(0, ["a", "b", "c2"], [])]


def test_with_a_leaf_it_follows_that_path(followed: Followed) -> None:
    session = followed.session
    branch = Followed(session, leaf_id="b")
    assert branch.check() == [(0, [], ["a", "b"])]
    session.append_message(message("d"))
    session.append_message(message("b2"), parent_id="a")
    session.select_leaf("a")
    assert branch.check() == []
    session.update_message(message("b", "new"))
    session.delete_messages(["a"])
    assert branch.check() == [(1, ["b"], ["b"]), (0, ["a"], [])]


def test_a_leaf_that_is_gone_leaves_nothing_until_it_is_back(followed: Followed) -> None:
    session = followed.session
    branch = Followed(session, leaf_id="b")
    branch.told.clear()
    session.delete_messages(["b"])
    assert branch.told.taken() == [(0, ["a", "b"], [])]
    session.append_message(message("d"))
    branch.following.refresh()
    assert branch.messages == []
    session.append_message(message("b"))
    assert branch.check() == [(0, [], ["a", "c", "d", "b"])]
    session.clear_messages()
    assert branch.messages == []
    with pytest.raises(UnknownMessage):
        follow(session, [], leaf_id="b")


@pytest.mark.parametrize("polls", [True, False])
def test_a_branch_that_is_deleted_and_imported_again_is_followed_where_it_is_now(path: Path, polls: bool) -> None:
    with Sessions(path) as writer, Sessions(path) as reader:
        session = writer.session()
        chain(session, "a", "b", "c", "d")
        rows: list[Message] = []
        follow(reader.session(), rows, leaf_id="d")
        steps: list[Callable[[], object]] = [
            lambda: session.delete_branch("b"),
            lambda: session.import_message(message("d", "of old"), parent_id="a", created_at=WHEN),
            lambda: session.import_message(message("c"), parent_id="d", created_at=WHEN),
            lambda: session.update_message(message("d", "changed")),
            lambda: writer.delete_session(""),
            lambda: session.import_messages(
                [
                    ImportRow(message("d"), parent_id="b", created_at=WHEN),
                    ImportRow(message("b"), parent_id=None, created_at=WHEN),
                ]
            ),
        ]
        for step in steps:
            step()
            if polls:
                reader.poll()
                known = session.get_message("d") is not None
                assert rows == (session.get_history(leaf_id="d") if known else [])
        reader.poll()
        assert rows == [message("b"), message("d")]


@pytest.mark.parametrize("refreshed", [False, True])
def test_a_leaf_comes_back_below_a_summary_that_goes(followed: Followed, refreshed: bool) -> None:
    session = followed.session
    branch = Followed(session, leaf_id="c")
    session.add_compaction("they met", "a", "a")
    session.delete_messages(["c"])
    if refreshed:
        branch.following.refresh()
    session.append_message(message("c"))
    assert len(branch.messages) == 3
    session.delete_messages(["a"])
    branch.check()
    assert ids(branch.messages) == ["b", "c"]


# ---- what comes late


def test_a_read_that_shows_more_than_the_event_does_no_harm(path: Path) -> None:
    with Sessions(path) as writer, Sessions(path, read_only=True) as reader:
        chain(writer.session(), "a", "b", "c")
        followed = Followed(reader.session())
        session = writer.session()
        session.append_message(message("c2"), parent_id="b")  # at this one the whole end is read
        session.update_message(message("a", "new"))
        session.append_message(message("d"))
        session.delete_messages(["c2", "c"])
        session.append_message(message("e"))
        followed.told.clear()
        assert reader.poll() == 5
        assert ids(followed.messages) == ["a", "b", "d", "e"]
        assert followed.check() == [(0, ["a", "b", "c"], ["a", "b", "d", "e"])]


def test_messages_that_are_gone_when_they_are_heard_of(path: Path) -> None:
    with Sessions(path) as writer, Sessions(path) as reader:
        followed = Followed(reader.session())
        session = writer.session()
        chain(session, "a", "b", "c")
        session.delete_messages(["b"])
        session.append_message(message("b", "another"), parent_id="a")
        reader.poll()
        followed.check()
        session.append_message(message("x"))
        session.delete_branch("a")
        session.clear_messages()
        chain(session, "b")
        reader.poll()
        followed.check()
        assert ids(followed.messages) == ["b"]


def test_a_listener_that_writes_is_followed_in_order(followed: Followed) -> None:
    session = followed.session

    def answer(event: Event) -> None:
        if event.to_dict().get("message", {}).get("role") == "user" and len(followed.messages) < 8:
            session.append_message(message(f"to {event.seq}"))

    session.subscribe(answer)
    session.append_message(message("d"), parent_id="b")
    followed.check()
    assert len(followed.messages) == 8


def test_a_transaction_is_followed_after_its_commit(followed: Followed, sessions: Sessions) -> None:
    session = followed.session
    with sessions.transaction():
        chain(session, "x", "y", parent_id="a")
        session.select_leaf("c")
        session.delete_messages(["b"])
        assert ids(followed.messages) == ["a", "b", "c"]
    assert followed.check() == [(1, ["b"], [])]


# ---- the owner


@pytest.mark.parametrize("spoil", ["clear", "reverse", "pop", "exchange", "edit", "add"])
def test_a_spoilt_list_is_healed(followed: Followed, spoil: str) -> None:
    messages = followed.messages
    if spoil == "exchange":
        messages[1] = message("mine")
    elif spoil == "edit":
        messages[1]["parts"][0]["text"] = "edited"
    elif spoil == "add":
        messages.insert(0, message("mine"))
    else:
        getattr(messages, spoil)()
    followed.following.refresh()
    assert len(followed.check()) == 1
    followed.following.refresh()
    assert followed.check() == []


def test_a_list_of_another_length_is_healed_by_the_next_event(followed: Followed) -> None:
    followed.messages.append(message("mine"))
    followed.session.append_message(message("d"))
    assert followed.check() == [(3, ["mine"], ["d"])]


@pytest.mark.parametrize("true", [1, 1.0])
def test_healing_tells_numbers_apart(session: Session, true: object) -> None:
    session.append_message({"id": "a", "role": "user", "parts": [{"type": "data", "data": True}]})
    followed = Followed(session)
    followed.messages[0]["parts"][0]["data"] = true
    followed.following.refresh()
    followed.check()


def test_a_refresh_inside_a_listener_and_in_an_empty_session(followed: Followed, sessions: Sessions) -> None:
    seen: list[list[str]] = []

    def listener(_event: Event) -> None:
        followed.messages.clear()
        followed.following.refresh()
        seen.append(ids(followed.messages))

    followed.session.subscribe(listener)
    followed.session.append_message(message("d"))
    assert seen == [["a", "b", "c", "d"]]
    empty = Followed(sessions.session("empty"))
    empty.messages.append(message("mine"))
    empty.following.refresh()
    assert empty.check() == [(0, ["mine"], [])]


def test_after_its_end_nothing_changes(followed: Followed) -> None:
    followed.following.close()
    followed.session.append_message(message("d"))
    followed.following.refresh()
    assert ids(followed.messages) == ["a", "b", "c"]
    with follow(followed.session, followed.messages) as following:
        assert isinstance(following, Following)
        assert len(followed.messages) == 4


def test_any_mutable_sequence_will_do_and_only_slices_are_assigned(session: Session) -> None:
    class Rows(UserList[str]):
        assigned = 0

        def __setitem__(self, place: Any, rows: Any) -> None:
            assert isinstance(place, slice)
            Rows.assigned += 1
            super().__setitem__(place, rows)

    def refused(self: Rows, *_: object) -> None:
        raise AssertionError

    for method in ("append", "insert", "extend", "pop", "remove", "clear", "__delitem__", "__iadd__"):
        setattr(Rows, method, refused)

    rows = Rows()
    follow(session, rows, transform=lambda made: made["id"])
    chain(session, "a", "b", "c")
    session.update_message(message("b", "new"))
    session.delete_messages(["a"])
    assert (list(rows), Rows.assigned) == (["b", "c"], 5)


# ---- hooks


def test_a_change_is_told_before_it_comes(session: Session) -> None:
    seen: list[tuple[list[str], Change[str]]] = []
    rows: list[str] = []
    follow(session, rows, transform=lambda made: made["id"].upper(), on_change=lambda it: seen.append((rows[:], it)))
    chain(session, "a", "b")
    session.select_leaf("a")
    assert seen == [([], Change(0, [], ["A"])), (["A"], Change(1, [], ["B"])), (["A", "B"], Change(1, ["B"], []))]


def test_a_hook_may_ask_for_a_refresh(session: Session) -> None:
    rows: list[Message] = []
    following: list[Following] = []
    told = Told()

    def on_change(change: Change[Message]) -> None:
        told(change)
        for each in following:
            each.refresh()

    following.append(follow(session, rows, on_change=on_change))
    chain(session, "a", "b")
    session.delete_messages(["a"])
    assert rows == session.get_history()
    assert told == [(0, [], ["a"]), (1, [], ["b"]), (0, ["a"], [])]


def test_a_hook_that_raises_is_logged_and_the_list_is_right(
    followed: Followed, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_change: object) -> None:
        raise ValueError("a fault of a hook's")

    rows: list[Message] = []
    with pytest.raises(ValueError, match="of a hook's"):
        follow(followed.session, rows, on_change=fail)
    rows.clear()
    told: list[object] = []

    def tell(change: object) -> None:
        if rows:
            told.append(change)
            fail(change)

    follow(followed.session, rows, on_change=tell)
    with caplog.at_level(logging.ERROR, logger="eventstore"):
        followed.session.append_message(message("d"))
        followed.session.append_message(message("d2"), parent_id="c")
    assert rows == followed.messages
    assert len(told) == len(caplog.records) == 2


def test_a_transform_that_raises_delays_the_list(followed: Followed) -> None:
    broken = True

    def transform(made: Message) -> str:
        if broken and made["id"] == "d":
            raise ValueError("a fault of a transform's")
        return made["id"]

    rows: list[str] = []
    following = follow(followed.session, rows, transform=transform)
    followed.session.append_message(message("d"))
    followed.session.append_message(message("e"))
    assert rows == ["a", "b", "c"]
    with pytest.raises(ValueError, match="transform's"):
        following.refresh()
    broken = False
    followed.session.append_message(message("f"))
    assert rows == ["a", "b", "c", "d", "e", "f"]


def test_the_list_that_is_told_of_is_its_hearers(session: Session) -> None:
    rows: list[Message] = []
    follow(session, rows, on_change=lambda change: change.added.clear())
    chain(session, "a")
    assert ids(rows) == ["a"]


async def _coroutine(*_: object) -> None: ...


@pytest.mark.parametrize("hook", ["transform", "on_change"])
@pytest.mark.parametrize("function", [5, _coroutine], ids=["number", "coroutine"])
def test_odd_arguments_are_refused(session: Session, hook: str, function: Any) -> None:
    with pytest.raises(InvalidArgument):
        follow(session, [], **{hook: function})
    with pytest.raises(InvalidArgument):
        follow(session, ("a",))  # type: ignore[call-overload]
    without_slices: deque[Message] = deque()
    with pytest.raises(InvalidArgument, match="slices"):
        follow(session, without_slices)


def test_a_closed_store_is_not_followed(session: Session, sessions: Sessions) -> None:
    rows: list[Message] = []
    following = follow(session, rows)
    sessions.close()
    with pytest.raises(StoreClosed):
        following.refresh()
