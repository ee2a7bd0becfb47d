"""Files that hold messages in lists: one conversation or many, as JSON or as JSON Lines.

What a list lies in differs, and is told apart by content:

- an array of messages, or messages a line each: one conversation
- an object with `messages` and what is said about them, or an array or lines of such: a conversation each
- lines that are arrays of messages: a conversation each

A line that can't be read, or that is nothing of these, is left out and named.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from hashlib import blake2b
from itertools import chain
from typing import Any, NamedTuple

import attrs

from eventstore.exchange.conversation import InvalidExport, Skipped
from eventstore.exchange.elements import DECODER, LARGEST, first_objects, read_elements
from eventstore.exchange.lines import read_lines
from eventstore.exchange.sources import BUFFER, opened
from eventstore.exchange.times import any_time
from eventstore.exchange.values import list_of, usable

IDS = (
    "id",
    "conversation_id",
    "conversationId",
    "chat_id",
    "chatId",
    "thread_id",
    "threadId",
    "session_id",
    "sessionId",
)


@attrs.define
class Listed:
    """A list of messages as it lies in a file: what is said beside it, the messages, what couldn't be read.

    Where it isn't held, its messages are read while they are walked, once, and `skipped` and `digest` are known then.
    """

    about: dict[str, Any]
    messages: Iterable[Any]
    where: str
    skipped: Sequence[Skipped] = ()
    digest: str | None = None  # of the messages and what is said beside them
    is_held: bool = True

    def id(self) -> str | None:
        """The conversation's own id."""
        return next((str(self.about[key]) for key in IDS if usable(self.about.get(key))), None)

    def metadata(self, format: str, model: Any = None, held: Sequence[str] = ()) -> dict[str, Any]:
        """What is said of the conversation: `title`, `model`, its times, and the rest under the format's name."""
        return conversation_metadata(format, self.about, model=model, held=held)


TITLES = ("title", "name")
TIMES = (("created_at", ("created_at", "createdAt")), ("updated_at", ("updated_at", "updatedAt")))


def conversation_metadata(
    format: str, about: dict[str, Any], *, model: Any = None, held: Sequence[str] = ()
) -> dict[str, Any]:
    """Metadata of a conversation from the fields that a file has about it. `held` are those that are kept elsewhere."""
    metadata: dict[str, Any] = {}
    used = set(held)
    title = next((key for key in TITLES if isinstance(about.get(key), str)), None)
    if title is not None:
        metadata["title"] = about[title]
        used.add(title)
    model = about.get("model") if isinstance(about.get("model"), str) else model
    if isinstance(model, str) and model:
        metadata["model"] = model
        used |= {"model"} if about.get("model") == model else set()
    for name, keys in TIMES:
        for key in keys:
            if name not in metadata and (when := any_time(about.get(key))) is not None:
                metadata[name] = when.isoformat()
                used.add(key)
    rest = {key: value for key, value in about.items() if key not in used}
    return {**metadata, format: rest} if rest else metadata


def first_messages(head: bytes) -> tuple[dict[str, Any], ...]:
    """The messages that the head of a file shows, wherever they lie in it; the last may be cut off."""
    found = first_objects(head)
    if found and "messages" in found[0]:
        inner = [each for each in list_of(found[0]["messages"]) if isinstance(each, dict)]
        at = head.find(b"[", head.find(b'"messages"'))
        return tuple(inner) or (first_objects(head[at:]) if at >= 0 else ())
    return found


def read_lists(
    path: str | os.PathLike[str],
    wanted: str,
    is_message: Callable[[Any], bool],
    is_whole: Callable[[Any], bool] = lambda _: False,
) -> Iterator[Listed]:
    """The lists in the file at `path`, one after the other: of each all is read before the next is asked for.

    Messages that lie in it loosely are one list, which is read from the file while it is walked; what lies among them
    follows. A value of which `is_whole` is true is a list of its own, though it lies among loose messages. Raises
    `InvalidExport` where a file that isn't JSON Lines is torn, and if there is no message in it, `wanted` being what
    was looked for.
    """
    skipped: list[Skipped] = []
    values = read_values(path, skipped)
    loose: Listed | None = None
    among: list[Listed] = []
    anything = False

    def alone(found: Value) -> Iterator[Listed]:
        """What a value is by itself; nothing for one that has no messages."""
        value = found.value
        if is_whole(value):
            yield Listed({}, [value], found.where, digest=found.digest)
        elif isinstance(value, list):
            yield Listed({}, value, found.where, digest=found.digest)
        elif isinstance(value, dict) and isinstance(value.get("messages"), list):
            about = {key: said for key, said in value.items() if key != "messages"}
            yield Listed(about, value["messages"], found.where, digest=found.digest)
        else:
            skipped.append((found.where, f"it is no {wanted}"))

    def walked(first: Value, listed: Listed) -> Iterator[Any]:
        """The loose messages, from the first one on."""
        heard = blake2b(digest_size=16)
        for found in chain([first], values):
            if is_message(found.value) and not is_whole(found.value):
                heard.update(found.digest.encode())
                yield found.value
            else:
                among.extend(alone(found))
        listed.digest = heard.hexdigest()

    with closing(values):  # also where the list, which is walked elsewhere, is left in the midst of it
        for found in values:
            if is_message(found.value) and not is_whole(found.value):
                loose = Listed({}, (), "the file", skipped, is_held=False)
                loose.messages = walked(found, loose)
                yield loose
            else:
                for listed in alone(found):
                    anything = True
                    yield listed
    yield from among
    if loose is None and not anything:
        raise InvalidExport(path, None, f"wanted a {wanted}, found other JSON")
    if loose is None and skipped:
        yield Listed({}, (), "the file", skipped)


class Value(NamedTuple):
    """A value of a file: where it lies, and the digest of its text."""

    where: str
    value: Any
    digest: str


def digest_of_values(values: Iterable[Value]) -> str:
    """The digest of several values together."""
    return blake2b("".join(each.digest for each in values).encode(), digest_size=16).hexdigest()


def read_values(path: str | os.PathLike[str], skipped: list[Skipped]) -> Generator[Value, None, None]:
    """Each element of an array, each line of JSON Lines, or the one value of a file.

    Lines that can't be read go to `skipped`. Raises `InvalidExport` where a file of another kind is torn.
    """
    if not is_lines(path):
        for number, element in enumerate(read_elements(path), 1):
            yield Value(f"element {number} (line {element.line})", element.value, element.digest)
        return
    with opened(path) as file:
        for line in read_lines(file):
            if line.fault is not None:
                skipped.append(line.skipped())
            else:
                yield Value(f"line {line.number}", line.value, line.digest())


def is_lines(path: str | os.PathLike[str]) -> bool:
    """Whether a file is JSON Lines: its first line is a whole value, and another line follows."""
    begin: int | None = None
    end = 0
    with opened(path) as file:
        pieces = iter(lambda: file.readline(BUFFER), b"")  # a file that is one line isn't held
        for data in pieces:
            begin = end if begin is None and data.strip() else begin
            end += len(data)
            if begin is not None and (data.endswith(b"\n") or end - begin > LARGEST):
                break
        if begin is None or not any(data.strip() for data in pieces):
            return False
    with opened(path) as file:
        file.read(begin)
        line = file.read(end - begin)
    try:
        DECODER.decode(line.decode("utf-8-sig").strip())
    except (ValueError, RecursionError):
        return False
    return True
