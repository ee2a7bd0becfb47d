"""How many tokens a message may cost: an estimate, stamped on each message when it is written.

Per text the larger of UTF-8 bytes / 4 and 1.3 x words, rounded up (of text and reasoning parts, and of the inputs and
outputs of tools), plus 4 per message; 1,600 per image; other attachments bytes / 4, at most 20,000.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from eventstore import media, strict
from eventstore.types import MessageLike

PER_MESSAGE = 4
PER_IMAGE = 1_600
MOST_PER_ATTACHMENT = 20_000
COUNTED_AT_ONCE = 65_536  # characters

# What parts words becomes a space, all else an x: a word begins at each " x". Splitting a long reply at every update of
# it would make as many strings as it has words, and take most of the update's time.
_SHAPE = bytes(ord(" ") if chr(code).isspace() else ord("x") for code in range(128)).ljust(256, b"x")


def text_tokens(text: str) -> int:
    """Tokens of one text."""
    if text.isascii():
        by_size, by_words = 5 * len(text), 26 * f" {text}".encode().translate(_SHAPE).count(b" x")
    else:
        by_size, by_words = 5 * len(text.encode("utf-8", "surrogatepass")), 26 * _words(text)
    return ((by_size if by_size > by_words else by_words) + 19) // 20  # both are twentieths of a token


def _words(text: str) -> int:
    """The words of a text, counted in stretches: all words of a large one are many times its size in memory."""
    words = 0
    for start in range(0, len(text), COUNTED_AT_ONCE):
        words += len(text[start : start + COUNTED_AT_ONCE].split())
        if start and not (text[start - 1].isspace() or text[start].isspace()):
            words -= 1  # one that is cut in two
    return words


def _as_text(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return strict.encode(value)


def _payload_bytes(payload: str) -> int:
    """The bytes that a data: URL, or bare base64, stands for."""
    start = payload.find(",") + 1 if payload[:5].lower() == "data:" else 0
    size = len(payload) - start
    if start and not payload[max(0, start - 8) : start].lower().endswith(";base64,"):
        return size
    return size * 3 // 4 - payload.count("=", -2)


def _media_type(value: Mapping[str, Any]) -> str | None:
    """The media type that an object declares, unless it is text."""
    declared = media.declared_type(value)
    return declared.lower() if declared is not None and media.is_media_type(declared) else None


def _carried(value: Mapping[str, Any]) -> str | None:
    """The key of the string in which an object may carry an attachment, or a link to one."""
    return next((key for key in ("url", "data") if isinstance(value.get(key), str)), None)


def _media_tokens(part: Mapping[str, Any], media_type: str | None) -> int:
    """Tokens of what a part carries inline: in `url`, and where it declares media that isn't text, in `data`."""
    key = _carried(part)
    if key is None or (key == "data" and media_type is None):
        return 0
    if media_type is not None and media_type.startswith("image/"):
        return PER_IMAGE
    payload = part[key]
    if key == "url" and payload[:5].lower() != "data:":
        return 0  # a link: its bytes are elsewhere
    return min(-(-_payload_bytes(payload) // 4), MOST_PER_ATTACHMENT)


def _value_tokens(value: Any) -> int:
    """Tokens of a tool's input or output, which may hold attachments at any depth."""
    if value is None:
        return 0
    if isinstance(value, str):
        return text_tokens(value)
    text = _as_text(value)
    if 'mediaType":' in text or 'mimeType":' in text or 'media_type":' in text or '"url":"data:' in text:
        tokens, rest = _without_media(value)
        return tokens + text_tokens(_as_text(rest) if tokens else text)
    return text_tokens(text)


def _without_media(value: Any) -> tuple[int, Any]:
    """(the tokens of the attachments in a value, the value without them)."""
    total = 0
    holder: list[Any] = [value]
    stack: list[tuple[Any, Any]] = [(holder, 0)]
    while stack:
        container, key = stack.pop()
        item = container[key]
        if isinstance(item, (dict, Mapping)):
            container[key] = copy = dict(item)
            media_type = _media_type(item)
            if media_type is not None and (tokens := _media_tokens(item, media_type)):
                total += tokens
                copy[_carried(item)] = ""
            stack.extend((copy, inner) for inner in copy)
        elif isinstance(item, (list, tuple)):
            container[key] = copied = list(item)
            stack.extend((copied, index) for index in range(len(copied)))
    return total, holder[0]


def _part_tokens(part: Mapping[str, Any]) -> int:
    kind = part["type"]
    if kind.startswith("tool-") or kind == "dynamic-tool":
        return _value_tokens(part.get("input")) + _value_tokens(part.get("output"))
    return _media_tokens(part, _media_type(part))


def estimate_tokens(message: MessageLike) -> int:
    """The default `count_tokens`: an estimate that needs no model's tokenizer."""
    tokens = PER_MESSAGE
    for part in message["parts"]:
        if part["type"] in ("text", "reasoning"):
            text = part.get("text")
            tokens += text_tokens(text) if isinstance(text, str) else 0
        else:
            tokens += _part_tokens(part)
    return tokens
