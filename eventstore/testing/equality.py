"""When two values are equal: when their JSON text is.

Python's own `==` takes 1, 1.0 and True for one value, -0.0 for 0.0, and knows no order of keys. A store keeps all of
them apart, so a test that compares what was written with what is read compares JSON text.
"""

from __future__ import annotations

import json
import re
from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def json_text(value: Any) -> str:
    """`value` as compact JSON: no spaces, non-ASCII raw, lone surrogates escaped. Raises `ValueError` for NaN.

    A surrogate pair that stands as two halves in a Python string is the one character that it means.
    """
    text = _ENCODER.encode(value)
    if text.isascii():
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", joined)


def same_json(one: Any, other: Any) -> bool:
    """Whether two values (messages, lists of messages, metadata) have the same JSON text."""
    return json_text(one) == json_text(other)
