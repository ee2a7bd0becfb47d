"""Where text meets the terminal: nothing from a file is interpreted by it, and nothing is printed that it can't encode.

All that comes out of a store or a file passes `Screen.visible`: control characters, escape sequences, directional
overrides and halves of surrogate pairs are spelt out (`\\x1b`). rich is given `Text` only, so markup is never parsed.
"""

from __future__ import annotations

import io
import os
import re
import sys
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from eventstore import codec

_UNSAFE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_NOT_PLAIN = re.compile(r"[^ -~]")
LEAST_WIDTH = 20
NARROW = 60  # below so many columns, a line that says several things is not cut but goes on in the next
UNICODE = "│├─●○‹›⚙→…"


def _spelt(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def visible(text: str) -> str:
    """`text` with what a terminal would obey spelt out. Line ends and tabs stay."""
    return _UNSAFE.sub(_spelt, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """`visible`, on one line."""
    return " ".join(visible(text).split())


def name(text: str) -> str:
    """`visible`, on one line, with every character kept: for ids and names."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def _json_escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def safe_json(text: str) -> str:
    """JSON text with what a terminal would obey escaped: the same value."""
    return _UNSAFE.sub(_json_escape, text)


def to_json(value: Any) -> str:
    """`value` as JSON in plain ASCII: safe on every terminal and in every encoding, with integers of any size."""
    return _NOT_PLAIN.sub(_json_escape, codec.encode(value).text)


class Screen:
    """A standard stream as its reader sees it. `width` is `None` where lines may be of any length."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = sys.stdout if stream is None else stream
        if isinstance(self.stream, io.TextIOWrapper):
            self.stream.reconfigure(errors="backslashreplace")
        self._encoding = (getattr(self.stream, "encoding", None) or "utf-8").lower()
        self.console = Console(file=self.stream, highlight=False, markup=False, emoji=False, soft_wrap=True)
        self.is_terminal = self.console.is_terminal
        self.console.width = max(self.console.width, LEAST_WIDTH)
        self.width = self.console.width if self.is_terminal or os.environ.get("COLUMNS") else None
        self.is_narrow = self.width is not None and self.width < NARROW
        self.has_unicode = self._encodes(UNICODE)

    def _encodes(self, text: str) -> bool:
        try:
            text.encode(self._encoding)
        except (UnicodeEncodeError, LookupError):
            return False
        return True

    def visible(self, text: str) -> str:
        """As the function, with what the stream's encoding lacks spelt out too."""
        return self._encodable(visible(text))

    def one_line(self, text: str) -> str:
        """As the function, with what the stream's encoding lacks spelt out too."""
        return self._encodable(one_line(text))

    def name(self, text: str) -> str:
        """As the function, with what the stream's encoding lacks spelt out too."""
        return self._encodable(name(text))

    def _encodable(self, text: str) -> str:
        if self._encoding in ("utf-8", "utf8"):
            return text
        return text.encode(self._encoding, "backslashreplace").decode(self._encoding)

    def pick(self, unicode: str, plain: str) -> str:
        """The first, or the second where the stream can't encode the first."""
        return unicode if self.has_unicode else plain

    def print(self, text: Text | str = "", *, crop: bool = False) -> None:
        """One line, or a text of several. `crop` cuts each to the width. A `str` is taken as it is: make it visible."""
        line = Text(text) if isinstance(text, str) else text
        if crop and self.width is not None:
            line.truncate(self.width, overflow="ellipsis" if self.has_unicode else "crop")
        if self.is_terminal:
            self.console.print(line, soft_wrap=True)
        else:  # without styles, which rich takes long to leave out
            self.stream.write(line.plain + "\n")

    def hint(self, text: str) -> None:
        """What to do next, for a person: nothing where the stream isn't a terminal."""
        if self.is_terminal:
            self.print(Text(text, style="dim"))

    def json(self, value: Any) -> None:
        """A value on a line of its own."""
        self.write(to_json(value) + "\n")

    def write(self, text: str) -> None:
        """Text that is neither styled nor wrapped."""
        self.stream.write(text)
        self.stream.flush()
