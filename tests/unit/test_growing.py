"""Replies that grow by updates, and messages of any size: every version reads back whole, however it is stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw
import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventstore import Message, Session, Sessions, driver
from eventstore.testing import same_json
from tests.unit.talk import Heard, ids, message

LENGTHS = st.sampled_from((0, 1, 30, 300, 3_000))
LETTERS = st.sampled_from(("a", "é", "消", "👍", "\x00", "\ud83d", '"', "\\"))


@attrs.frozen
class Edit:
    """One step of a reply: `text` takes the place of `cut` characters at a share of its length."""

    where: float
    cut: int
    text: str
    state: str

    def of(self, before: str) -> str:
        at = round(self.where * len(before))
        return before[:at] + self.text + before[at + self.cut :]


EDITS = st.builds(
    Edit,
    where=st.sampled_from((1.0, 1.0, 1.0, 0.99, 0.5, 0.0)),
    cut=st.sampled_from((0, 0, 0, 0, 1, 100, 10_000)),
    text=st.builds(lambda letter, length: letter * length, LETTERS, LENGTHS),
    state=st.sampled_from(("streaming", "streaming", "streaming", "done")),
)


def reply(message_id: str, text: str, state: str = "streaming") -> Message:
    """An assistant's reply as it streams: its text in the middle of its JSON."""
    parts = [{"type": "text", "text": text, "state": state}]
    return {"id": message_id, "role": "assistant", "parts": parts, "metadata": {"model": "m"}}


class Stores:
    """Two stores on one new file, closed and removed at the end."""

    def __init__(self, retain: Any) -> None:
        self._exit = ExitStack()
        self._path = Path(self._exit.enter_context(TemporaryDirectory())) / "store.db"
        self.open = [self._opened(retain=retain), self._opened()]

    def _opened(self, **options: Any) -> Sessions:
        return self._exit.enter_context(Sessions(self._path, durability="normal", **options))

    def reopen(self) -> None:
        """Closes both, and opens one again."""
        for sessions in self.open:
            sessions.close()
        self.open = [self._opened(), self._opened(read_only=True)]

    def __enter__(self) -> Stores:
        return self

    def __exit__(self, *exc: object) -> None:
        self._exit.close()


def versions_in_time(sessions: Sessions, seqs: Sequence[int], message_id: str) -> Iterator[Message | None]:
    """A message as views after each of these events show it."""
    for seq in seqs:
        with sessions.at(seq) as view:
            yield view.session().get_message(message_id)


ERASED = {"id": "a", "role": "assistant", "parts": [{"type": "erased"}]}


@settings(max_examples=25)
@given(
    start=LENGTHS, steps=st.lists(st.tuples(EDITS, st.integers(0, 1)), min_size=1, max_size=14), retain=st.booleans()
)
def test_every_version_reads_back_from_either_store_and_in_time(
    start: int, steps: list[tuple[Edit, int]], retain: bool
) -> None:
    """Two stores stream into one message by turns: neither trusts what it remembers of it."""
    with Stores("all" if retain else "current") as stores:
        text = "s" * start
        stores.open[0].session().append_message(reply("a", text))
        versions: dict[int, Message] = {1: reply("a", text)}
        for edit, who in steps:
            text = edit.of(text)
            expected = reply("a", text, edit.state)
            writer = stores.open[who]
            returned = writer.session().update_message(expected)
            assert same_json(returned, expected)
            versions.setdefault(writer.latest_seq, expected)
            for sessions in stores.open:
                assert same_json(sessions.session().get_message("a"), expected)
                assert same_json(sessions.session().get_history(), [expected])
        stores.reopen()
        for sessions in stores.open:
            assert same_json(sessions.session().get_message("a"), expected)
            past = list(versions_in_time(sessions, list(versions), "a"))
            if retain:
                assert same_json(past, list(versions.values()))
            else:
                assert same_json(past, [ERASED] * (len(past) - 1) + [expected])
            assert sessions.verify().ok


@settings(max_examples=15)
@given(st.lists(st.tuples(EDITS, st.booleans()), min_size=1, max_size=10), st.booleans())
def test_an_update_rolled_back_has_never_been(steps: list[tuple[Edit, bool]], outer: bool) -> None:
    with Sessions() as sessions:
        session = sessions.session()
        text = "s" * 3_000
        session.append_message(reply("a", text))
        heard = Heard()
        sessions.subscribe(heard)
        for edit, kept in steps:
            new = edit.of(text)
            with suppress(ZeroDivisionError), sessions.transaction():
                with suppress(ZeroDivisionError), sessions.transaction():
                    session.update_message(reply("a", new))
                    assert same_json(session.get_message("a"), reply("a", new))
                    if not kept and not outer:
                        raise ZeroDivisionError
                if not kept and outer:
                    raise ZeroDivisionError
            text = new if kept else text
            assert same_json(session.get_message("a"), reply("a", text))
        told = [event.message for event in heard]  # type: ignore[attr-defined]
        if told:
            assert same_json(told[-1], reply("a", text))
        assert heard.seqs == list(range(2, sessions.latest_seq + 1))
        assert sessions.verify().ok


def test_a_text_that_was_rolled_back_is_not_gone_on_from(path: Path) -> None:
    """Another store's update has the number that the rolled back one had."""
    text = "s" * 3_000
    with Sessions(path, durability="normal") as one, Sessions(path, durability="normal") as two:
        one.session().append_message(reply("a", text))
        with suppress(ZeroDivisionError), one.transaction():
            one.session().update_message(reply("a", text + "never"))
            raise ZeroDivisionError
        two.session().update_message(reply("a", text + "other"))
        one.session().update_message(reply("a", text + "never" + "more"))
        for sessions in (one, two):
            assert same_json(sessions.session().get_message("a"), reply("a", text + "nevermore"))
            assert sessions.verify().ok


def test_a_growing_reply_is_told_as_it_stood_at_each_update(sessions: Sessions, session: Session) -> None:
    heard = Heard()
    sessions.subscribe(heard)
    texts = ["x" * n for n in range(3_000, 6_000, 100)]
    session.append_message(reply("a", ""))
    for text in texts:
        session.update_message(reply("a", text))
    assert [len(event.message["parts"][0]["text"]) for event in heard] == [0, *map(len, texts)]  # type: ignore[attr-defined]
    late = list(sessions.events())  # of the versions that are gone the log tells the message as it stands
    assert {len(event.message["parts"][0]["text"]) for event in late} == {5_900}  # type: ignore[attr-defined]
    assert not any(event.erased for event in late)


def test_more_replies_than_are_remembered_grow_side_by_side(sessions: Sessions, session: Session) -> None:
    names = [f"r{n}" for n in range(20)]
    session.append_messages([reply(name, "") for name in names])
    for step in range(1, 12):
        for name in names:
            session.update_message(reply(name, f"{name} says " * 100 * step))
    assert same_json(session.get_history(), [reply(name, f"{name} says " * 1_100) for name in names])
    assert sessions.verify().ok


def test_a_growing_reply_that_is_deleted_or_cut_is_gone_from_the_file(path: Path) -> None:
    secret = "the secret word is xyzzy"
    with Sessions(path) as sessions:
        session = sessions.session()
        for name in ("deleted", "cut", "cleared"):
            session.append_message(reply(name, "x" * 5_000))
            for n in range(5):
                session.update_message(reply(name, "x" * 5_000 + secret * n))
        session.delete_messages(["deleted"])
        session.update_message(reply("cut", "x" * 5_000))
    assert path.read_bytes().count(secret.encode()) >= 4
    with Sessions(path) as sessions:
        sessions.session().clear_messages()
        assert sessions.verify().ok
    assert secret.encode() not in path.read_bytes()
    assert b"x" * 100 not in path.read_bytes()


def test_retention_may_change_while_a_reply_grows(path: Path) -> None:
    """What was retained stays readable; what is superseded under "current" is erased, though its bytes are there."""
    texts = ["x" * n for n in range(3_000, 3_900, 100)]
    for number, text in enumerate(texts):
        with Sessions(path, retain="all" if number % 4 < 2 else "current") as sessions:
            session = sessions.session()
            session.upsert_message(reply("a", text))
    with Sessions(path) as sessions:
        past = list(versions_in_time(sessions, range(1, 10), "a"))
        kept = [text if number % 4 in (0, 3) or number == 8 else None for number, text in enumerate(texts)]
        expected = [ERASED if text is None else reply("a", text) for text in kept]
        assert same_json(past, expected)
        sessions.session().delete_messages(["a"])
        assert same_json(list(versions_in_time(sessions, range(1, 9), "a")), expected[:8])
        assert sessions.verify().ok


# ---- size


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
    huge = message("huge", "消息 text " * 4_200_000)
    with Sessions(path, durability="normal", count_tokens=lambda _message: 7) as sessions:
        session = sessions.session()
        session.append_messages([message("a"), huge])
        assert session.info().bytes > 50_000_000
    with Sessions(path, durability="normal") as sessions:
        session = sessions.session()
        assert next(session.history(newest_first=True)) == huge
        session.update_message(message("huge", huge["parts"][0]["text"][:1_000_000]))
        assert session.get_recent_history(1_000).messages == [message("huge", huge["parts"][0]["text"][:1_000_000])]
        session.update_message(message("huge", "é" * 1_500_000 + huge["parts"][0]["text"][:1_000_000]))
        session.delete_messages(["huge"])
        assert ids(session.tree()) == ["a"]
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
