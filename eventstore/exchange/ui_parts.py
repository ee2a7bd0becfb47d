"""Texts, reasoning and files as AI SDK parts, from what other formats say in their own ways. Pure, and knows no format.

Empty texts make no part.

Source: https://ai-sdk.dev/docs/reference/ai-sdk-core/ui-message
"""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping
from typing import Any

from eventstore.exchange.tools import Part

BYTES = "application/octet-stream"
IMAGE = "image/*"
_TYPES = mimetypes.MimeTypes()  # the same on every machine


def text_parts(text: Any, **more: Any) -> list[Part]:
    """A text part; none for an empty text and for what isn't text."""
    return [{"type": "text", "text": text, **more}] if isinstance(text, str) and text else []


def reasoning_parts(text: Any, **more: Any) -> list[Part]:
    """A reasoning part; none for an empty text and for what isn't text."""
    return [{"type": "reasoning", "text": text, **more}] if isinstance(text, str) and text else []


def provider(name: str, about: Mapping[str, Any], key: str = "providerMetadata") -> dict[str, Any]:
    """What a provider says of a part, where the part has it; nothing if it says nothing."""
    return {key: {name: {**about}}} if about else {}


def file_part(url: str, media_type: Any = None, filename: Any = None, otherwise: str = BYTES) -> Part:
    """A file at `url` (`data:` or another), its type as given, else as the address says it, else `otherwise`."""
    part: Part = {"type": "file", "mediaType": _media_type(url, media_type) or otherwise, "url": url}
    return {**part, "filename": filename} if isinstance(filename, str) and filename else part


def _media_type(url: str, media_type: Any) -> str | None:
    if isinstance(media_type, str) and media_type:
        return media_type
    if url[:5].lower() == "data:":
        return url[5 : 5 + 256].partition(",")[0].partition(";")[0] or None
    return _TYPES.guess_type(url.partition("?")[0].rpartition("/")[2])[0]


def data_url(media_type: Any, base64: str) -> str:
    """The address of bytes that are given in base64; what is an address already, unchanged."""
    if is_address(base64):
        return base64
    return f"data:{media_type if isinstance(media_type, str) and media_type else BYTES};base64,{base64}"


def is_address(value: Any) -> bool:
    """Whether `value` is an address that a file part can have."""
    return isinstance(value, str) and value[:8].lower().startswith(("data:", "http://", "https://"))
