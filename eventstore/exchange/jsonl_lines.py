"""One line of our own JSON Lines: a step as readable JSON, and back.

A line is read to the last digit: a body is taken over when orjson gives exactly its text again, and otherwise decoded
the strict way. What a line says on its own is checked here; whether it can follow the lines before it, by
`jsonl_checks`.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import attrs
import orjson

from eventstore import clock, codec, strict
from eventstore.codec import Encoded
from eventstore.copying import Step
from eventstore.errors import EventStoreError

VERSION = 1
_ABOVE_ALL = 2**63  # the integers that SQLite holds are below it

# As `strict.decode`, for text that anybody may have written: deep nesting raises here and now.
_DECODER = json.JSONDecoder(parse_int=strict._parse_integer)

_LEAST = {"seq": 1, "message": 1, "parent": 1, "bytes": 0, "tokens": 0, "steps": 0}
_KEYS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    type: (frozenset(must.split()) | {"seq", "at"}, frozenset(may.split()))
    for type, must, may in (
        ("import", "id role bytes tokens", "parent body"),
        ("update", "message role bytes tokens", "body"),
        ("delete", "deleted", ""),
        ("select", "message", ""),
        ("compact", "id message parent", "role bytes tokens body"),
        ("compaction", "id message parent", "role bytes tokens body"),
        ("metadata", "body", "bytes"),
    )
}
"""The keys that a step of each type must have, and those that it may have, beside `type`."""


class InvalidLine(Exception):
    """A line doesn't say what it should: the reader of the file adds where that is."""


@attrs.frozen
class Header:
    """The first line of a session."""

    session: str


@attrs.frozen
class End:
    """The last line of a session, with how many steps it has."""

    steps: int


# ---- writing


def header_line(session: str) -> bytes:
    """The line that begins a session."""
    return _line({"eventstore": VERSION, "session": session})


def end_line(steps: int) -> bytes:
    """The line that ends a session."""
    return _line({"type": "end", "steps": steps})


def step_line(step: Step) -> bytes:
    """The line of a step. Its body stands last, as the text that the store keeps."""
    fields = {"type": step.type, "seq": step.seq, "at": clock.to_datetime(step.at).isoformat(timespec="microseconds")}
    for key in ("id", "message", "parent", "deleted", "role", "bytes", "tokens"):
        value = getattr(step, key)
        if value is not None and value != ():
            fields[key] = value
    return _line(fields, step.body)


def _line(fields: dict[str, Any], body: Encoded | None = None) -> bytes:
    text = codec.encode(fields).text
    if body is not None:
        text = f'{text[:-1]},"body":{codec.full_text(body)}}}'
    return text.encode() + b"\n"


# ---- reading


def parse_line(line: bytes) -> Header | Step | End:
    """What a line says, without the space around it. Raises `InvalidLine`."""
    fields, body = _parse(line)
    if "eventstore" in fields:
        return _header(fields, body)
    type = fields.pop("type", None)
    if type == "end" and body is None and fields.keys() == {"steps"}:
        return End(_number("steps", fields["steps"]))
    if not isinstance(type, str) or type not in _KEYS:
        raise InvalidLine(f"wanted a step of type {', '.join(_KEYS)} or end, found type {_shown(type)}")
    given = fields.keys() if body is None else fields.keys() | {"body"}
    must, may = _KEYS[type]
    for what, keys in (("lacks", must - given), ("has an unknown", given - must - may)):
        if keys:
            raise InvalidLine(f"wanted {_a(type)}, found one that {what} {', '.join(map(_shown, sorted(keys)))}")
    return _step(type, fields, body)


def _parse(line: bytes) -> tuple[dict[str, Any], Encoded | None]:
    """(the fields of a line without its body, its body)."""
    try:
        fields = orjson.loads(line)
        if isinstance(fields, dict) and "body" in fields:
            body = codec.encode(fields.pop("body"))
            if not line.endswith(b'"body":' + body.text.encode() + b"}"):
                return _parse_strictly(line)
            return fields, body
    except (ValueError, EventStoreError):
        return _parse_strictly(line)
    return _object(fields), None


def _parse_strictly(line: bytes) -> tuple[dict[str, Any], Encoded | None]:
    try:
        fields = _object(_DECODER.decode(line.decode()))
        return fields, codec.encode(fields.pop("body")) if "body" in fields else None
    except UnicodeDecodeError as error:
        raise InvalidLine(f"wanted UTF-8 text, found other bytes ({error.reason})") from error
    except RecursionError as error:
        raise InvalidLine(f"wanted JSON, found it nested deeper than {strict.MAX_DEPTH} levels") from error
    except ValueError as error:
        advice = "the file is torn or damaged; get it once more"
        raise InvalidLine(f"wanted JSON, found a fault ({error}): {advice}") from error
    except EventStoreError as error:
        raise InvalidLine(f"wanted JSON that a store can hold, found other: {error}") from error


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidLine(f"wanted a JSON object, found {_shown(value)}")
    return value


def _header(fields: dict[str, Any], body: Encoded | None) -> Header:
    version, session = fields["eventstore"], fields.get("session")
    if version is True or version != VERSION:
        raise InvalidLine(
            f"wanted an export of version {VERSION}, found version {_shown(version)}: "
            "a later version of this package reads it, or the file is damaged"
        )
    if body is not None or fields.keys() != {"eventstore", "session"} or not isinstance(session, str):
        raise InvalidLine("wanted a session's first line, with its name under `session`, found something else")
    return Header(_word("session", session, least=0))


def _step(type: str, fields: dict[str, Any], body: Encoded | None) -> Step:
    found: dict[str, Any] = {}
    for key, value in fields.items():
        if key in _LEAST:
            found[key] = _number(key, value)
        elif key == "deleted":
            found[key] = _numbers(value)
        elif key == "at":
            found[key] = _time(value)
        else:
            found[key] = _word(key, value)
    if body is not None:
        _check_body(type, body.value, found)
        found["bytes"] = body.size
        if type in ("import", "update"):
            body = codec.without_media(body)
    return Step(type=type, body=body, **found)


def _check_body(type: str, value: Any, found: dict[str, Any]) -> None:
    if type in ("import", "update"):
        try:
            codec.check_message(value)
        except EventStoreError as error:
            raise InvalidLine(f"wanted a message as the body, found another value: {error}") from error
        if "id" in found and value["id"] != found["id"]:
            raise InvalidLine(f"wanted the message {_shown(found['id'])}, found the body of {_shown(value['id'])}")
        found["role"] = value["role"]
    elif not isinstance(value, dict if type == "metadata" else str):
        wanted = "an object" if type == "metadata" else "a text"
        raise InvalidLine(f"wanted {wanted} as the body of {_a(type)}, found {_shown(value)}")


def _number(key: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not _LEAST[key] <= value < _ABOVE_ALL:
        raise InvalidLine(f"wanted an integer of at least {_LEAST[key]} as {key!r}, found {_shown(value)}")
    return value


def _numbers(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list) or not value:
        raise InvalidLine(f"wanted a list of seqs as 'deleted', found {_shown(value)}")
    return tuple(_number("seq", item) for item in value)


def _word(key: str, value: Any, least: int = 1) -> str:
    if not isinstance(value, str) or len(value) < least or codec.has_surrogate(value):
        raise InvalidLine(f"wanted a text without halves of surrogate pairs as {key!r}, found {_shown(value)}")
    return value


def _time(value: Any) -> int:
    try:
        when = datetime.fromisoformat(value)
        if when.tzinfo is not None:
            clock.to_datetime(microseconds := clock.to_microseconds(when))
            return microseconds
    except (TypeError, ValueError, OverflowError):
        pass
    raise InvalidLine(f"wanted a time with its zone as 'at' (2026-01-31T12:00:00.000000+00:00), found {_shown(value)}")


def _a(type: str) -> str:
    return f"{'an' if type[0] in 'aeiou' else 'a'} {type}"


def _shown(value: Any) -> str:
    return "nothing" if value is None else f"{value!r:.80}"
