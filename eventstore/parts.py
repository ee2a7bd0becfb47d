"""Messages of an id, a role and parts, in this order and nothing else: what the row of such a message keeps is the JSON
of its parts alone. Its columns say the rest.

Nearly all messages are such, and of one of 300 bytes the rest is a fifth. The rows of all others hold the whole text:
of messages with more keys, or with an id or a role that JSON escapes, of those too large for a row or with media, and
of updates, which have no id.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import is_
from typing import Any

PARTS = 8  # flag of a row: it holds the parts alone


def cut(flags: int, text: str, id: str | None, role: str | None, value: Any) -> tuple[int, str]:
    """The flags of the row of a text, whose decoding is `value`, and what the row holds."""
    if id is None or role is None or len(value) != 3 or not text.startswith(heading := _heading(id, role)):
        return flags, text
    return flags | PARTS, text[len(heading) : -1]


def cut_each(
    flags: Sequence[int], texts: Sequence[str], ids: Iterable[str], roles: Iterable[str], values: Iterable[Any]
) -> tuple[Sequence[int], Sequence[str]]:
    """`cut` of each, as columns."""
    # As `_heading` has it, whose call would cost each as much again.
    headings = [f'{{"id":"{id}","role":"{role}","parts":' for id, role in zip(ids, roles, strict=True)]
    rests = [*map(str.removeprefix, texts, headings)]
    if set(map(len, values)) != {3} or any(map(is_, rests, texts)):
        rows = [*map(cut, flags, texts, ids, roles, values)]
        return [flag for flag, _ in rows], [row for _, row in rows]
    return [flag | PARTS for flag in flags], [rest[:-1] for rest in rests]


def whole(flags: int, row: str, id: str, role: str) -> str:
    """The text that `cut` made a row of."""
    return f"{_heading(id, role)}{row}}}" if flags & PARTS else row


def _heading(id: str, role: str) -> str:
    return f'{{"id":"{id}","role":"{role}","parts":'
