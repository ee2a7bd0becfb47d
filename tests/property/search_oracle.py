"""What search must find, from the messages alone: plain words compared one by one, without an index.

The words are such that stemming leaves them as they are, so that nothing here has to know how that is done. Where texts
are of any kind, `has_all` asks the tokenizer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import attrs
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from eventstore import Message, Session
from eventstore.driver import Connection
from eventstore.tokenizing import Tokenizer
from eventstore.words import plain

WORDS = ("wolf", "wolfram", "fox", "fog", "x20", "04", "数", "据", "管", "мир", "zq7")
_WORD = re.compile("[一-鿿]|[a-z0-9а-я]+")


def texts() -> SearchStrategy[str]:
    """A few of the words, and marks between them that mean nothing."""
    marks = st.sampled_from((" ", " ", "-", ", ", "\n", "\0", '"', " (", ") ", "\ud83d", "👩‍💻"))
    return st.lists(st.tuples(st.sampled_from(WORDS), marks).map("".join), max_size=8).map("".join)


def words(text: str) -> list[str]:
    return _WORD.findall(text)


def text_of(message: Message) -> str:
    return " ".join(part["text"] for part in message["parts"] if part["type"] == "text" and part["text"])


@attrs.frozen
class Asked:
    """Words, phrases and beginnings, as they are typed and as they are meant."""

    plain: tuple[str, ...] = ()
    phrase: tuple[str, ...] = ()
    prefix: str = ""

    @property
    def typed(self) -> str:
        parts = [*self.plain]
        if self.phrase:
            parts.insert(0, f'"{" ".join(self.phrase)}"')
        if self.prefix:
            parts.append(f"{self.prefix}*")
        return " ".join(parts)

    def fits(self, text: str) -> bool:
        there = words(text)
        runs = [tuple(there[start : start + len(self.phrase)]) for start in range(len(there))]
        return (
            all(word in there for word in self.plain)
            and (not self.phrase or self.phrase in runs)
            and (not self.prefix or any(word.startswith(self.prefix) for word in there))
        )


def asked() -> SearchStrategy[Asked]:
    some = st.lists(st.sampled_from(WORDS), max_size=2).map(tuple)
    found = st.builds(Asked, some, some, st.sampled_from(("", "", "w", "wol", "wolfr", "fo", "x2")))
    return found.filter(lambda each: bool(each.typed))


ALL = (Asked(("wolf",)), Asked(("fox", "fog")), Asked(phrase=("数", "据")), Asked(prefix="fo"), Asked(("04",)))


def expected(sessions: Iterable[Session], query: Asked) -> set[tuple[str, str]]:
    """(session, id) of every message that fits."""
    found = set()
    for session in sessions:
        for info in session.tree():
            message = session.get_message(info.id)
            if message is not None and query.fits(text_of(message)):
                found.add((session.session_id, info.id))
    return found


def tokens(text: str) -> list[str]:
    """The stems of any text: two halves of a pair that meet are one character, as they are when it is stored."""
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    connection = Connection(":memory:")
    try:
        return Tokenizer(connection).words(plain(whole))
    finally:
        connection.close()


def has_all(text: str, typed: str) -> bool:
    """Whether a text has every word that is typed, those of several pieces in a row; without a word nothing has."""
    there = tokens(text)
    wanted = list(filter(None, map(tokens, typed.split())))
    return bool(wanted) and all(
        any(there[start : start + len(word)] == word for start in range(len(there))) for word in wanted
    )
