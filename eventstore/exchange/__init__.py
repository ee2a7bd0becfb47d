"""Conversations from files and to files: a module a format, recognised by content and never by name.

A format of another system is a module with `FORMAT` (its name, the first half of the session ids), `recognises(head)`,
`read(path)`, which yields `Conversation` values, and `find(paths)`, which yields them unread, so that those which are
known needn't be; it takes one line in `FORMATS`. `path` may be a member of an archive: it is opened by
`sources.opened`, or by what stands on it: `elements` for JSON, `lines` for JSON Lines, `lists` for either. What formats
share: `finding` has `read` and `find` for most of them, `conversation` mends trees, `identities` gives ids, `tools`
pairs calls and results, `assembling` makes all of that of messages one after the other, `telling` while they are read
(what they say waits on a `spool`, `naming` gives their session a name), `planting` of messages whose rows are read a
second time; `store.store` writes what was read into a store.

Our own format, `jsonl`, holds more than a `Conversation` does and goes its own way into a store and out of it.
`files.import_file` stores any file, folder or archive, whichever of them it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from eventstore.exchange import (
    ai_sdk,
    chatgpt,
    claude_ai,
    claude_code,
    codex,
    langchain,
    librechat,
    lobechat,
    open_webui,
    openai_agents,
    openassistant,
    pi,
    pydantic_ai,
)
from eventstore.exchange.conversation import Conversation, Found, InvalidExport, Summary
from eventstore.exchange.elements import HEAD
from eventstore.exchange.plain import DATABASE
from eventstore.exchange.sources import opened

__all__ = ["FORMATS", "Conversation", "Format", "Found", "InvalidExport", "Summary", "format_of", "read"]


class Format(Protocol):
    """What a module for a format offers."""

    @property
    def FORMAT(self) -> str:  # noqa: N802 - a module's constant
        """The format's name."""

    def recognises(self, head: bytes) -> bool:
        """Whether a file that begins with `head` (at most `elements.HEAD` bytes) looks like this format."""

    def read(self, path: str | os.PathLike[str]) -> Iterator[Conversation]:
        """The file's conversations. Raises `InvalidExport` where it makes no sense."""

    def find(self, paths: Sequence[str | os.PathLike[str]]) -> Iterator[Found]:
        """The conversations of files, unread. Raises as `read`, and so does reading them.

        A module with `GATHERS = True`, whose sessions may lie in several files, is given all files at once.
        """


FORMATS: Final[tuple[Format, ...]] = (
    chatgpt,
    claude_ai,
    claude_code,
    codex,
    pi,
    librechat,
    open_webui,
    openassistant,
    pydantic_ai,
    langchain,
    ai_sdk,
    lobechat,
    openai_agents,  # last: its plain messages have little that tells them from others
)
"""In the order in which they are asked: the first that recognises a file reads it."""


_OTHERS: Final = {
    b"\xff\xfe": "UTF-16 text: save it as UTF-8",
    b"\xfe\xff": "UTF-16 text: save it as UTF-8",
    b"\x1f\x8b": "a gzip file: unpack it with gunzip",
    b"PK\x03\x04": "an archive in an archive: unpack it first",
    b"SQLite format 3\0": DATABASE,  # in an archive: any other is never opened
}
"""What people have by mistake, by what it begins with."""


def format_of(path: str | os.PathLike[str]) -> Format:
    """The format of the file at `path`. Raises `InvalidExport` if none knows it, `CannotOpen` if it can't be read."""
    head = head_of(path)
    format = told_by(head)
    if format is None:
        names = ", ".join((*(each.FORMAT for each in FORMATS), "eventstore"))
        raise InvalidExport(path, None, f"wanted an export of a known kind ({names}), found {kind_of(head)}")
    return format


def told_by(head: bytes) -> Format | None:
    """The format of a file that begins so, if there is one."""
    return next((format for format in FORMATS if format.recognises(head)), None)


def kind_of(head: bytes) -> str:
    """What a file is that isn't an export, and what to do with it, as far as its beginning says."""
    if not head:
        return "nothing: the file is empty"
    other = next((told for mark, told in _OTHERS.items() if head.startswith(mark)), None)
    if other is not None:
        return other
    return "JSON of another kind" if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[") else "something else"


def head_of(path: str | os.PathLike[str]) -> bytes:
    """What a file is recognised by. Raises `CannotOpen`, and `InvalidExport` for a member of a damaged archive."""
    with opened(path) as file:
        return file.read(HEAD)


def read(path: str | os.PathLike[str]) -> Iterator[Conversation]:
    """The conversations in the file at `path`, whatever its format is. Raises as `format_of`, and while it reads."""
    return format_of(path).read(path)
