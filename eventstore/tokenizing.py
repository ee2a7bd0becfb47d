"""SQLite's own division of texts, into words as its full-text index sees them and into characters as a reader does."""

from __future__ import annotations

from typing import Any, cast

import apsw

from eventstore.driver import Connection

TOKENIZER = ("porter", "unicode61", "remove_diacritics", "2", "categories", "L* N* Co Mn Mc")
"""How texts become words: letters, numbers and vowel signs, without case and accents, English words by their stems."""
_DOCUMENT = apsw.FTS5_TOKENIZE_DOCUMENT


class Tokenizer:
    """SQLite's own tokenizer, as FTS5 runs it. It belongs to a connection, and to the thread that uses that one."""

    def __init__(self, connection: Connection, *, stems: bool = True) -> None:
        name, *arguments = TOKENIZER if stems else TOKENIZER[1:]
        self._tokenize = connection.fts5_tokenizer(name, arguments)

    def words(self, text: str) -> list[str]:
        """The words of a text, in order."""
        data = text.encode()
        found: Any = self._tokenize(data, _DOCUMENT, None, include_offsets=False, include_colocated=False)
        return cast("list[str]", found)

    def spans(self, text: str) -> list[tuple[int, int, str]]:
        """(start, end, word) of each word, in bytes of the text's UTF-8."""
        found: Any = self._tokenize(text.encode(), _DOCUMENT, None, include_colocated=False)
        return cast("list[tuple[int, int, str]]", found)


def fts5_tokenize_option() -> str:
    """`TOKENIZER` as the option of a table."""
    return " ".join(f"'{word}'" if " " in word else word for word in TOKENIZER)


def grapheme_breaks(text: str) -> list[int]:
    """Where `text` may be cut without tearing what a reader sees as one character: both ends, and between clusters."""
    from apsw import unicode  # half of what apsw takes to import

    breaks = [0]
    while breaks[-1] < len(text):
        breaks.append(unicode.grapheme_next_break(text, breaks[-1]))
    return breaks
