"""A conversation as Markdown, for people. Nothing that a message says breaks out of its place.

- What is said stands in a block quote, a line a line, so that its own headings, lists and code are shown as they are
  meant and end with the quote. A text with HTML outside of its code is put in a fence instead: a reader's program would
  obey it.
- Inputs and outputs of tools, and parts of unknown kinds, stand in fences longer than any run of backticks in them,
  shortened where they are long.
- Names stand in code spans, titles with their marks escaped.
- Control characters, and what turns the direction of text, are spelt out (`\\x1b`), as on a terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from eventstore import Message, Progress, ReadableSession
from eventstore.cli import render
from eventstore.cli.screen import name, one_line, visible

_MARKS = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~&$^=:\"'@/])")
_HTML = re.compile(r"<[A-Za-z/!?]")
_AUTOLINK = re.compile(r"<(?:https?://|mailto:)[^\s<>]*>")
_FENCE = re.compile(r"^(`{3,}|~{3,})(.*)$")
_OTHER_FENCE = re.compile(r"^[ \t>*+\-\d.)]+(```|~~~)", re.MULTILINE)
NAMED = 200  # characters of a file's address
REPORT_EVERY = 100


def session(
    session: ReadableSession, leaf_id: str | None, *, compacted: bool, progress: Progress | None = None
) -> Iterator[str]:
    """A path of a session, in blocks of text that each end with a line's end. `progress` is told of messages."""
    info = session.info()
    title = info.metadata.get("title")
    yield f"# {escaped(title) if isinstance(title, str) and title.strip() else code(session.session_id)}\n"
    yield f"\nSession {code(session.session_id)}, last written {render.moment(info.updated_at)}.\n"
    infos = {each.id: each for each in session.get_history_row_stats(leaf_id=leaf_id)}
    ranges = {f"compaction_{each.id}": each for each in session.get_compactions()} if compacted else {}
    if not infos:
        yield "\nNo messages.\n"
    for number, message in enumerate(session.history(leaf_id=leaf_id, compacted=compacted), 1):
        if progress is not None and number % REPORT_EVERY == 0:
            progress(number, len(infos))
        covers = ranges.get(message["id"])
        if message["id"] in infos or covers is None:
            about = infos.get(message["id"])
            when = "" if about is None else f", {render.moment(about.created_at)}"
            yield f"\n## {escaped(message['role'])}{when}\n"
        else:
            yield f"\n## Summary, {render.moment(covers.created_at)}\n"
            yield f"\nIn the place of {code(covers.from_message_id)} to {code(covers.to_message_id)}.\n"
        yield from _parts(message)


def _parts(message: Message) -> Iterator[str]:
    for part in message["parts"]:
        for block in _part(part):
            yield f"\n{block}\n"


def _part(part: Mapping[str, Any]) -> Iterator[str]:
    kind, text = part["type"], part.get("text")
    if kind in ("text", "reasoning") and isinstance(text, str):
        if kind == "reasoning":
            yield "*Thinking:*"
        if text.strip():
            yield quoted(text)
    elif kind == "dynamic-tool" or kind.startswith("tool-"):
        tool = str(part.get("toolName", "?")) if kind == "dynamic-tool" else kind[5:]
        yield f"*Tool* {code(tool)}"
        if "input" in part:
            yield fenced(render.short(part["input"]))
        for key, label in (("output", "*Result:*"), ("errorText", "*Error:*")):
            if key in part:
                yield label
                yield fenced(render.short(part[key]))
    elif kind == "file":
        yield _file(part)
    elif kind == "erased":
        yield "*Erased: its content was not retained.*"
    elif kind != "step-start":
        yield f"*Part* {code(kind)}"
        yield fenced(render.short({key: value for key, value in part.items() if key != "type"}))


def _file(part: Mapping[str, Any]) -> str:
    """Which file: its name, its kind and where it is, without its content."""
    media, named, url = (part.get(key) for key in ("mediaType", "filename", "url"))
    what = "Image" if isinstance(media, str) and media.startswith("image/") else "File"
    about = [each for each in (named, media) if isinstance(each, str) and each]
    if isinstance(url, str) and url and not url.startswith("data:"):
        about.append(url[:NAMED])
    return f"*{what}:* {', '.join(map(code, about)) or 'without a name'}"


# ---- text that stays in its place


def escaped(text: str) -> str:
    """Text on one line, with every mark of Markdown escaped."""
    return _MARKS.sub(r"\\\1", one_line(text)) or "-"


def code(text: str) -> str:
    """A code span."""
    shown = name(text)
    ticks = "`" * (_longest_run(shown) + 1)
    space = " " if shown[:1] in ("`", " ") or shown[-1:] in ("`", " ") or not shown else ""
    return f"{ticks}{space}{shown}{space}{ticks}"


def fenced(text: str) -> str:
    """A block of code."""
    shown = visible(text)
    ticks = "`" * max(_longest_run(shown) + 1, 3)
    return f"{ticks}text\n{shown}\n{ticks}"


def quoted(text: str) -> str:
    """What somebody said: a block quote, or a fence where a quote would let HTML through."""
    shown = visible(text)
    return fenced(text) if holds_html(shown) else "\n".join(f"> {line}" if line else ">" for line in shown.split("\n"))


def holds_html(text: str) -> bool:
    """Whether there is, or may be, HTML outside of the fences that begin and end at the beginning of lines."""
    text = _AUTOLINK.sub(" ", text)
    if not _HTML.search(text):
        return False
    if _OTHER_FENCE.search(text):  # which of them count, only a parser can say
        return True
    opened = ""
    for line in text.split("\n"):
        fence = _FENCE.match(line)
        if opened:
            if fence and fence[1].startswith(opened) and not fence[2].strip():
                opened = ""
        elif fence and not (fence[1].startswith("`") and "`" in fence[2]):
            opened = fence[1]
            if _HTML.search(fence[2]):
                return True
        elif _HTML.search(line):
            return True
    return False


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
