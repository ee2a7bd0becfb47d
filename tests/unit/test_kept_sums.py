"""Sums of paths and texts of growing replies that a store keeps: right behind a rollback, and while one is under way.

A sum is read by any thread, without the write lock. So what a transaction that isn't committed has summed up must not
be found by who reads what others committed under the same numbers.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import pytest

from eventstore import Message, Session, Sessions, StoreFull, driver, totals
from tests.keeping import watch
from tests.unit.files import put_back
from tests.unit.talk import message, reply

MANY = 100  # messages: a sum is kept some way behind the leaf
LONG = "a reply that is long enough to be stored as what is added to it. " * 50


def fork(session: Session) -> None:
    """Two branches: the totals of the session aren't those of a path."""
    session.append_messages([message("root"), message("beside")])
    session.append_message(message("first"), parent_id="root")


def append_many(session: Session, text: str) -> None:
    session.append_messages([message(f"m{n}", text) for n in range(MANY)])


def estimate_of(session: Session) -> int:
    """As another thread reads it."""
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(session.token_estimate()))
    thread.start()
    thread.join()
    return found[0]


def _undo(session: Session, meanwhile: Callable[[], None]) -> None:
    roll_back = driver.roll_back

    def then_others(connection: driver.Connection, depth: int) -> None:
        roll_back(connection, depth)
        meanwhile()

    with suppress(ZeroDivisionError), patch.object(driver, "roll_back", then_others), session.sessions.transaction():
        append_many(session, "a longer text")
        session.token_estimate()
        raise ZeroDivisionError


def _lose(session: Session, meanwhile: Callable[[], None]) -> None:
    with pytest.raises(StoreFull), session.sessions.transaction():  # noqa: PT012
        append_many(session, "a longer text")
        session.token_estimate()
        assert session.sessions._store.database._writer is not None
        session.sessions._store.database._writer.execute("ROLLBACK")  # as SQLite does by itself when the disk fails
        meanwhile()


@pytest.mark.parametrize("undo", [_undo, _lose])
def test_a_sum_is_right_while_others_write_behind_a_rollback(
    undo: Callable[[Session, Callable[[], None]], None], tmp_path: Path
) -> None:
    path = tmp_path / "store.db"
    with Sessions(path, durability="normal") as store, Sessions(path, durability="normal") as other:
        session = store.session()
        fork(session)
        found: list[int] = []

        def others_write_and_one_reads() -> None:
            append_many(other.session(), "short")
            found.append(estimate_of(session))

        undo(session, others_write_and_one_reads)
        right = sum(info.token_estimate for info in other.session().get_history_row_stats())
        assert found == [right]
        assert session.token_estimate() == right


def test_the_sums_of_a_transaction_are_kept_while_it_goes_on(sessions: Sessions) -> None:
    """Each call would else read the path again."""
    uses = watch(sessions)
    session = sessions.session()
    fork(session)
    with sessions.transaction():
        append_many(session, "text")
        session.token_estimate()
        session.append_message(message("more"))
        session.token_estimate()
        with suppress(ZeroDivisionError), sessions.transaction():
            session.delete_messages(["m1"])
            session.token_estimate()
            raise ZeroDivisionError
        session.append_message(message("more under the number of the delete"))
        session.token_estimate()
    session.token_estimate()
    assert uses.totals >= 2


@pytest.mark.parametrize("compacted", [False, True])
@pytest.mark.parametrize("tail", [1, 3])
def test_a_sum_is_right_whichever_message_was_updated_since(tail: int, compacted: bool) -> None:
    """The last of those that it counts too, and the first that it doesn't."""
    with Sessions() as store, patch.object(totals, "TAIL", tail):
        uses, session = watch(store), store.session()
        fork(session)
        session.append_messages([message(f"m{n}") for n in range(9)])
        if compacted:
            session.add_compaction("a summary", "m0", "m1")
        for n in (*range(9), *reversed(range(9))):
            session.token_estimate(compacted=compacted)  # it is kept, and held against one that is made anew
            session.update_message(message(f"m{n}", "longer " * store.latest_seq))
            session.token_estimate(compacted=compacted)
        assert uses.totals > 0


def test_a_rebuild_forgets_sums_of_damage(sessions: Sessions) -> None:
    session = sessions.session()
    fork(session)
    append_many(session, "text")
    right = session.token_estimate()
    assert sessions._store.database._writer is not None
    sessions._store.database._writer.execute("UPDATE message SET tokens = tokens + 1")
    session.append_message(message("leaf"))  # a sum is made, and kept
    session.delete_messages(["m1"])
    assert session.token_estimate() > right
    sessions.rebuild()
    assert session.token_estimate() == sum(info.token_estimate for info in session.get_history_row_stats())


@pytest.mark.parametrize("undone", [True, False])
def test_the_text_of_a_version_that_another_store_wrote_is_read(undone: bool, tmp_path: Path) -> None:
    """Under the number of an undone one, or behind one that is kept."""
    path = tmp_path / "store.db"
    with Sessions(path, durability="normal") as store, Sessions(path, durability="normal") as other:
        uses = watch(store)
        session = store.session()
        session.append_message(reply("r", LONG))
        with suppress(ZeroDivisionError), store.transaction():
            session.update_message(reply("r", LONG + "one"))
            if undone:
                raise ZeroDivisionError
        other.session().update_message(reply("r", LONG + "x"))
        for more in ("", " and more", " and more and more"):
            session.update_message(reply("r", LONG + "one" + more))
        assert session.get_message("r") == reply("r", LONG + "one and more and more")
        assert uses.texts == 2
        assert store.verify().problems == ()


def test_texts_of_an_undone_version_are_forgotten(sessions: Sessions) -> None:
    """The next version gets its number, and grows from another text."""
    uses = watch(sessions)
    session = sessions.session()
    session.append_message(reply("r", LONG))
    for undone, kept in (("one", "1"), ("two", "22")):
        with sessions.transaction():
            with suppress(ZeroDivisionError), sessions.transaction():
                session.update_message(reply("r", LONG + undone))
                raise ZeroDivisionError
            session.update_message(reply("r", LONG + kept))
        for _ in range(2):
            kept += " and more"
            session.update_message(reply("r", LONG + kept))
    assert session.get_message("r") == reply("r", LONG + kept)
    assert uses.texts >= 4
    assert sessions.verify().problems == ()


# ---- an older state that is put back under an open store


def with_image(letter: str, text: str) -> Message:
    """A reply with an image, which is taken out of its text."""
    url = "data:image/png;base64," + base64.b64encode(letter.encode() * 3_000).decode()
    image = {"type": "file", "mediaType": "image/png", "url": url}
    return {"id": "r", "role": "assistant", "parts": [image, {"type": "text", "text": text}]}


@pytest.mark.parametrize(
    ("ours", "theirs", "next"),
    [
        (reply("r", f"{LONG} one two"), reply("r", f"{LONG}x"), reply("r", f"{LONG} one two three")),
        (reply("r", f"{LONG} one two"), reply("r", f"{LONG}xxxxxxxx"), reply("r", f"{LONG} one two three")),
        (with_image("a", LONG), with_image("b", LONG), with_image("a", f"{LONG} and more")),
    ],
    ids=["a shorter text", "a text of that length", "another image"],
)
def test_a_text_is_not_gone_on_from_where_another_has_its_number(
    ours: Message, theirs: Message, next: Message, tmp_path: Path
) -> None:
    path = tmp_path / "store.db"
    with Sessions(path, durability="normal") as store, Sessions(path, durability="normal") as other:
        session = store.session()
        session.append_message(reply("r", "begins"))
        store.backup(tmp_path / "older.db")
        session.update_message(ours)
        put_back(tmp_path / "older.db", path)
        other.session().update_message(theirs)
        session.update_message(next)
        assert session.get_message("r") == next
        assert store.verify().problems == ()


@pytest.mark.parametrize("more", [0, 1, 10])
def test_a_sum_does_not_hold_where_others_have_the_numbers_of_its_events(more: int, tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Sessions(path, durability="normal") as store, Sessions(path, durability="normal") as other:
        session = store.session()
        fork(session)
        store.backup(tmp_path / "older.db")
        append_many(session, "a longer text")
        session.token_estimate()
        put_back(tmp_path / "older.db", path)
        append_many(other.session(), "short")
        for number in range(more):
            other.session().append_message(message(f"more {number}"))
        assert session.token_estimate() == sum(info.token_estimate for info in session.get_history_row_stats())
