"""The strict, slow way from a Python value to compact JSON text and back: the one that can say where it fails.

`codec` goes the fast way (orjson) and comes here when that refuses a value or doesn't give it back: integers over 64
bits, lone surrogates, tuples and foreign mappings, deep nesting, and all that JSON can't hold. Iterative throughout, so
that depth is a limit of ours and never the interpreter's.
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Iterator, Mapping
from json.encoder import encode_basestring
from typing import Any

import orjson

from eventstore.errors import NotSerializable

MAX_DEPTH = 500
"""Levels of nesting that a message may have. Python's own decoder needs about 1,000 levels of stack for twice that."""

DIGITS = 600  # Python converts so many whatever `sys.set_int_max_str_digits` says: its least limit is 640
_SURROGATE = "[\ud800-\udfff]"  # compiled, and kept, by `re` when the first is met


def escape_surrogates(text: str) -> str:
    """JSON text that UTF-8 can hold: surrogate pairs become the character they mean, lone ones their escape."""
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return re.sub(_SURROGATE, lambda found: f"\\u{ord(found[0]):04x}", joined)


def _integer(value: int) -> str:
    """Decimal digits of an integer of any size."""
    if -(10**DIGITS) < value < 10**DIGITS:
        return int.__repr__(value)
    sign, value = ("-" if value < 0 else ""), abs(int(value))
    chunks: list[str] = []
    while value:
        value, chunk = divmod(value, 10**DIGITS)
        chunks.append(str(chunk).rjust(DIGITS, "0"))
    return sign + "".join(reversed(chunks)).lstrip("0")


def _parse_integer(digits: str) -> int:
    if len(digits) <= DIGITS:
        return int(digits)
    sign, digits = (-1 if digits[0] == "-" else 1), digits.lstrip("-")
    value = 0
    for start in range(0, len(digits), DIGITS):
        chunk = digits[start : start + DIGITS]
        value = value * 10 ** len(chunk) + int(chunk)
    return sign * value


def _scalar(value: Any, place: str) -> str:
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotSerializable(place, f"JSON has no {value!r}; store null or a string instead")
        return orjson.dumps(float(value)).decode()  # spelt as on the fast way
    raise NotSerializable(place, f"JSON has no {type(value).__name__}; convert it first")


def _entries(value: Any, place: str) -> Iterator[tuple[str, str, Any]]:
    """(text before the entry, its place, its value) of each entry of a container."""
    comma = ""
    if isinstance(value, Mapping):
        inside = f"{place}." if place else ""
        seen: set[str] = set()
        for key, item in value.items():
            if not isinstance(key, str):
                raise NotSerializable(f"{inside}{key!r}", f"a key must be a string, not {type(key).__name__}")
            text = escape_surrogates(encode_basestring(key))
            if text in seen:
                raise NotSerializable(f"{inside}{key}", "two keys of one object are the same text")
            seen.add(text)
            yield f"{comma}{text}:", f"{inside}{key}", item
            comma = ","
    else:
        for index, item in enumerate(value):
            yield comma, f"{place}[{index}]", item
            comma = ","


def _brackets(value: Any) -> tuple[str, str] | None:
    if isinstance(value, Mapping):
        return "{", "}"
    if isinstance(value, (list, tuple)):
        return "[", "]"
    return None


def encode(value: Any) -> str:
    """Compact JSON text of `value`. Raises `NotSerializable` naming the first place that JSON can't hold."""
    out: list[str] = []
    stack: list[tuple[Iterator[tuple[str, str, Any]], str]] = [(iter([("", "", value)]), "")]
    while stack:
        entries, closing = stack[-1]
        entry = next(entries, None)
        if entry is None:
            out.append(closing)
            stack.pop()
            continue
        before, place, item = entry
        out.append(before)
        brackets = _brackets(item)
        if brackets is None:
            out.append(_scalar(item, place))
            continue
        if len(stack) > MAX_DEPTH:
            raise NotSerializable(place, f"it is nested deeper than {MAX_DEPTH} levels")
        out.append(brackets[0])
        stack.append((_entries(item, place), brackets[1]))
    return escape_surrogates("".join(out))


def decode(text: str) -> Any:
    """The value of JSON text that `encode` made, to the last digit."""
    try:
        return json.loads(text, parse_int=_parse_integer)
    except RecursionError:  # deep JSON met a deep caller: a thread has a stack of its own
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(json.loads(text, parse_int=_parse_integer)))
        thread.start()
        thread.join()
        return found[0]


def too_deep(value: Any) -> bool:
    """Whether `value` is nested deeper than `MAX_DEPTH`."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            item
            for container in level
            for item in (container.values() if isinstance(container, Mapping) else container)
            if isinstance(item, (Mapping, list, tuple))
        ]
        if not level:
            return False
    return True
