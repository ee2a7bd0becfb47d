"""Texts that grow: an update that only inserts is stored as what it inserts. Pure.

A body is a base text and *pieces*, applied in order: each inserts its text at an offset of the text so far, counted in
Unicode code points. The slices of a text too long for one row are pieces at its end; what a streamed reply adds is a
piece in its middle; both are read by the same `join`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

SLICE_BYTES = 1_572_864
"""A text over 1.5 MiB of UTF-8 is split over rows: a row stays under SQLite's length limit, also a lowered one."""

LEAST_BASE = 2_048  # below so many characters a rewrite dirties no more pages than a piece
PIECE_WEIGHT = 24  # bytes that a piece costs beside its text: when they outweigh the base, it is rewritten


def slices(text: str) -> Iterator[str]:
    """`text` in stretches of at most `SLICE_BYTES`, cut between characters."""
    if len(text) * 4 <= SLICE_BYTES or (text.isascii() and len(text) <= SLICE_BYTES):
        yield text
        return
    if text.isascii():
        for start in range(0, len(text), SLICE_BYTES):
            yield text[start : start + SLICE_BYTES]
        return
    data = memoryview(text.encode())
    start = 0
    while start < len(data):
        end = min(start + SLICE_BYTES, len(data))
        while end < len(data) and data[end] & 0xC0 == 0x80:  # inside a character
            end -= 1
        yield str(data[start:end], "utf-8")
        start = end


def common_prefix(one: str, other: str) -> int:
    """How many characters the two texts have in common at their starts, by halving."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def insertion(old: str, new: str) -> tuple[int, str] | None:
    """(at, text) when `new` is `old` with one text inserted, else `None`."""
    grown = len(new) - len(old)
    if grown <= 0:
        return None
    at = common_prefix(old, new)
    if old[at:] != new[at + grown :]:
        return None
    return at, new[at : at + grown]


def join(base: str, pieces: Iterable[tuple[int, str]]) -> str:
    """The text that `base` becomes. Pieces that each follow the one before are inserted in one go."""
    run: list[str] = []
    start = end = -1
    for at, text in pieces:
        if at != end:
            if run:
                base = base[:start] + "".join(run) + base[start:]
                run = []
            start = at
        run.append(text)
        end = at + len(text)
    return base[:start] + "".join(run) + base[start:] if run else base
