"""Files that hold messages in lists: one conversation or many, as JSON or as JSON Lines.

What a list lies in differs, and is told apart by content:

- an array of messages, or messages a line each: one conversation
- an object with `messages` and what is said about them, or an array or lines of such: a conversation each
- lines that are arrays of messages: a conversation each

A line that can't be read, or that is nothing of these, is left out and named.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

import attrs

from eventstore.exchange.assembling import Told
from eventstore.exchange.conversation import InvalidExport, Skipped
from eventstore.exchange.elements import DECODER, LARGEST, first_objects, read_elements
from eventstore.exchange.identities import content_id
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


@attrs.frozen
class Listed:
    """A list of messages as it lies in a file: what is said beside it, the messages, what couldn't be read."""

    about: dict[str, Any]
    messages: list[Any]
    where: str
    skipped: tuple[Skipped, ...] = ()
    digest: str | None = None  # of the messages and what is said beside them

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
    *,
    held: bool = True,
) -> Iterator[Listed]:
    """The lists in the file at `path`, one after the other.

    A value of which `is_whole` is true is a list of its own, though it lies among loose messages. Of
    those only the first is there if they needn't be `held`. Raises
    `InvalidExport` where a file that isn't JSON Lines is torn, and if there is no message in it, `wanted` being what
    was looked for.
    """
    loose: list[Any] = []
    heard = blake2b(digest_size=16)  # of the loose messages
    skipped: list[Skipped] = []
    anything = False
    for found in read_values(path, skipped):
        where, value, digest = found.where, found.value, found.digest
        if is_whole(value):
            yield Listed({}, [value], where, digest=digest)
        elif is_message(value):
            if held or not loose:
                loose.append(value)
            heard.update(digest.encode())
        elif isinstance(value, list):
            yield Listed({}, value, where, digest=digest)
        elif isinstance(value, dict) and isinstance(value.get("messages"), list):
            about = {key: said for key, said in value.items() if key != "messages"}
            yield Listed(about, value["messages"], where, digest=digest)
        else:
            skipped.append((where, f"it is no {wanted}"))
            continue
        anything = True
    if not anything:
        raise InvalidExport(path, 1, f"wanted a {wanted}, found other JSON")
    if loose or skipped:
        yield Listed({}, loose, "the file", tuple(skipped), heard.hexdigest())


@attrs.frozen
class Value:
    """A value of a file: where it lies, and the digest of its text."""

    where: str
    value: Any
    digest: str


def digest_of_values(values: Iterable[Value]) -> str:
    """The digest of several values together."""
    return blake2b("".join(each.digest for each in values).encode(), digest_size=16).hexdigest()


def read_values(path: str | os.PathLike[str], skipped: list[Skipped]) -> Iterator[Value]:
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


class Names:
    """The session ids of the conversations in one file.

    One without an id of its own is named by its first message that isn't a system message: by its id and its content.
    A list that goes on where an earlier one of that name ends, or ends there too, is the same conversation; another one
    gets `#2`, `#3`, … behind its name, in the file's order.
    """

    def __init__(self, format: str) -> None:
        self._format = format
        self._told: dict[str, list[tuple[int, str]]] = {}  # name -> how long each was told, and what stands for it

    def name(self, given: str | None, told: Sequence[Told]) -> str:
        """The session id of a conversation with the id `given`, if it has one, and these messages."""
        if given is not None:
            return f"{self._format}:{given}"
        if not told:
            return f"{self._format}:unknown"
        first = next((each for each in told if each.role != "system"), told[0])
        name = _said(None, first)
        known = self._told.setdefault(name, [])
        lengths = {length for length, _ in known}
        so_far: str | None = None
        number = len(known)
        for length, each in enumerate(told, 1):
            so_far = _said(so_far, each)
            if length in lengths and (length, so_far) in known:
                number = known.index((length, so_far))
        known[number : number + 1] = [(len(told), str(so_far))]
        return f"{self._format}:{name}" + (f"#{number + 1}" if number else "")


def _said(before: str | None, told: Told) -> str:
    """What stands for a message and all before it."""
    said = [told.id if isinstance(told.id, str) else None, told.role, told.content]
    return content_id(before, said)
