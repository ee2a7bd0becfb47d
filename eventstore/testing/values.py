"""What messages are made of: texts, ids, JSON values and times that are valid, and odd wherever odd is allowed.

The strategies are composites over private ones because a composite's repr is its name: what is built of them is
otherwise too long to print.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

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
ODD_IDS = ("0", " ", "a b", "id/with/slashes", "ключ", "消息一", "👍🏽", "a\x00b", "%", "'", '\\"', "x" * 300)
ROLES = ("user", "assistant", "system", "tool", "разработчик")


_TEXTS = st.sampled_from(ODD_TEXTS) | st.text(st.characters(exclude_categories=()), max_size=12)
_IDS = st.sampled_from((*(f"m{number}" for number in range(1, 50)), *ODD_IDS))
_ROLES = st.sampled_from(ROLES)
# Plain `text()` first works out what UTF-8 can hold: seconds, where hypothesis has no cache yet.
_NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
_KEYS = st.sampled_from(("a", "b", "id", "when", "type", "", "ключ", "\ud83d")) | _NAMES
_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(ODD_NUMBERS),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    _TEXTS,
)
_VALUES: SearchStrategy[Any] = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=6,
)
_OBJECTS = st.dictionaries(_KEYS, _VALUES, max_size=3)
_ZONES = (UTC, timezone(timedelta(hours=5, minutes=30)), timezone(-timedelta(hours=8)))
_TIMES = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.sampled_from(_ZONES))


@st.composite
def texts(draw: DrawFn) -> str:
    """Any text, halves of surrogate pairs among them."""
    return draw(_TEXTS)


@st.composite
def message_ids(draw: DrawFn) -> str:
    """Ids, mostly few enough that one comes again. None is an overlay's."""
    return draw(_IDS)


@st.composite
def roles(draw: DrawFn) -> str:
    """The usual roles, and one that nobody expects."""
    return draw(_ROLES)


@st.composite
def keys(draw: DrawFn) -> str:
    """Keys of objects, the empty one and half a surrogate pair among them."""
    return draw(_KEYS)


@st.composite
def json_values(draw: DrawFn) -> Any:
    """Any value that JSON can hold, nested a little: integers of any size, finite floats (-0.0 too), odd texts."""
    return draw(_VALUES)


@st.composite
def objects(draw: DrawFn) -> dict[str, Any]:
    """JSON objects: metadata, of a message or of a session."""
    return draw(_OBJECTS)


@st.composite
def times(draw: DrawFn) -> datetime:
    """Aware times with microseconds, in several zones, long past and to come."""
    return draw(_TIMES)
