"""The `<details>` that Open WebUI writes into an answer's text, as parts: what the model thought, and its tools. Pure.

| in the text | part |
| --- | --- |
| `<details type="reasoning" …>` | `reasoning`, without the summary and the quotation marks of its lines |
| `<details type="tool_calls" id="…" name="…" arguments="…" result="…">` | `tool-<name>`, with its result |
| one of these without a name or an id | `data-open-webui-details` with the whole element |
| any other, and one without an end | text, as it is |
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

from eventstore.exchange.elements import DECODER
from eventstore.exchange.tools import Part, call_part, data_part, result_part, spelled
from eventstore.exchange.ui_parts import reasoning_parts, text_parts

FORMAT = "open-webui"
END = "</details>"
_BEGIN = re.compile(r'<details\b((?:[^<>"]|"[^"]*")*)>')
_ATTRIBUTE = re.compile(r'([a-z_]+)="([^"]*)"')
_SUMMARY = re.compile(r"\s*<summary>.*?</summary>", re.DOTALL)
_QUOTED = re.compile(r"^> ?", re.MULTILINE)


def express_details(text: str) -> list[Part]:
    """An answer's text as parts. Blank text between them makes none."""
    parts: list[Part] = []
    for piece, element in _pieces(text):
        if piece.strip():
            parts += text_parts(piece.strip() if element is not None or parts else piece)
        if element is not None:
            parts += _element(*element)
    return parts


def without_details(text: str) -> str:
    """An answer's text without what becomes other parts."""
    return "".join(piece for piece, _ in _pieces(text))


def _pieces(text: str) -> Iterator[tuple[str, tuple[dict[str, str], str, str] | None]]:
    """The text before each element, with the element: its attributes, what is in it, and all of it."""
    at = begin = 0
    while (found := _BEGIN.search(text, begin)) is not None:
        end = text.find(END, found.end())
        if end < 0:
            break
        begin = end + len(END)
        attributes = {name: unescape(value) for name, value in _ATTRIBUTE.findall(found[1])}
        if attributes.get("type") in ("reasoning", "tool_calls"):
            yield text[at : found.start()], (attributes, text[found.end() : end], text[found.start() : begin])
            at = begin
    yield text[at:], None


def _element(attributes: dict[str, str], inside: str, whole: str) -> list[Part]:
    if attributes["type"] == "reasoning":
        said = _QUOTED.sub("", unescape(_SUMMARY.sub("", inside, count=1)).strip())
        duration = attributes.get("duration")
        return reasoning_parts(said, **({"providerMetadata": {FORMAT: {"duration": duration}}} if duration else {}))
    name, call_id = attributes.get("name"), attributes.get("id")
    if not name or not call_id:
        return [data_part(FORMAT, "details", whole)]
    call = call_part(name, call_id, spelled(_unquoted(attributes.get("arguments", ""))))
    result = attributes.get("result", inside if "<summary>" not in inside else "")
    return [result_part(call, _unquoted(result)) if attributes.get("done") == "true" or result else call]


def _unquoted(text: str) -> str:
    """A text that is given as a JSON string, or else as it is."""
    if not text.startswith('"'):
        return text
    try:
        value = DECODER.decode(text)
    except ValueError:
        return text
    return value if isinstance(value, str) else text
