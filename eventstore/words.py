"""What of a message is searched, and the text that the tokenizer gets of it. Pure.

SQLite's tokenizer knows words between spaces and Latin accents. So before it sees a text, every character becomes what
it is compared as: scripts written without spaces get their characters set apart, accents and vowel marks that a writer
may leave out go, compatibility forms (full-width letters, ligatures) become the plain ones, and typographic marks and
emoji a space: the tokenizer takes newer ones for letters. What a character becomes is fixed by Unicode 3.2, which
Python keeps beside the current one: a text must leave the index as it came, whatever Python wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from unicodedata import ucd_3_2_0 as unicode

PIECE = 200_000  # characters of one row of the index: under SQLite's length limit, also a lowered one

_APART = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1100, 0x11FF),  # Hangul jamo
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x2FDF),  # radicals
    (0x3005, 0x3007),
    (0x3021, 0x3029),
    (0x3031, 0x303C),
    (0x3041, 0x31FF),  # kana, bopomofo, compatibility jamo
    (0x3400, 0x4DBF),
    (0x4E00, 0xA4CF),  # Han, Yi
    (0xA960, 0xA97F),
    (0xAC00, 0xD7FF),  # Hangul
    (0xF900, 0xFAFF),
    (0x1B000, 0x1B16F),
    (0x20000, 0x3FFFF),
)
"""Characters that are words of their own: of scripts written without spaces, and Hangul, found from one character."""

_MARKS = (
    (0x00A0, 0x00A9),
    (0x00AB, 0x00B1),
    (0x00B6, 0x00B8),
    (0x00BB, 0x00BB),
    (0x00BF, 0x00BF),
    (0x00D7, 0x00D7),
    (0x00F7, 0x00F7),
    (0x2000, 0x206F),  # punctuation
    (0x20A0, 0x20CF),  # currencies
    (0x2190, 0x245F),  # arrows, mathematics, technical signs
    (0x2500, 0x2775),  # lines, shapes, dingbats
    (0x2794, 0x2BFF),
    (0x1F000, 0x1FBEF),  # emoji
)
"""Characters that only part words."""


def searchable(message: Mapping[str, Any]) -> str:
    """The text parts of a message, with a space between them. Reasoning, tools and files aren't searched."""
    found = [part.get("text") for part in message.get("parts", ()) if part.get("type") == "text"]
    return " ".join([text for text in found if isinstance(text, str) and text])


def _plain(char: str) -> str:
    """What a character is compared as."""
    code = ord(char)
    if code == 0 or 0xD800 <= code <= 0xDFFF or code == 0x200B:
        return " "
    if unicode.combining(char) or unicode.category(char) == "Cf" or 0xFE00 <= code <= 0xFE0F or code >= 0xE0000:
        return ""
    if 0xAC00 <= code <= 0xD7FF:
        return f" {char} "
    plain = "".join(c for c in unicode.normalize("NFKD", char) if not unicode.combining(c))
    return "".join(" " if _is_in(_MARKS, c) else f" {c} " if _is_in(_APART, c) else c for c in plain)


def _is_in(ranges: Sequence[tuple[int, int]], char: str) -> bool:
    return any(low <= ord(char) <= high for low, high in ranges)


class _Plain(dict[int, str]):
    """Characters met so far, by code."""

    def __missing__(self, code: int) -> str:
        plain = self[code] = _plain(chr(code))
        return plain


_PLAIN = _Plain()
_FOREIGN = re.compile(r"[^\x00-\x7f]+")


def plain(text: str) -> str:
    """`text` as the tokenizer gets it."""
    return text if text.isascii() else _FOREIGN.sub(_plain_run, text)


def _plain_run(run: re.Match[str]) -> str:
    return run.group().translate(_PLAIN)


def plain_offsets(text: str) -> list[int]:
    """Where each character of `text` begins in the UTF-8 of `plain(text)`, and last where that ends."""
    offsets: list[int] = []
    end = offset = 0
    for run in _FOREIGN.finditer(text):
        offsets += range(offset, offset + run.start() - end)
        offset += run.start() - end
        for char in run.group():
            offsets.append(offset)
            offset += len(_PLAIN[ord(char)].encode())
        end = run.end()
    return [*offsets, *range(offset, offset + len(text) - end + 1)]


def cut_before(text: str, start: int, end: int) -> int:
    """Where `text` can be cut without parting a word, before `end` and behind `start`; -1: nowhere."""
    space = text.rfind(" ", start + 1, end)
    if space >= 0:
        return space
    return next((at for at in range(end - 1, start, -1) if text[at].isascii() and not text[at].isalnum()), -1)


def pieces(text: str, size: int = PIECE) -> Iterator[str]:
    """`text` in stretches of at most `size` characters, cut before a space or another sign where there is one."""
    start = 0
    while len(text) - start > size:
        cut = cut_before(text, start, start + size)
        cut = cut if cut >= 0 else start + size
        yield text[start:cut]
        start = cut
    yield text[start:]
