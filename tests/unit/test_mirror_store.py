"""`mirror` on a real store: files, cursors, transactions, threads, other writers of the file."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from eventstore import Appended, Event, Message, Sessions, StoreClosed, Updated
from projections import mirror
from tests.unit.recorded import message, pending


@pytest.fixture
def sessions(tmp_path: Path) -> Iterator[Sessions]:
    with Sessions(tmp_path / "a.db", durability="normal") as opened:
        yield opened


def ids(rows: list[Message]) -> list[str]:
    return [row["id"] for row in rows]


def test_every_write_of_the_session_and_no_other(sessions: Sessions) -> None:
    session, other = sessions.session("one"), sessions.session("other")
    rows: list[Message] = []
    mirror(session, rows)
    session.append_messages([message("a"), message("b")])
    other.append_message(message("a", "another's"))
    session.append_message(message("c"), parent_id="a")
    assert rows == [message("a"), message("b"), message("c")]
    session.append_message(message("a", "again"))
    session.update_message(message("b", "new"))
    session.upsert_message(message("c", "new"))
    session.upsert_message(message("d"))
    session.import_message(message("i"), parent_id="d", created_at=datetime(2020, 1, 1, tzinfo=UTC))
    session.update_message(message("i", "new"))
    session.select_leaf("b")
    session.set_metadata({"title": "A talk"})
    other.clear_messages()
    assert rows == [message("a"), message("b", "new"), message("c", "new"), message("d")]
    session.delete_messages(["i", "a"])
    session.delete_branch("c")
    assert ids(rows) == ["b"]
    session.clear_messages()
    assert rows == []
    session.append_message(message("a", "anew"))
    sessions.delete_session("other")
    assert rows == [message("a", "anew")]
    sessions.delete_session("one")
    assert rows == []


def test_it_carries_on_from_what_was_read(sessions: Sessions) -> None:
    session = sessions.session()
    session.append_messages([message("a"), message("b"), message("c")])
    session.delete_messages(["a"])
    recent = session.get_recent_history()
    session.append_message(message("d"))
    session.update_message(message("c", "new"))
    session.delete_messages(["b"])
    rows = recent.messages
    mirror(session, rows, after=recent.seq)
    assert rows == [message("c", "new"), message("d")] == session.get_history()
    session.append_message(message("e"))
    assert rows == session.get_history()


@pytest.mark.parametrize("retain", ["current", "all"])
def test_the_whole_log_gives_the_list_of_one_who_was_there(tmp_path: Path, retain: Any) -> None:
    with Sessions(tmp_path / "a.db", durability="normal", retain=retain) as sessions:
        session = sessions.session()
        there: list[Message] = []
        mirror(session, there)
        session.append_messages([message(f"m{number}") for number in range(300)])
        session.delete_messages([f"m{number}" for number in range(0, 300, 2)])
        session.update_message(message("m1", "new"))
        session.append_message(message("m0", "back"))
        session.append_message(message("short-lived"))
        session.update_message(message("short-lived", "new"))
        session.delete_messages(["short-lived"])
        late: list[Message] = []
        mirror(session, late, after=0)
        assert late == there
        assert len(late) == 151
        reopened: list[Message] = []
    with Sessions(tmp_path / "a.db") as sessions:
        mirror(sessions.session(), reopened, after=0)
        assert reopened == there


def test_a_transaction_arrives_whole_or_not_at_all(sessions: Sessions) -> None:
    session = sessions.session()
    rows: list[Message] = []
    mirror(session, rows)
    with sessions.transaction():
        session.append_messages([message("a"), message("b")])
        session.update_message(message("a", "new"))
        assert rows == []
    assert rows == [message("a", "new"), message("b")]
    with suppress(ZeroDivisionError), sessions.transaction():
        session.delete_messages(["a"])
        raise ZeroDivisionError
    assert rows == [message("a", "new"), message("b")]


def test_a_batch_confirms_all_its_pending_rows(sessions: Sessions) -> None:
    session = sessions.session()
    rows: list[Message] = []
    mirror(session, rows)
    batch = [message("a"), message("b"), message("c")]
    rows.extend(pending(new["id"]) for new in batch)
    session.append_messages(batch)
    assert rows == batch


def test_what_an_owner_does_to_an_entry_stays_with_that_list(sessions: Sessions) -> None:
    session = sessions.session()
    one: list[Message] = []
    other: list[Message] = []
    mirror(session, one)
    mirror(session, other)
    given = message("a", "text")
    stored = session.append_message(given).message
    one[0]["parts"].clear()
    assert given == stored == message("a", "text")
    assert other == [message("a", "text")] == session.get_history()


def test_after_closing_nothing_comes(sessions: Sessions) -> None:
    session = sessions.session()
    rows: list[Message] = []
    with mirror(session, rows):
        session.append_message(message("a"))
    session.append_message(message("b"))
    stop = mirror(session, rows)
    session.append_message(message("c"))
    stop()
    session.append_message(message("d"))
    assert ids(rows) == ["a", "c"]


def test_a_closed_store_cannot_be_mirrored(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "a.db")
    session = sessions.session()
    sessions.close()
    with pytest.raises(StoreClosed):
        mirror(session, [], after=0)


def test_a_hook_may_write_and_its_event_comes_next(sessions: Sessions) -> None:
    def answer(event: Appended | Updated, entry: Message, previous: Message | None) -> None:
        if isinstance(event, Appended) and len(rows) < 2_000:
            session.append_message(message(f"m{len(rows)}"))

    session = sessions.session()
    rows: list[Message] = []
    mirror(session, rows, on_applied=answer)
    with sessions.transaction():
        session.append_message(message("m0"))
    assert ids(rows) == [f"m{number}" for number in range(2_000)]


def test_a_hook_that_raises_is_logged_and_harms_neither_the_write_nor_the_list(
    sessions: Sessions, caplog: pytest.LogCaptureFixture
) -> None:
    def transform(source: Message) -> str:
        if source["id"] == "bad":
            raise RuntimeError("broken")
        return source["id"]

    session = sessions.session()
    rows: list[str] = []
    others: list[Message] = []
    mirror(session, rows, transform=transform)
    mirror(session, others)
    with caplog.at_level(logging.ERROR):
        session.append_messages([message("a"), message("bad"), message("c")])
    session.delete_messages(["a"])
    assert rows == ["c"]
    assert ids(others) == ["bad", "c"]
    assert "broken" in caplog.text


def test_several_threads(sessions: Sessions) -> None:
    def write(name: str) -> None:
        for number in range(25):
            session.append_message(message(f"{name}{number}"))
            session.update_message(message(f"{name}{number}", "new"))
            if number % 5 == 4:
                session.delete_messages([f"{name}{number - 2}"])

    session = sessions.session()
    rows: list[Message] = []
    texts: list[list[str]] = []
    mirror(session, rows)
    mirror(session, texts, transform=lambda m: [m["id"], m["parts"][0]["text"]])
    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(rows) == 4 * 20
    assert rows == session.get_history()
    assert texts == [[row["id"], "new"] for row in rows]


def test_what_another_store_writes_to_the_file_comes_with_a_poll_or_the_next_write(tmp_path: Path) -> None:
    with Sessions(tmp_path / "a.db") as here, Sessions(tmp_path / "a.db") as there:
        rows: list[Message] = []
        mirror(here.session(), rows)
        there.session().append_message(message("a"))
        assert rows == []
        here.poll()
        assert rows == [message("a")]
        there.session().append_message(message("b"))
        here.session().append_message(message("c"))
        assert ids(rows) == ["a", "b", "c"]


def test_an_owner_who_reassigns_and_reloads_on_a_branch(sessions: Sessions) -> None:
    class Agent:
        def __init__(self) -> None:
            self.messages: list[Message] = []
            self.mirroring = mirror(session, get=lambda: self.messages, set=self.show, intercept=self.reload)

        def show(self, messages: list[Message]) -> None:
            self.messages = messages

        def reload(self, event: Event) -> bool:
            if isinstance(event, Appended) and self.messages and event.parent_id != self.messages[-1]["id"]:
                self.messages = session.get_history()
                return True
            return False

    session = sessions.session()
    agent = Agent()
    session.append_messages([message("a"), message("b"), message("c")])
    assert agent.messages == session.get_history()
    session.append_message(message("d"), parent_id="a")
    assert ids(agent.messages) == ["a", "d"]
    session.append_message(message("e"))
    session.update_message(message("d", "new"))
    assert agent.messages == session.get_history()
    agent.mirroring.close()
