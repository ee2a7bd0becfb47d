"""Whether a part is one of the AI SDK's: the fields that a type must have, and no others.

Source: https://ai-sdk.dev/docs/reference/ai-sdk-core/ui-message
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_TEXT = ({"type", "text"}, {"state", "providerMetadata"})
_FIELDS: dict[str, tuple[set[str], set[str]]] = {
    "text": _TEXT,
    "reasoning": (_TEXT[0], {*_TEXT[1], "id"}),
    "file": ({"type", "mediaType", "url"}, {"filename", "providerMetadata", "providerReference"}),
    "reasoning-file": ({"type", "mediaType", "url"}, {"providerMetadata"}),
    "source-url": ({"type", "sourceId", "url"}, {"title", "providerMetadata"}),
    "source-document": ({"type", "sourceId", "mediaType", "title"}, {"filename", "providerMetadata"}),
    "step-start": ({"type"}, set()),
    "custom": ({"type", "kind"}, {"providerMetadata"}),
}
_STATES: dict[str, tuple[set[str], set[str]]] = {
    "input-streaming": (set(), {"input"}),
    "input-available": ({"input"}, set()),
    "approval-requested": ({"input", "approval"}, set()),
    "approval-responded": ({"input", "approval"}, set()),
    "output-available": ({"input", "output"}, {"preliminary", "approval"}),
    "output-error": ({"errorText"}, {"input", "rawInput", "approval"}),
    "output-denied": ({"input", "approval"}, set()),
}
_TOOL = {"title", "toolMetadata", "providerExecuted", "callProviderMetadata", "resultProviderMetadata"}
_TEXTS = ("text", "mediaType", "url", "errorText", "toolCallId", "toolName", "sourceId", "title", "filename")
_METADATA = ("providerMetadata", "callProviderMetadata", "resultProviderMetadata")


def check_parts(parts: list[dict[str, Any]]) -> None:
    """Fails for a part that the AI SDK wouldn't take, and for two calls of one id in one message."""
    calls = [part["toolCallId"] for part in parts if "toolCallId" in part]
    assert len(calls) == len(set(calls)), calls
    for part in parts:
        check_part(part)


def check_part(part: Mapping[str, Any]) -> None:
    """Fails for a part that the AI SDK wouldn't take."""
    must, may = _wanted(part)
    assert must <= part.keys() <= must | may, (part.keys(), must, may)
    for name in _TEXTS:
        assert isinstance(part.get(name, ""), str), (name, part)
    for name in _METADATA:
        assert isinstance(part.get(name, {}), dict), (name, part)
        assert all(isinstance(value, dict) for value in part.get(name, {}).values()), (name, part)


def _wanted(part: Mapping[str, Any]) -> tuple[set[str], set[str]]:
    kind = part["type"]
    assert isinstance(kind, str), part
    if kind in _FIELDS:
        return _FIELDS[kind]
    if kind.startswith("data-") and kind != "data-":
        return {"type", "data"}, {"id"}
    assert (kind.startswith("tool-") and kind != "tool-") or kind == "dynamic-tool", part
    must, may = _STATES[part["state"]]
    named = {"toolName"} if kind == "dynamic-tool" else set()
    assert part["toolCallId"], part
    return {"type", "toolCallId", "state", *named} | must, may | _TOOL
