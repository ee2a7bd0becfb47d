"""A store keeps the heads of the sessions that it wrote last. What another connection commits, a rebuild, and what is
rolled back must each make it look again: every way to change a head behind a store's back is one case here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from eventstore import Sessions
from tests.unit.talk import message


def _append(store: Sessions, path: Path) -> None:
    with Sessions(path) as other:
        other.session().append_message(message("theirs"))


def _branch(store: Sessions, path: Path) -> None:
    with Sessions(path) as other:
        other.session().append_message(message("theirs"), parent_id="first")
        other.session().select_leaf("first")


def _delete(store: Sessions, path: Path) -> None:
    with Sessions(path) as other:
        other.session().delete_messages(["first"])


def _clear(store: Sessions, path: Path) -> None:
    with Sessions(path) as other:
        other.session().clear_messages()


def _delete_session(store: Sessions, path: Path) -> None:
    with Sessions(path) as other:
        other.delete_session("")


def _roll_back(store: Sessions, path: Path) -> None:
    with pytest.raises(ZeroDivisionError), store.transaction():  # noqa: PT012
        store.session().append_messages([message("lost"), message("lost too")])
        store.session().delete_messages(["first"])
        raise ZeroDivisionError


def _roll_back_a_part(store: Sessions, path: Path) -> None:
    with store.transaction():
        store.session().append_message(message("kept"))
        with pytest.raises(ZeroDivisionError), store.transaction():  # noqa: PT012
            store.session().append_message(message("lost"))
            raise ZeroDivisionError
        store.session().append_message(message("kept too"))


def _damage(path: Path) -> None:
    with Sessions(path) as other, other.transaction():
        connection = other._store.database._writer
        assert connection is not None
        connection.execute("UPDATE head SET messages = 1000")


def _damage_and_rebuild(store: Sessions, path: Path) -> None:
    _damage(path)
    store.session().append_message(message("on damage"))
    store.rebuild()


def _damage_and_rebuild_elsewhere(store: Sessions, path: Path) -> None:
    _damage(path)
    store.session().append_message(message("on damage"))
    with Sessions(path) as other:
        other.rebuild()


CHANGES: list[Callable[[Sessions, Path], None]] = [
    _append,
    _branch,
    _delete,
    _clear,
    _delete_session,
    _roll_back,
    _roll_back_a_part,
    _damage_and_rebuild,
    _damage_and_rebuild_elsewhere,
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_write_begins_with_the_head_that_is_there(change: Callable[[Sessions, Path], None], tmp_path: Path) -> None:
    path = tmp_path / "conversations.db"
    with Sessions(path) as store:
        session = store.session()
        session.append_message(message("first"))
        session.append_message(message("second"))
        change(store, path)
        session.append_message(message("third"))
        session.append_messages([message("fourth"), message("fifth")])
        assert store.verify().problems == ()


def test_many_sessions_in_turn(tmp_path: Path) -> None:
    with Sessions(tmp_path / "conversations.db") as store:
        for turn in range(3):
            for number in range(150):  # more than are kept
                store.session(f"{number}").append_message(message(f"{turn}"))
        assert {told.messages for told in store.list_sessions()} == {3}
        assert store.verify().problems == ()
