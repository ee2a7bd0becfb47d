"""Messages as JSON text: checked, encoded and decoded. Pure: no database in sight.

The text is compact JSON: no spaces, non-ASCII raw, lone surrogates escaped. A text is *plain* when orjson decodes it
exactly; the others (integers over 64 bits, lone surrogates) carry the flag `STRICT` and are decoded by `strict`.
What is written reads back equal: every text is decoded once when it is made, and compared with what was given, unless
that is known to be strings, lists and dicts of Python's own types.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from operator import itemgetter
from typing import Any, NamedTuple

import orjson

from eventstore import media, strict
from eventstore.errors import InvalidMessage
from eventstore.hashing import blake2b, hash_each, to_integers
from eventstore.media import Taken
from eventstore.types import Message, MessageLike

STRICT = 1  # flag of a body: decode it with `strict`
OVERLAY_PREFIX = "compaction_"
"""A message whose id starts so is an overlay that a client posted back."""


class Encoded(NamedTuple):
    """JSON text with what the log needs to know about it. `value` is the text's own decoding, shared with nobody."""

    text: str
    value: Any
    size: int  # UTF-8 bytes, of media too
    flags: int  # 0 or STRICT
    media: tuple[Taken, ...] = ()  # what was taken out of the text; `value` has it


def _encode_strictly(value: Any) -> Encoded:
    text = strict.encode(value)
    size = len(text.encode())
    try:
        plain = orjson.loads(text)
        if strict.encode(plain) == text:
            return Encoded(text, plain, size, 0)
    except ValueError:
        pass
    return Encoded(text, strict.decode(text), size, STRICT)


_AS_IT_IS = orjson.OPT_PASSTHROUGH_SUBCLASS  # an OrderedDict has an order of its own


def encode(value: Any) -> Encoded:
    """`value` as JSON. Raises `NotSerializable` naming the place of what JSON can't hold."""
    try:
        data = orjson.dumps(value, option=_AS_IT_IS)  # refuses 255 levels: what passes isn't nested too deep
        decoded = orjson.loads(data)
        # The comparison refuses what orjson changes in silence: NaN, UUIDs, dates, enums, dataclasses.
        if decoded == value:
            return tuple.__new__(Encoded, (data.decode(), decoded, len(data), 0, ()))  # half of what Encoded() takes
    except (TypeError, ValueError, RecursionError):
        pass
    return _encode_strictly(value)


class Together(NamedTuple):
    """Values that were encoded together, by columns. All are plain, and nothing was taken out of them."""

    texts: list[str]
    values: list[Any]
    sizes: list[int]

    def each(self) -> Iterator[Encoded]:
        """One by one."""
        rows = zip(self.texts, self.values, self.sizes, repeat(0), repeat(()), strict=False)
        return map(tuple.__new__, repeat(Encoded), rows)


def encode_together(values: Sequence[Any], *, exact: bool = False) -> Together | None:
    """`encode` of each, by one decoding of all; `None` where one of them needs a closer look.

    They need not be compared where they are known to be `exact`: strings, lists and dicts of Python's own types.
    """
    texts: list[str] = []
    sizes: list[int] = []
    try:
        for data in map(orjson.dumps, values, repeat(None), repeat(_AS_IT_IS)):
            texts.append(data.decode())  # and let go at once: many that are kept break up the heap
            sizes.append(len(data))
        decoded = orjson.loads(f"[{','.join(texts)}]")
        return Together(texts, decoded, sizes) if exact or decoded == [*values] else None
    except (TypeError, ValueError, RecursionError):
        return None


def is_plain_text(value: Any) -> bool:
    """Whether what was given is a message that `check_message` passes, and `media.may_hold` rules out: one with an id
    and a role in ASCII, and parts of a type and a text. Its JSON doesn't tell: that of a dataclass is an object's, too.
    """
    if type(value) is not dict:
        return False
    try:
        id, role, parts = value["id"], value["role"], value["parts"]
        if type(id) is not str or type(role) is not str or not (id and role and id.isascii() and role.isascii()):
            return False
        if type(parts) is not list:
            return False
        for part in parts:
            if type(part) is not dict or len(part) != 2:
                return False
            if type(part["type"]) is not str or type(part["text"]) is not str:
                return False
    except KeyError:
        return False
    return True


def are_plain_texts(values: Sequence[Any]) -> bool:
    """`is_plain_text` of all at once, a column at a time."""
    if set(map(type, values)) != {dict}:
        return False
    try:
        words = [*map(itemgetter("id"), values), *map(itemgetter("role"), values)]
        lists = [*map(itemgetter("parts"), values)]
        if set(map(type, words)) != {str} or set(map(type, lists)) != {list}:
            return False
        if not all(words) or not "".join(words).isascii():
            return False
        parts = [*chain.from_iterable(lists)]
        if not set(map(type, parts)) <= {dict} or not set(map(len, parts)) <= {2}:
            return False
        return set(map(type, chain.from_iterable(map(itemgetter("type", "text"), parts)))) <= {str}
    except KeyError:
        return False


decode_plain = orjson.loads
"""`decode` of a text without flags, for loops over many."""


def decode(text: str, flags: int) -> Any:
    """The value of a text that `encode` made with these flags."""
    return strict.decode(text) if flags & STRICT else orjson.loads(text)


def decode_with(text: str, flags: int, taken: Sequence[Taken]) -> Any:
    """The same, with the media that were taken out of it."""
    mark = media.new_mark()
    value = decode(media.woven(text, taken, mark), flags)
    media.fill(value, mark, [each.base64 for each in taken])
    return value


def full_text(encoded: Encoded) -> str:
    """The JSON text with its media."""
    return media.woven(encoded.text, encoded.media) if encoded.media else encoded.text


def own_value(encoded: Encoded) -> Any:
    """The value once more, shared with nobody."""
    return media.copied(encoded.value) if encoded.media else decode(encoded.text, encoded.flags)


_new_hasher = blake2b(digest_size=8).copy  # to copy one takes half the time of making one


def digest(text: str) -> int:
    """64 bits of BLAKE2b of a text as SQLite's signed integer: enough to see damage, not meant against forgery."""
    hasher = _new_hasher()
    hasher.update(text.encode())
    return int.from_bytes(hasher.digest(), "big", signed=True)


def digests(texts: Iterable[str]) -> list[int]:
    """`digest` of each."""
    return to_integers(b"".join(hash_each(_new_hasher, texts)))


def has_surrogate(text: str) -> bool:
    """Whether SQLite can't hold `text` as text."""
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def encode_message(message: MessageLike, whole: Encoded | None = None) -> Encoded:
    """A message that `check_message` passed, as JSON without its inline media. Raises `NotSerializable`.

    `whole` is its JSON with them, where that was made already."""
    given: Any = message if type(message) is dict else dict(message)
    parts, mark, payloads = media.strip(given["parts"], strict.MAX_DEPTH)
    if not payloads:
        return encode(given) if whole is None else whole
    marked = encode({key: parts if key == "parts" else item for key, item in given.items()})
    texts = marked.text.split(mark)
    taken, at = [], 0
    for text, payload in zip(texts, payloads, strict=False):
        at += len(text)
        taken.append(Taken(at, payload))
        at += len(payload)
    media.fill(marked.value["parts"], mark, payloads)
    size = marked.size + sum(len(payload) - len(mark) for payload in payloads)
    return Encoded("".join(texts), marked.value, size, marked.flags, tuple(taken))


def without_media(encoded: Encoded) -> Encoded:
    """A message that was encoded whole, with its inline media taken out."""
    return encode_message(encoded.value, encoded)


def check_message(message: MessageLike) -> None:
    """Raises `InvalidMessage` unless `message` has an id, a role, and parts that are objects with a type."""
    if not isinstance(message, (dict, Mapping)):  # dict first: an abstract class is slow to ask
        raise InvalidMessage(f"a message must be a mapping with 'id', 'role' and 'parts', not {type(message).__name__}")
    _check_word(message, "id")
    _check_word(message, "role")
    parts = message.get("parts")
    if not isinstance(parts, (list, tuple)):
        found = f"not {reprlib.repr(parts)}" if "parts" in message else "and it has none"
        raise InvalidMessage(
            f"a message's 'parts' must be a list, {found}: a text is [{{'type': 'text', 'text': 'Hello'}}]"
        )
    for part in parts:
        if not isinstance(part, (dict, Mapping)) or not isinstance(part.get("type"), str):
            index = next(n for n, each in enumerate(parts) if each is part)
            raise InvalidMessage(f"parts[{index}] must be an object with a string 'type', not {reprlib.repr(part)}")


def _check_word(message: MessageLike, key: str) -> None:
    word = message.get(key)
    if not isinstance(word, str) or not word:
        found = f"not {reprlib.repr(word)}" if key in message else "and it has none"
        raise InvalidMessage(f"a message's {key!r} must be a non-empty string, {found}")
    if not word.isascii() and has_surrogate(word):
        raise InvalidMessage(f"a message's {key!r} must not hold half a surrogate pair: {word!r}")


def count_overlay_ids(message_ids: Iterable[str]) -> int:
    """How many ids are those of overlays."""
    return sum(map(str.startswith, message_ids, repeat(OVERLAY_PREFIX)))


def is_overlay_id(message_id: str) -> bool:
    """Whether an id is that of an overlay as reads show it."""
    return message_id.startswith(OVERLAY_PREFIX)


def overlay_message(overlay_id: str, summary: str) -> Message:
    """How an overlay reads."""
    return {
        "id": OVERLAY_PREFIX + overlay_id,
        "role": "assistant",
        "parts": [{"type": "text", "text": summary}],
    }


def erased_message(message_id: str, role: str) -> Message:
    """How a version reads whose body was not retained."""
    return {"id": message_id, "role": role, "parts": [{"type": "erased"}]}


def keep_reserved(message: MessageLike, reserved: frozenset[str], stored: Mapping[str, Any] | None) -> MessageLike:
    """A client's message with the reserved metadata keys as `stored` has them (removed when it has none).

    A stored key stays in its place among the others, so that a client's plain echo is equal to what is stored.
    """
    metadata = message.get("metadata")
    kept = stored.get("metadata") if stored is not None else None
    mine: dict[str, Any] = {k: v for k, v in kept.items() if k in reserved} if isinstance(kept, Mapping) else {}
    if not isinstance(metadata, Mapping):
        return message if not mine or "metadata" in message else {**message, "metadata": mine}
    if not mine and not any(key in reserved for key in metadata):
        return message
    theirs = {key: value for key, value in metadata.items() if key not in reserved}
    merged = _in_stored_order(theirs, mine, kept) if mine and isinstance(kept, Mapping) else theirs
    if merged:
        return {key: merged if key == "metadata" else value for key, value in message.items()}
    return {key: value for key, value in message.items() if key != "metadata"}


def _in_stored_order(theirs: dict[str, Any], mine: dict[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """`theirs` in their order, with each of `mine` right behind the key that it follows in `stored`."""
    order = list(theirs)
    previous: str | None = None
    for key in stored:
        if key in mine:
            order.insert(order.index(previous) + 1 if previous is not None else 0, key)
        if key in mine or key in theirs:
            previous = key
    values = theirs | mine
    return {key: values[key] for key in order}
