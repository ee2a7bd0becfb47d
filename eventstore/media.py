"""Which strings of a message are inline media, taken out of it and put back. Pure.

An object that declares a media type other than `text/*` (`mediaType`, or the spellings of other APIs, or its data URL
itself) may carry bytes as base64: a `data:` URL in `url`, or bare base64 in `data`. A string is taken out only when
decoding and encoding gives it back exactly; any other stays where it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

CHARACTERS = 1_048_576  # base64 decoded at once: a multiple of 4
SLICE_BYTES = CHARACTERS // 4 * 3  # what that gives: bytes of a slice, a multiple of 3, so that slices encode apart

_TYPE_KEYS = ("mediaType", "mimeType", "media_type")
_DATA_URL = r"data:([a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*);base64,"  # compiled, and kept, by `re`


class Taken(NamedTuple):
    """Base64 that was taken out of a text, and where it goes back in: `at` counts what was put back before it."""

    at: int
    base64: str


def declared_type(value: Mapping[str, Any]) -> str | None:
    """The media type that an object declares: in a key of its own, else in its data URL."""
    for key in _TYPE_KEYS:
        declared = value.get(key)
        if isinstance(declared, str):
            return declared
    url = value.get("url")
    found = re.match(_DATA_URL, url) if isinstance(url, str) else None
    return found[1] if found else None


def is_media_type(declared: str | None) -> bool:
    """Whether a declared type is media: anything but text."""
    return declared is not None and not declared.lower().startswith("text/")


def payload(value: Mapping[str, Any]) -> tuple[str, int] | None:
    """(key, start of the base64 in its string) of an object that carries media inline."""
    url = value.get("url")
    if isinstance(url, str):
        found = re.match(_DATA_URL, url)
        return ("url", found.end()) if found and is_media_type(declared_type(value)) else None
    if isinstance(value.get("data"), str) and is_media_type(declared_type(value)):
        return "data", 0
    return None


def is_exact(text: str, start: int) -> bool:
    """Whether text[start:] is base64 that decoding and encoding gives back."""
    if start == len(text) or (len(text) - start) % 4:
        return False
    padding = text.find("=", start)
    if padding != -1 and padding < len(text) - 2:
        return False
    import pybase64  # here and below: most messages have no media

    try:
        for at in range(start, len(text), CHARACTERS):
            piece = text[at : at + CHARACTERS]
            if pybase64.b64encode_as_string(pybase64.b64decode(piece, validate=True)) != piece:
                return False
    except ValueError:
        return False
    return True


def decoded(base64: str) -> Iterator[bytes]:
    """The bytes of base64 that `is_exact`, in slices of `SLICE_BYTES`."""
    import pybase64

    for at in range(0, len(base64), CHARACTERS):
        yield pybase64.b64decode(base64[at : at + CHARACTERS], validate=True)


def encoded(data: bytes) -> str:
    """The base64 of bytes."""
    import pybase64

    return pybase64.b64encode_as_string(data)


def encoded_length(size: int) -> int:
    """How many characters the base64 of so many bytes has."""
    return (size + 2) // 3 * 4


def may_hold(parts: Iterable[Mapping[str, Any]]) -> bool:
    """Whether parts may hold inline media: a quick look that lets messages of plain text pass at no cost."""
    for part in parts:  # noqa: SIM110 - a generator takes longer than what it would save
        if len(part) != 2 or not isinstance(part.get("text"), str):
            return True
    return False


def woven(text: str, taken: Iterable[Taken], mark: str | None = None) -> str:
    """A text with its media where they belong, or with a mark in place of each."""
    woven: list[str] = []
    end = before = 0
    for each in taken:
        start = each.at - before
        woven += (text[end:start], each.base64 if mark is None else mark)
        before += len(each.base64)
        end = start
    return "".join([*woven, text[end:]])


class _Media:
    """A string with base64 from `start` on."""

    __slots__ = ("start", "text")

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.start = start


def new_mark() -> str:
    """A string that stands for media while a text is decoded: nobody can have written it before."""
    return os.urandom(12).hex()


def strip(parts: Any, max_depth: int) -> tuple[Any, str, list[str]]:
    """`parts` copied as far as containers go, with a mark in place of each base64 that can be taken out; that mark; and
    what was taken out, in the order in which the JSON of `parts` shows it.

    What is nested deeper (it may be a circle) is left as it is, whole.
    """
    if not may_hold(parts):
        return parts, "", []
    mark = new_mark()
    payloads: list[str] = []
    holder: list[Any] = [None]
    stack: list[tuple[Any, Any, Any, int]] = [(holder, 0, parts, 0)]
    while stack:
        target, key, value, depth = stack.pop()
        if depth > max_depth:
            return parts, mark, []
        if isinstance(value, (dict, Mapping)):
            target[key] = copy = dict.fromkeys(value)
            stack.extend((copy, name, item, depth + 1) for name, item in reversed(_entries(value)))
        elif isinstance(value, (list, tuple)):
            target[key] = copied = [None] * len(value)
            stack.extend((copied, index, item, depth + 1) for index, item in reversed(list(enumerate(value))))
        elif isinstance(value, _Media):
            target[key] = value.text[: value.start] + mark
            payloads.append(value.text[value.start :])
        else:
            target[key] = value
    return holder[0], mark, payloads


def _entries(value: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The entries of an object, with what is to be taken out as `_Media`."""
    found = payload(value)
    if found is None or not is_exact(value[found[0]], found[1]):
        return list(value.items())
    return [(name, _Media(item, found[1]) if name == found[0] else item) for name, item in value.items()]


def fill(value: Any, mark: str, payloads: Sequence[str]) -> None:
    """Puts payloads back in place of their marks, in a decoded value, in the order of its JSON."""
    stack: list[tuple[Any, Any]] = [(value, key) for key in _keys_reversed(value)]
    filled = 0
    while filled < len(payloads):
        container, key = stack.pop()
        item = container[key]
        if isinstance(item, (dict, list)):
            stack.extend((item, inner) for inner in _keys_reversed(item))
        elif isinstance(item, str) and item.endswith(mark):
            container[key] = item[: -len(mark)] + payloads[filled]
            filled += 1


def copied(value: Any) -> Any:
    """A decoded value copied as far as containers go: its strings, which may be large, are the same."""
    holder = [value]
    stack: list[tuple[Any, Any]] = [(holder, 0)]
    while stack:
        container, key = stack.pop()
        item = container[key]
        if isinstance(item, (dict, list)):
            container[key] = copy = item.copy()
            stack.extend((copy, inner) for inner in _keys_reversed(copy))
    return holder[0]


def _keys_reversed(container: Any) -> list[Any]:
    return list(container)[::-1] if isinstance(container, dict) else list(range(len(container)))[::-1]
