"""Replies that grow by updates, and messages of any size: every version reads back whole, however it is stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventstore import Message, Session, Sessions
from eventstore.testing import same_json
from tests.unit.talk import Heard, reply

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


def test_what_grew_behind_a_retained_version_is_gone_with_it(path: Path) -> None:
    base = "x" * 3_000
    with Sessions(path, retain="all") as sessions:
        for text in ("", "retained", "retained, secret"):
            sessions.session().upsert_message(reply("a", base + text))
    with Sessions(path, retain="current") as sessions:
        session = sessions.session()
        session.update_message(reply("a", base + "retained, secret, secret too"))
        session.delete_messages(["a"])
        past = list(versions_in_time(sessions, range(1, 5), "a"))
        assert same_json(past, [reply("a", base), reply("a", base + "retained"), ERASED, ERASED])
        assert sessions.verify().ok
    assert b"retained" in path.read_bytes()
    assert b"secret" not in path.read_bytes()


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


@pytest.mark.parametrize("inner", [False, True])
def test_a_text_that_was_rolled_back_is_not_what_the_next_update_grows_from(path: Path, inner: bool) -> None:
    """Its number was given out again: by then another store has written another text under it."""
    base = "x" * 3_000
    with Sessions(path, durability="normal") as sessions, Sessions(path, durability="normal") as other:
        session, theirs = sessions.session(), other.session()
        session.append_message(reply("a", base))
        with suppress(KeyError), sessions.transaction() if inner else nullcontext(), sessions.transaction():
            session.update_message(reply("a", base + " rolled back"))
            raise KeyError
        theirs.update_message(reply("a", base + " theirs"))
        assert sessions.latest_seq == 2
        session.update_message(reply("a", base + " theirs rolled back"))
        assert same_json(session.get_message("a"), reply("a", base + " theirs rolled back"))
        session.update_message(reply("a", base + " theirs rolled back, and on"))
        assert same_json(theirs.get_message("a"), reply("a", base + " theirs rolled back, and on"))
        assert sessions.verify().ok
