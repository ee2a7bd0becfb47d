"""`follow` against the history that it must show: whatever is written, and however late it is heard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from eventstore import Message, Session, Sessions, UnknownMessage
from eventstore.testing import SessionMachine, Write, json_text, writes
from projections import Change, follow


class Followed:
    """A list that follows, a list that its changes are applied to, and what both must be."""

    def __init__(
        self,
        session: Session,
        transform: Callable[[Message], Any] | None = None,
        how: Callable[..., Any] = follow,
        **options: Any,
    ) -> None:
        self._session = session
        self._options = options
        self._transform = transform or (lambda message: message)
        self.rows: list[Any] = []
        self.told: list[Any] = []
        hooks: dict[str, Any] = {} if transform is None else {"transform": transform}
        self.following = how(session, self.rows, on_change=self._tell, **hooks, **options)

    def _tell(self, change: Change[Any]) -> None:
        stop = change.start + len(change.removed)
        assert json_text(self.rows[change.start : stop]) == json_text(change.removed)
        assert change.removed or change.added
        self.told[change.start : stop] = change.added

    def check(self) -> None:
        try:
            history = self._session.get_history(**self._options)
        except UnknownMessage:
            history = []
        expected = json_text([self._transform(message) for message in history])
        assert json_text(self.rows) == expected
        assert json_text(self.told) == expected


def shown(message: Message) -> list[object]:
    """An entry of which many are equal."""
    return [message["role"], len(message["parts"])]


def follow_all(session: Session, how: Callable[..., Any] = follow) -> list[Followed]:
    """In every way. A path of its own is followed to a message in the middle. `how` is what `follow` is called by."""
    ways = [Followed(session, how=how), Followed(session, how=how, compacted=False), Followed(session, shown, how)]
    infos = list(session.tree())
    if infos:
        leaf_id = infos[len(infos) // 2].id
        ways += [
            Followed(session, how=how, leaf_id=leaf_id),
            Followed(session, shown, how, leaf_id=leaf_id, compacted=False),
        ]
    return ways


class FollowMachine(SessionMachine):
    """One store: every write, with lists that began at any moment."""

    def setup(self) -> None:
        self.followed = follow_all(self.session)

    @rule()
    def follow_from_now_on(self) -> None:
        for each in self.followed[:-8]:
            each.following.close()
        self.followed = self.followed[-8:] + follow_all(self.session)

    @rule(place=st.integers(0, 20))
    def spoil_and_refresh(self, place: int) -> None:
        for each in self.followed:
            each.told[place : place + 2] = each.rows[place : place + 2] = [["mine"]]
            each.following.refresh()

    @rule()
    def rebuild(self) -> None:
        self.sessions.rebuild()

    @rule()
    def copy_back(self) -> None:
        """Another session is copied over this one."""
        self.elsewhere.copy_to(self.sessions.session("backup"))
        self.session.clear_messages()
        self.elsewhere.copy_to(self.session)
        self.sessions.delete_session("backup")

    @invariant()
    def lists_are_the_history(self) -> None:
        for each in self.followed:
            each.check()


TestFollow = FollowMachine.TestCase
TestFollow.settings = settings(max_examples=25)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return tmp_path_factory.mktemp("late")


RETENTIONS: Any = st.sampled_from(["current", "all"])


@given(before=writes(), history=writes(max_size=20), polls=st.sets(st.integers(0, 20)), retain=RETENTIONS)
def test_what_is_heard_late_is_right_after_each_poll(
    folder: Any, before: list[Write], history: list[Write], polls: set[int], retain: Any
) -> None:
    for path in folder.iterdir():
        path.unlink()
    path = folder / "store.db"
    with Sessions(path, durability="normal", retain=retain) as writer, Sessions(path) as reader:
        for write in before:
            write.apply(writer.session())
        followed = follow_all(reader.session())
        for number, write in enumerate(history):
            write.apply(writer.session())
            if number in polls:
                reader.poll()
                for each in followed:
                    each.check()
        reader.session("elsewhere").set_metadata({"a": 1})  # a write delivers what came before it
        for each in followed:
            each.check()
