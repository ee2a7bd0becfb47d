"""Messages of any size: split over rows, read back whole, whatever limit SQLite was built with."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest
from hypothesis import strategies as st

from eventstore import ImportRow, InvalidArgument, Session, Sessions, driver
from eventstore.testing import same_json
from tests.unit.talk import Heard, ids, message, reply

LENGTHS = st.sampled_from((0, 1, 30, 300, 3_000))
LETTERS = st.sampled_from(("a", "é", "消", "👍", "\x00", "\ud83d", '"', "\\"))


@pytest.mark.parametrize("letter", ["x", "消", '"'])
def test_a_message_on_either_side_of_one_row_reads_back(path: Path, letter: str) -> None:
    """1.5 MiB of JSON is the most that goes into one row."""
    row = 1_572_864
    width = 2 if letter == '"' else len(letter.encode())
    overhead = len('{"id":"m0","role":"user","parts":[{"type":"text","text":""}]}')
    counts = [(row - overhead) // width + more for more in (-1, 0, 1, 2)]
    given_messages = [message(f"m{n}", letter * count) for n, count in enumerate(counts)]
    with Sessions(path, durability="normal") as sessions:
        session = sessions.session()
        session.append_messages(given_messages)
        sizes = [info.bytes for info in session.tree()]
        assert sizes == [overhead + width * count for count in counts]
        assert sizes[0] <= row < sizes[-1]
        assert same_json(session.get_history(), given_messages)
    with Sessions(path, read_only=True) as sessions:
        assert same_json(list(sessions.session().history(newest_first=True)), given_messages[::-1])
        assert sessions.verify().ok


def test_a_large_message_grows_shrinks_and_goes(path: Path) -> None:
    five_mb = "消息" * 850_000
    with Sessions(path, durability="normal") as sessions:
        session = sessions.session()
        session.append_message(reply("a", five_mb))
        assert same_json(session.get_message("a"), reply("a", five_mb))
        for text in (five_mb + "x" * 2_000_000, "前" + five_mb + "x" * 2_000_000, "short", five_mb + "\ud83d"):
            session.update_message(reply("a", text))
            assert same_json(session.get_message("a"), reply("a", text))
        info = session.get_message_info("a")
        assert info is not None
        assert info.bytes == session.info().bytes > 5_000_000
        assert sessions.verify().ok
        session.delete_messages(["a"])
        assert sessions.verify().ok
    assert "消息消息".encode() not in path.read_bytes()


def test_metadata_is_as_large_as_it_likes(sessions: Sessions, session: Session) -> None:
    for text in ("é" * 2_000_000, "short", "消" * 1_000_000):
        session.set_metadata({"notes": text})
        assert session.get_metadata() == {"notes": text}
    assert sessions.verify().ok


@pytest.fixture
def _two_megabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite as it is built for small machines: no value and no row over 2 MB."""
    configure = driver.configure

    def lowered(connection: driver.Connection, busy_timeout: float) -> None:
        configure(connection, busy_timeout)
        connection.limit(apsw.SQLITE_LIMIT_LENGTH, 2_000_000)

    monkeypatch.setattr(driver, "configure", lowered)


@pytest.mark.usefixtures("_two_megabytes")
def test_nothing_is_too_large_for_sqlites_lowest_limits(path: Path) -> None:
    huge = message("huge", "消息 text " * 1_200_000)
    with Sessions(path, durability="normal", count_tokens=lambda _message: 7) as sessions:
        session = sessions.session()
        session.append_messages([message("a"), huge])
        assert session.info().bytes > 14_000_000
    with Sessions(path, durability="normal") as sessions:
        session = sessions.session()
        assert next(session.history(newest_first=True)) == huge
        session.update_message(message("huge", huge["parts"][0]["text"][:1_000_000]))
        assert session.get_recent_history(1_000).messages == [message("huge", huge["parts"][0]["text"][:1_000_000])]
        session.update_message(message("huge", "é" * 1_500_000 + huge["parts"][0]["text"][:1_000_000]))
        session.delete_messages(["huge"])
        assert ids(session.tree()) == ["a"]
        assert sessions.verify().ok


TOO_LONG = "n" * 2_200_000
CALLS_WITH_WORDS: dict[str, Callable[[Sessions, Session], object]] = {
    "an id": lambda _, session: session.append_message(message(TOO_LONG)),
    "an id beside a full row of text": lambda _, session: session.append_message(
        {"role": "user", "id": "n" * 500_000, "parts": message("n", "x" * 3_000_000)["parts"]}
    ),
    "one id of a batch": lambda _, session: session.append_messages([message("new"), message(TOO_LONG)]),
    "an id that is looked for": lambda _, session: session.get_message(TOO_LONG),
    "an id to delete": lambda _, session: session.delete_messages(["a", TOO_LONG]),
    "a parent": lambda _, session: session.append_message(message("new"), parent_id=TOO_LONG),
    "a parent that rows wait for": lambda _, session: session.import_messages(
        [ImportRow(message("new"), parent_id=TOO_LONG, created_at=datetime.now(UTC))]
    ),
    "a role": lambda _, session: session.append_message({**message("new"), "role": TOO_LONG}),
    "a session's name": lambda sessions, _: sessions.session(TOO_LONG).append_message(message("new")),
    "a name that is read": lambda sessions, _: sessions.session(TOO_LONG).get_history(),
    "a prefix": lambda sessions, _: list(sessions.list_sessions(prefix=TOO_LONG)),
    "a word to search for": lambda sessions, _: sessions.search(TOO_LONG),
}


@pytest.mark.usefixtures("_two_megabytes")
@pytest.mark.parametrize("call", CALLS_WITH_WORDS)
def test_a_word_that_fits_no_row_is_refused_and_nothing_changes(path: Path, call: str) -> None:
    """Ids, roles and names aren't split over rows. SQLite's usual limit is 1 GB."""
    with Sessions(path, durability="normal") as sessions:
        session = sessions.session()
        session.append_messages([message("a"), message("n" * 300_000, "x" * 3_000_000)])
        heard = Heard()
        sessions.subscribe(heard)
        with pytest.raises(InvalidArgument, match="too long for one row"):
            CALLS_WITH_WORDS[call](sessions, session)
        assert heard == []
        assert session.append_message(message("after")).seq == 3
        assert ids(session.get_history()) == ["a", "n" * 300_000, "after"]
        assert sessions.verify().ok


@pytest.mark.usefixtures("_two_megabytes")
def test_lists_of_ids_are_never_too_long_for_one_row(path: Path) -> None:
    names = [f"{n:05} {'x' * 100}" for n in range(15_000)]
    with Sessions(path, durability="normal") as sessions:
        session = sessions.session()
        session.append_messages([message(name) for name in names])
        heard = Heard()
        sessions.subscribe(heard)
        assert session.delete_messages(names[1:]) == names[1:]
        assert heard[0].message_ids == tuple(names[1:])  # type: ignore[attr-defined]
        (event,) = sessions.events(15_000)
        assert event == heard[0]
        assert ids(session.get_history()) == names[:1]
