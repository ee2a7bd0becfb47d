"""What is replaced or deleted is found no more at once, and no run of 12 bytes of it is left in the file."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal

import apsw
import pytest

from eventstore import Session, Sessions, index
from tests.unit.talk import message

RUN = 12
LETTERS = "abcdefghijklmnopqrstuvwxyz"
LONG = re.compile(rb"[a-z]{%d,}" % RUN)


def secrets(count: int, seed: int = 0, size: int = 30) -> list[str]:
    """Texts of one long word and short ones, all unlike each other."""
    chance = random.Random(seed)

    def word(length: int) -> str:
        return "".join(chance.choices(LETTERS, k=length))

    return [f"{word(size)} {word(7)} {word(4)} common words that all have" for _ in range(count)]


def runs_left(path: Path, texts: list[str]) -> list[str]:
    """Those long words of these texts of which the closed file still holds a run."""
    found = {run for letters in LONG.findall(path.read_bytes()) for run in runs(letters)}
    return [word for word in (text.split()[0] for text in texts) if not found.isdisjoint(runs(word.encode()))]


def runs(letters: bytes) -> list[bytes]:
    return [letters[i : i + RUN] for i in range(len(letters) - RUN + 1)]


def ids(count: int) -> list[str]:
    return [f"m{number}" for number in range(count)]


def _update(session: Session, some: list[str]) -> None:
    for each in some:
        session.update_message(message(each, "nothing to hide"))


def _grow(session: Session, some: list[str]) -> None:
    _update(session, some)
    for each in some:
        session.update_message(message(each, "nothing to hide, and more"))


WAYS: dict[str, Callable[[Session, list[str]], object]] = {
    "update": _update,
    "update twice": _grow,
    "delete one by one": lambda session, some: [session.delete_messages([each]) for each in some],
    "delete together": lambda session, some: session.delete_messages(some),
    "delete a branch": lambda session, some: session.delete_branch(some[0]),
    "clear": lambda session, _: session.clear_messages(),
    "delete the session": lambda session, _: session.sessions.delete_session(session.session_id),
}
WHOLE = {"delete a branch", "clear", "delete the session"}  # these take all of the session


@pytest.mark.parametrize("count", [3, 150])
@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_left_in_the_file(path: Path, way: str, count: int) -> None:
    texts, others = secrets(count), secrets(400, seed=1)
    with Sessions(path, durability="normal") as sessions:
        session, other = sessions.session("a"), sessions.session("b")
        other.append_messages([message(f"o{n}", text) for n, text in enumerate(others)])
        session.append_messages([message(each, text) for each, text in zip(ids(count), texts, strict=True)])
        assert len(sessions.search("common", limit=None)) == count + 400
        gone = texts if way in WHOLE else texts[::2]
        WAYS[way](session, ids(count)[:: 1 if way in WHOLE else 2])
        for text in gone[:3]:
            assert sessions.search(text.split()[0]) == sessions.search(text.split()[1]) == []
        kept = set(texts) - set(gone)
        assert len(sessions.search("common", limit=None)) == len(kept) + 400
        assert sessions.verify().problems == ()
    assert runs_left(path, gone) == []
    assert len(runs_left(path, others)) == 400


@pytest.mark.parametrize("count", [20, 200])
def test_beginnings_that_words_share_go_with_the_last_of_them(path: Path, count: int) -> None:
    """Words that begin alike lie side by side in the index, parted by what they share."""
    others = secrets(1_000, seed=2, size=6)
    chance = random.Random(3)
    shared = "".join(chance.choices(LETTERS, k=20))
    texts = [f"{shared}{''.join(chance.choices(LETTERS, k=8))} {each}" for each in secrets(count, seed=4, size=6)]
    with Sessions(path, durability="normal") as sessions:
        session = sessions.session()
        for text, start in ((texts, 0), (others, 10_000)):
            session.append_messages([message(f"m{start + n}", each) for n, each in enumerate(text)])
        sessions.search("common")
        for number in range(count):
            session.delete_messages([f"m{number}"])
        assert sessions.verify().problems == ()
    assert shared[:RUN].encode() not in path.read_bytes()


@pytest.mark.parametrize("retain", ["current", "all"])
def test_a_streamed_reply_costs_one_removal_and_one_insertion(path: Path, retain: Literal["current", "all"]) -> None:
    with Sessions(path, durability="normal", retain=retain) as sessions:
        session = sessions.session()
        session.append_message(message("m", "first"))
        assert sessions.search("first")
        removed = []
        taken_out = index._remove
        try:
            index._remove = lambda *arguments: removed.append(arguments) or taken_out(*arguments)  # type: ignore[func-returns-value]
            for number in range(50):
                session.update_message(message("m", f"reply {'word ' * number}"))
            assert len(removed) == 1
        finally:
            index._remove = taken_out
        assert sessions.search("first") == []
        assert [result.id for result in sessions.search("reply word")] == ["m"]
        assert sessions.verify().problems == ()


def test_with_every_version_retained_the_old_text_leaves_the_index(path: Path) -> None:
    with Sessions(path, durability="normal", retain="all") as sessions:
        session = sessions.session()
        session.append_messages([message("a", "wolf"), message("b", "fox")])
        assert len(sessions.search("wolf")) == 1
        session.update_message(message("a", "lamb"))
        session.delete_messages(["b"])
        assert sessions.search("wolf") == sessions.search("fox") == []
        with sessions.at(1) as view:
            assert view.session().get_history()[0]["parts"][0]["text"] == "wolf"
    assert terms(path) == {"lamb"}


def terms(path: Path) -> set[str]:
    connection = apsw.Connection(str(path))
    try:
        connection.execute("CREATE VIRTUAL TABLE temp.v USING fts5vocab('main', 'search', 'row')")
        return {term for (term,) in connection.execute("SELECT term FROM temp.v")}
    finally:
        connection.close()


def test_rolled_back_changes_leave_the_index_as_it_was(path: Path) -> None:
    with Sessions(path, durability="normal") as sessions:
        session = sessions.session()
        session.append_messages([message("a", "wolf"), message("b", "fox")])
        sessions.search("wolf")
        with suppress(KeyError), sessions.transaction():
            session.update_message(message("a", "lamb"))
            assert sessions.search("wolf") == []
            assert sessions.search("lamb")
            with suppress(ZeroDivisionError), sessions.transaction():
                session.clear_messages()
                assert sessions.search("fox") == []
                raise ZeroDivisionError
            assert sessions.search("fox")
            raise KeyError
        assert sessions.search("lamb") == []
        assert len(sessions.search("wolf")) == len(sessions.search("fox")) == 1
        assert sessions.verify().problems == ()
