"""Ready hooks for `Sessions(prepare=…)`: what a writer may want changed in every message before it is stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eventstore.types import Message

_EPHEMERAL = frozenset({"itemId", "reasoningEncryptedContent"})
_FIELDS = ("providerMetadata", "callProviderMetadata")


def strip_openai_ephemera(message: Message) -> Message:
    """`message` without what OpenAI's responses API understands only for a while.

    Removes `itemId` and `reasoningEncryptedContent` from `openai` in each part's `providerMetadata` and
    `callProviderMetadata` (objects emptied by that go too), and reasoning parts that have neither text nor metadata
    left. All else stays as it is, also what isn't a message: to refuse that is the store's own business.
    """
    given: Any = message.get("parts")
    if not isinstance(given, list):
        return message
    parts = [_without_ephemera(part) if isinstance(part, dict) else part for part in given]
    return {**message, "parts": [part for part in parts if not _is_empty_reasoning(part)]}


def _without_ephemera(part: dict[str, Any]) -> dict[str, Any]:
    for field in _FIELDS:
        metadata = part.get(field)
        if not isinstance(metadata, Mapping) or not isinstance(metadata.get("openai"), Mapping):
            continue
        openai = {key: value for key, value in metadata["openai"].items() if key not in _EPHEMERAL}
        kept = {
            key: openai if key == "openai" else value for key, value in metadata.items() if key != "openai" or openai
        }
        part = {key: kept if key == field else value for key, value in part.items() if key != field or kept}
    return part


def _is_empty_reasoning(part: Any) -> bool:
    if not isinstance(part, dict) or part.get("type") != "reasoning" or part.get("providerMetadata"):
        return False
    text = part.get("text")
    return not isinstance(text, str) or not text.strip()
