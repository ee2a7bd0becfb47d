"""Ids for messages that have none in their file, from their place and their content.

The id of such a message is 32 hexadecimal digits: BLAKE2b of the id of the message that it follows in the file, of
its content as JSON with sorted keys (in their own order where it holds integers or texts that no 64 bits or UTF-8
hold), and, where the same content follows the same message once more, of how often it did before. So it is the same
in every later export that begins alike, and a changed text is another message. What an export says anew each time (the
time of the export, say) isn't content.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import orjson

from eventstore import strict


class Identities:
    """The ids of one conversation. Each call is one message; ask in the file's order."""

    def __init__(self) -> None:
        self._given: dict[str, int] = {}  # how often each

    def derive(self, follows: str | None, content: Any) -> str:
        """The id of a message with this content (JSON) that comes behind the message `follows`, or first."""
        known = content_id(follows, content)
        before = self._given.get(known, 0)
        self._given[known] = before + 1
        return known if not before else _digest([known, before])


def content_id(follows: str | None, content: Any) -> str:
    """What stands for a content behind `follows`: the id of the first such message."""
    return _digest([follows, content])


def _digest(value: Any) -> str:
    return blake2b(text_of(value), digest_size=16).hexdigest()


def text_of(value: Any) -> bytes:
    """A text of a JSON value: equal ones have the same."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # halves of surrogate pairs, large integers, depth: each value always goes the same way
        return _any_depth(value) if strict.too_deep(value) else strict.encode(value).encode()


def _any_depth(value: Any) -> bytes:
    """A text of a value that is nested deeper than a store takes, which refuses it by the id that it gets here."""
    said: list[str] = []
    waiting = [value]
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict):
            keys = sorted(here)
            said.append(strict.encode(keys))
            waiting += [here[key] for key in keys]
        elif isinstance(here, list):
            said.append(f"[{len(here)}")
            waiting += here
        else:
            said.append(strict.encode(here))
    return "\n".join(said).encode()
