"""Media as writers bring them: exact, mangled in every way that was seen, and look-alikes that are no media at all.

Each strategy is made once: hypothesis looks at all of a new one before it draws from it.
"""

from __future__ import annotations

import base64
from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from eventstore.testing.values import json_values, texts

IMAGES = tuple(bytes([n]) * (n % 3 + 40 * n) for n in range(1, 6))
"""A few contents of some lengths, that come again and again."""

_TYPES = ("image/png", "IMAGE/PNG", "application/pdf", "audio/wav", "application/vnd.x+xml", "text/plain", "Text/HTML")
_ODD_TYPES = ("", "image", "image/", "/png", " text/plain", "image/png;name=a", "画像/png", "\ud83d")
_TYPE_KEYS = ("mediaType", "mimeType", "media_type")
_PREFIXES = (
    "data:image/png;base64,",
    "data:application/pdf;base64,",
    "data:text/plain;base64,",
    "DATA:image/png;base64,",
    "data:image/PNG;base64,",
    "data:image/png;BASE64,",
    "data:image/png;name=a.png;base64,",
    "data:image/png;charset=utf-8;base64,",
    "data:;base64,",
    "data:image/png,",
    "data:,",
    " data:image/png;base64,",
    "https://example.org/a.png?",
    "",
)
WORDS = (
    "",
    "Hello World",
    "word",
    "words and so on",
    "=",
    "====",
    "A===",
    "AB=C",
    "null",
    "data:",
    "a\x00bc",
    "\ud83d\ud83dAA",
)


def encoded(data: bytes) -> str:
    """Base64 by the standard library: an opinion apart from the store's."""
    return base64.b64encode(data).decode()


def _mangled(exact: str, how: int, at: int) -> str:
    at %= len(exact) + 1
    return (
        exact,
        exact.rstrip("="),
        exact + "=",
        exact[:at] + "\n" + exact[at:],
        exact[:at] + " " + exact[at:],
        exact.replace("+", "-").replace("/", "_"),
        exact.replace("+", "%2B").replace("/", "%2F").replace("=", "%3D"),
        _stray_bits(exact),
        exact[:at] + "=" + exact[at:],
        exact[:at],
        exact[:at] + "é" + exact[at:],
        exact[:at] + "\ud83d" + exact[at:],
        exact * 2,
    )[how]


def _stray_bits(exact: str) -> str:
    """Bits set that padding leaves over: decoders accept them, and give another string back."""
    body = exact.rstrip("=")
    return body[:-1] + chr(ord(body[-1]) + 1) + "=" * (len(exact) - len(body)) if body != exact else exact


@cache
def payloads() -> SearchStrategy[str]:
    """Base64, exact or not."""
    data = st.sampled_from(IMAGES) | st.binary(max_size=40)
    exact = data.map(encoded)
    return st.one_of(
        exact, st.builds(_mangled, exact, st.integers(0, 12), st.integers(0, 60)), st.sampled_from(WORDS), texts()
    )


@cache
def carriers() -> SearchStrategy[dict[str, Any]]:
    """Objects that carry media, or look as if they did."""
    declared = st.dictionaries(
        st.sampled_from(_TYPE_KEYS), st.sampled_from(_TYPES + _ODD_TYPES) | st.none(), max_size=2
    )
    url = st.builds(str.__add__, st.sampled_from(_PREFIXES), payloads())
    fields = st.fixed_dictionaries({}, optional={"url": url | st.none(), "data": payloads() | json_values()})
    return st.builds(_shuffled, declared, fields, st.integers(0, 5))


def _shuffled(declared: dict[str, Any], fields: dict[str, Any], turn: int) -> dict[str, Any]:
    items = [*declared.items(), *fields.items()]
    turn %= len(items) + 1
    return dict(items[turn:] + items[:turn])


def _nested() -> SearchStrategy[Any]:
    return st.recursive(
        carriers() | json_values(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
        max_leaves=5,
    )


@cache
def _parts() -> SearchStrategy[dict[str, Any]]:
    return st.one_of(
        carriers().map(lambda carrier: {"type": "file", **carrier}),
        carriers().map(lambda carrier: {**carrier, "type": "file"}),
        _nested().map(lambda value: {"type": "tool-look", "toolCallId": "1", "output": value}),
        st.builds(lambda text: {"type": "text", "text": text}, texts()),
    )


@st.composite
def media_messages(draw: st.DrawFn, message_id: str = "m") -> dict[str, Any]:
    """Messages full of media: in parts, in the outputs of tools at any depth, and where they stay (metadata)."""
    message: dict[str, Any] = {"id": message_id, "role": "user", "parts": draw(st.lists(_parts(), max_size=4))}
    if draw(st.booleans()):
        message = {"metadata": draw(carriers()), **message}
    if draw(st.booleans()):
        message["avatar"] = draw(carriers())
    return message


def image_part(data: bytes, media_type: str = "image/png") -> dict[str, Any]:
    """A file part that carries bytes."""
    return {"type": "file", "mediaType": media_type, "url": f"data:{media_type};base64,{encoded(data)}"}


def pictured(message_id: str, *images: bytes, text: str = "Look.", media_type: str = "image/png") -> Any:
    """A message of a text and images."""
    parts = [{"type": "text", "text": text}, *(image_part(data, media_type) for data in images)]
    return {"id": message_id, "role": "user", "parts": parts}
