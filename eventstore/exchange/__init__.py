"""Conversations from files and to files: a module a format, recognised by content and never by name.

A format of another system is a module with `FORMAT` (its name, the first half of the session ids), `recognises(head)`
and `read(path)`, which yields `Conversation` values; it takes one line in `FORMATS`. `store.store` writes such a value
into a store. Our own format, `jsonl`, holds more than a `Conversation` does and goes its own way into a store and out
of it. `files.import_file` stores any file, whichever of them it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final, Protocol

from eventstore.exchange import chatgpt
from eventstore.exchange.conversation import Conversation, InvalidExport
from eventstore.exchange.elements import HEAD

__all__ = ["FORMATS", "Conversation", "Format", "InvalidExport", "format_of", "read"]


class Format(Protocol):
    """What a module for a format offers."""

    @property
    def FORMAT(self) -> str:  # noqa: N802 - a module's constant
        """The format's name."""

    def recognises(self, head: bytes) -> bool:
        """Whether a file that begins with `head` (at most `elements.HEAD` bytes) looks like this format."""

    def read(self, path: str | os.PathLike[str]) -> Iterator[Conversation]:
        """The file's conversations. Raises `InvalidExport` where it makes no sense."""


FORMATS: Final[tuple[Format, ...]] = (chatgpt,)


def format_of(path: str | os.PathLike[str]) -> Format:
    """The format of the file at `path`. Raises `InvalidExport` if none knows it, `OSError` if it can't be read."""
    with open(path, "rb") as file:
        head = file.read(HEAD)
    for format in FORMATS:
        if format.recognises(head):
            return format
    names = ", ".join((*(format.FORMAT for format in FORMATS), "eventstore"))
    raise InvalidExport(
        path, 1, f"wanted an export of a known kind ({names}), found {'another' if head else 'nothing'}"
    )


def read(path: str | os.PathLike[str]) -> Iterator[Conversation]:
    """The conversations in the file at `path`, whatever its format is. Raises as `format_of`, and while it reads."""
    return format_of(path).read(path)
