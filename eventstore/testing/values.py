"""What messages are made of: texts, ids, JSON values and times that are valid, and odd wherever odd is allowed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

ODD_TEXTS = (
    "",
    " \t\r\n",
    "two words",
    "Привет, мир",
    "你好，世界",
    "こんにちは 한국어",
    "مرحبا שלום",
    "नमस्ते สวัสดี",
    "👩‍👩‍👧‍👦 🇩🇪 👍🏽",
    "cafe\u0301 café",
    "line\u2028separator",
    "a\x00b",
    "\\u0000 written out",
    "cut in half: \ud83d",
    "\ude00 the other half",
    "quotes \" ' and \\ and </script>",
    "data:image/png;base64,iVBORw0KGgo=",
    "compaction_1",
)
"""Texts that stores have stumbled over: scripts, joined emoji, NUL, halves of surrogate pairs, look-alikes."""

ODD_NUMBERS = (0, -1, 2**53 + 1, 2**63, -(2**63) - 1, 2**64, 10**40, 0.0, -0.0, 1.0, 0.1, 1e16, 1e-7, 5e-324)
ODD_IDS = ("0", " ", "a b", "id/with/slashes", "ключ", "消息一", "👍🏽", "a\x00b", "%", "'", "x" * 300)
ROLES = ("user", "assistant", "system", "tool", "разработчик")


def texts() -> SearchStrategy[str]:
    """Any text, halves of surrogate pairs among them."""
    return st.sampled_from(ODD_TEXTS) | st.text(st.characters(exclude_categories=()), max_size=12)


def message_ids() -> SearchStrategy[str]:
    """Ids, mostly few enough that one comes again. None is an overlay's."""
    numbered = st.integers(1, 60).map(lambda number: f"m{number}")
    return st.one_of(numbered, numbered, numbered, st.sampled_from(ODD_IDS))


def roles() -> SearchStrategy[str]:
    """The usual roles, and one that nobody expects."""
    return st.sampled_from(ROLES)


def keys() -> SearchStrategy[str]:
    """Keys of objects, the empty one and half a surrogate pair among them."""
    return st.sampled_from(("a", "b", "id", "when", "type", "", "ключ", "\ud83d")) | st.text(max_size=4)


def scalars() -> SearchStrategy[Any]:
    """JSON's scalars: null, booleans, integers of any size, finite floats (-0.0 too), texts."""
    return st.one_of(
        st.none(),
        st.booleans(),
        st.sampled_from(ODD_NUMBERS),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        texts(),
    )


_VALUES: SearchStrategy[Any] = st.recursive(
    scalars(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys(), inner, max_size=3),
    max_leaves=6,
)


def json_values() -> SearchStrategy[Any]:
    """Any value that JSON can hold, nested a little."""
    return _VALUES


def objects() -> SearchStrategy[dict[str, Any]]:
    """JSON objects: metadata, of a message or of a session."""
    return st.dictionaries(keys(), json_values(), max_size=3)


def times() -> SearchStrategy[datetime]:
    """Aware times with microseconds, in several zones, long past and to come."""
    zones = (UTC, timezone(timedelta(hours=5, minutes=30)), timezone(-timedelta(hours=8)))
    return st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.sampled_from(zones))
