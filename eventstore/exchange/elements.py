"""JSON files, one element at a time: the values of a top-level array, or the one value that is there instead.

Memory holds the element at hand and little more, whatever the size of the file; only behind a fault is the rest of the
file read, to tell a fault from a piece that is still to come. What can't be read is an `InvalidExport` with its line,
raised when it is reached: the elements before it have been given by then.

Python's own decoder is used wherever large integers or lone surrogates must come through unchanged. NaN, infinities and
numbers beyond a double are not JSON that any store could give back, and are refused.
"""

from __future__ import annotations

import codecs
import json
import math
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from typing import Any, BinaryIO, NamedTuple

import orjson

from eventstore.exchange.conversation import InvalidExport
from eventstore.exchange.sources import opened

BOM = b"\xef\xbb\xbf"
CHUNK = 1 << 20  # bytes read at a time; doubled while one element needs more
LARGEST = 1 << 29  # characters of one value: what is larger is no conversation
CUT = 2  # a number that goes on behind the buffer can look whole with so many characters behind it: `1e+`
HEAD = 1 << 16  # bytes that are enough to recognise a file by
MOST_OBJECTS = 50  # that are looked at to recognise it
_WHITE = " \t\r\n"
_SPACE = re.compile(r"[ \t\r\n]*")


def _behind_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"{digits} is too large a number")
    return value


DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_refuse)


_LONG = b"0" * 19  # digits of an integer that may not fit 64 bits: orjson makes a float of it
_AS_DIGITS = bytes(ord("0") if chr(code).isdecimal() else ord(" ") for code in range(128)).ljust(256)


def decoded(text: bytes) -> Any:
    """The value of a text that is JSON and nothing else. Raises `ValueError` and `RecursionError`."""
    if _LONG not in text.translate(_AS_DIGITS):
        try:
            return orjson.loads(text)
        except ValueError:  # half of a surrogate pair, or a fault, which Python's own decoder names
            pass
    return DECODER.decode(text.decode())


class Element(NamedTuple):
    """A value, the line (from 1) that it begins on, and the digest of its text."""

    value: Any
    line: int
    digest: str


class _Text:
    """The text of a file, as far as it is needed: `at` is the next character in `buffer`."""

    def __init__(self, path: str | os.PathLike[str], file: BinaryIO) -> None:
        self.path = path
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._digest = ""  # of the value that was read last
        self._lines = 1  # the line that the character `_counted` of `buffer` is on
        self._counted = 0
        self._ended = False
        self.buffer = ""
        self.at = 0

    def element(self) -> Element:
        """The JSON value that begins at the next character."""
        self.peek()
        line = self.line()
        value = self.value()
        return Element(value, line, self._digest)

    def line(self) -> int:
        """The line of the next character."""
        self._lines = self._line_of(self.at)
        self._counted = self.at
        return self._lines

    def _line_of(self, position: int) -> int:
        """The line of a character that isn't before the one that was asked for last."""
        return self._lines + self.buffer.count("\n", self._counted, position)

    def _more(self) -> None:
        self.line()
        self.buffer = self.buffer[self.at :]
        if len(self.buffer) > LARGEST:
            raise InvalidExport(self.path, self._lines, f"wanted a conversation, found more than {LARGEST} characters")
        self.at = self._counted = 0
        data = self._file.read(max(CHUNK, len(self.buffer)))
        self._ended = not data
        try:
            self.buffer += self._decoder.decode(data, final=self._ended)
        except UnicodeDecodeError as error:
            before = self._line_of(len(self.buffer)) + error.object.count(b"\n", 0, error.start)
            raise InvalidExport(self.path, before, f"wanted UTF-8 text, found other bytes ({error.reason})") from error

    def peek(self) -> str:
        """The next character that isn't white space, `""` at the end of the file. It is not consumed."""
        if (here := self.buffer[self.at : self.at + 1]) and here not in _WHITE:
            return here
        while True:
            self.at = _behind_space(self.buffer, self.at)
            if self.at < len(self.buffer) or self._ended:
                return self.buffer[self.at : self.at + 1]
            self._more()

    def value(self) -> Any:
        """The JSON value that begins at the next character."""
        while True:
            try:
                value, end = DECODER.raw_decode(self.buffer, self.at)
            except json.JSONDecodeError as error:
                if self._ended:
                    raise self.fault(error.msg, self._line_of(error.pos)) from error
            except (ValueError, RecursionError) as error:
                raise self.fault(str(error)) from error
            else:
                if end + CUT < len(self.buffer) or self._ended:
                    text = self.buffer[self.at : end].encode("utf-8", "surrogatepass")
                    self._digest = blake2b(text, digest_size=16).hexdigest()
                    self.at = end
                    return value
            self._more()

    def fault(self, found: str, line: int | None = None) -> InvalidExport:
        """The error for text that isn't JSON, here or on `line`."""
        return InvalidExport(
            self.path,
            self.line() if line is None else line,
            f"wanted JSON, found a fault ({found}): the file is torn or damaged from here on; get it once more",
        )


def read_elements(path: str | os.PathLike[str]) -> Iterator[Element]:
    """The elements of the array in a JSON file, or its one value if that isn't an array.

    Raises `InvalidExport` where the file isn't UTF-8 or not JSON, and `CannotOpen` if it can't be read at all.
    """
    with opened(path) as file:
        text = _Text(path, file)
        if text.peek() == "[":
            yield from _array(text)
        else:
            yield text.element()
        if text.peek():
            raise text.fault("more text behind its end")


def _array(text: _Text) -> Iterator[Element]:
    text.at += 1
    if text.peek() == "]":
        text.at += 1
        return
    while True:
        yield text.element()
        mark = text.peek()
        if mark not in (",", "]"):
            raise text.fault("neither a comma nor the list's end" if mark else "the list has no end")
        text.at += 1
        if mark == "]":
            return


def first_keys(head: bytes) -> list[str]:
    """The keys of the first object in the head of a file, in order, as far as the head goes; `[]` if it isn't one.

    The object may stand alone or be the first of an array. The value of the last key may be cut off.
    """
    text = head.decode("utf-8-sig", errors="ignore")
    return list(_fields(text, _inside_array(text)))


@lru_cache(maxsize=4)
def first_objects(head: bytes) -> tuple[dict[str, Any], ...]:
    """The objects in the head of a file, to recognise it by; they are not to be changed.

    Those of an array, of JSON Lines, or one that stands alone; other values among them are passed over. The last may be
    cut off: it has the keys that the head holds, and `None` for a value that it doesn't hold whole. A file with NUL
    bytes is no text, whatever lies in it.
    """
    if b"\0" in head:
        return ()
    text = head.decode("utf-8-sig", errors="ignore")
    at = _inside_array(text)
    found: list[dict[str, Any]] = []
    while len(found) < MOST_OBJECTS:
        at = _behind_space(text, at)
        try:
            value, at = DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            found += [fields] if (fields := _fields(text, at)) else []
            if not (at := text.find("\n", at) + 1):  # a line that is damaged, or the last one
                return tuple(found)
        else:
            found += [value] if isinstance(value, dict) else []
            at = _behind_space(text, at)
            at += text.startswith(",", at)
    return tuple(found)


def _inside_array(text: str) -> int:
    """Where the first value is: in the array that the text begins with, or at its beginning."""
    at = _behind_space(text, 0)
    return _behind_space(text, at + 1) if text.startswith("[", at) else at


def _fields(text: str, at: int) -> dict[str, Any]:
    """The fields of an object that may be cut off."""
    fields: dict[str, Any] = {}
    while text.startswith(("{", ","), at):
        try:
            key, at = DECODER.raw_decode(text, _behind_space(text, at + 1))
            at = _behind_space(text, at)
            if not isinstance(key, str) or not text.startswith(":", at):
                break
            fields[key] = None
            fields[key], at = DECODER.raw_decode(text, _behind_space(text, at + 1))
        except (ValueError, RecursionError):
            break
        at = _behind_space(text, at)
    return fields
