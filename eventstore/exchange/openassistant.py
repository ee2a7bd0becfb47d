"""OpenAssistant's data: trees of messages, and flat lists of them.

| in the file | a conversation is |
| --- | --- |
| lines `{"message_tree_id": …, "prompt": {…, "replies": […]}}` | each tree |
| lines that are messages with their `replies` inside | each message at the top of a line |
| lines that are messages without replies, with their `message_tree_id` | those of a tree that follow each other |
| a list of `{"user_message_id": …, "parent_message_id": …}` (a seed) | each message without a parent, and all below |

**A message's parent is the one that `parent_id` names**, or else the one that it is nested in. Siblings keep the order
of the file. The data has no branch that was shown: the last message becomes the active leaf.

A message is one `text` part; its role is `user` for a `prompter`, else its own; its time `created_date`, else 1970. Its
metadata are `model` (of a synthetic one), and under `openassistant` what else it says (rank, reviews, language, …), but
nulls and empty values.

Left out and named: messages that are marked as `deleted`, those without text, and what is no message. Seeds are held in
memory as a whole, of the other kinds one tree.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any, Final

from eventstore.exchange.assembling import EMPTY, Told, assemble, told_by_nesting
from eventstore.exchange.conversation import (
    Conversation,
    Found,
    InvalidExport,
    Skipped,
    mend_parents,
    nearest,
    order_parents_first,
)
from eventstore.exchange.elements import first_objects
from eventstore.exchange.finding import left_out
from eventstore.exchange.lists import Value, digest_of_values, read_values
from eventstore.exchange.times import any_time
from eventstore.exchange.ui_parts import text_parts
from eventstore.exchange.values import list_of, usable, without

FORMAT: Final = "openassistant"
TREE: Final = "message_tree_id"
_IDS: Final = ("message_id", "user_message_id")
_PARENTS: Final = ("parent_id", "parent_message_id")
_EXPRESSED: Final = (*_IDS, *_PARENTS, "text", "role", "replies", "model_name", "created_date", TREE)


def recognises(head: bytes) -> bool:
    """Whether a file that begins with `head` looks like this data."""
    return any(_is_tree(each) or _is_message(each) for each in first_objects(head)[:10])


def _is_tree(value: Any) -> bool:
    return isinstance(value, dict) and TREE in value and "prompt" in value


def _is_message(value: Any) -> bool:
    """Whether a value is a message. One that is cut off counts by its keys."""
    if not isinstance(value, dict) or not any(key in value for key in _IDS):
        return False
    return value.get("role") in ("prompter", "assistant") or "replies" in value or "parent_message_id" in value


def read(path: str | os.PathLike[str]) -> Iterator[Conversation]:
    """The trees of the file at `path`, one after the other.

    Raises `InvalidExport` where the file is torn or not JSON, or has none of these messages; `CannotOpen` if it
    can't be read. A torn or damaged line of JSON Lines is left out and named.
    """
    for found in find([path]):
        yield from found.read()


def find(paths: Sequence[str | os.PathLike[str]]) -> Iterator[Found]:
    """The trees of files, unread. Raises as `read`."""
    for path in paths:
        yield from _find(path)


def _find(path: str | os.PathLike[str]) -> Iterator[Found]:
    skipped: list[Skipped] = []
    known = False
    seeds: list[Value] = []
    for kind, values in groupby(read_values(path, skipped), lambda each: _kind(each.value)):
        known = known or kind is not None
        if kind == "seed":
            seeds += values
        elif kind == "whole":
            for each in values:
                yield Found(None, (each.digest,), partial(_whole, each.value, each.digest))
        elif kind is not None:
            yield _found(kind, list(values))
        else:
            skipped += ((each.where, "it is neither a tree nor a message") for each in values)
    if not known:
        raise InvalidExport(path, None, "wanted an OpenAssistant tree or message, found other JSON")
    yield from _seeded(seeds)
    yield from left_out(FORMAT, skipped)


def _kind(found: Any) -> str | None:
    """What a value is: `whole`, `seed`, or the id of the tree that a message belongs to."""
    if _is_tree(found) or (_is_message(found) and isinstance(found.get("replies"), list)):
        return "whole"
    if not _is_message(found):
        return None
    return f"{found[TREE]}" if usable(found.get(TREE)) else "seed"


def _whole(found: dict[str, Any], digest: str) -> Iterator[Conversation]:
    """A tree, or a message with its replies inside."""
    prompt = found["prompt"] if _is_tree(found) else found
    skipped: list[Skipped] = []
    told = list(told_by_nesting([prompt], "replies", _message, skipped))
    ids = (found.get(TREE), *(each.id for each in told[:1]), "unknown")
    given = next(each for each in ids if usable(each))
    about = without(found, {TREE, "prompt"}) if _is_tree(found) else {}
    yield _conversation(str(given), about, told, skipped, digest)


def _conversation(
    given: str, about: dict[str, Any], told: Iterable[Told], skipped: list[Skipped], digest: str
) -> Conversation:
    metadata = {FORMAT: about} if about else {}
    return assemble(f"{FORMAT}:{given}", metadata, told, current=None, skipped=skipped, digest=digest)


def _found(given: str, values: list[Value]) -> Found:
    """The tree `given`, whose messages are these values."""
    digest = digest_of_values(values)

    def read() -> Iterator[Conversation]:
        yield _conversation(given, {}, [_message(each.value, None) for each in values], [], digest)

    return Found(f"{FORMAT}:{given}", (digest,), read)


def _first(found: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    return next((found[key] for key in keys if found.get(key) is not None), None)


def _message(found: dict[str, Any], above: str | None) -> Told:
    parts = text_parts(found.get("text"))
    role, model = found.get("role"), found.get("model_name")
    about = without(found, _EXPRESSED)
    parent = _first(found, _PARENTS)
    return Told(
        _first(found, _IDS),
        "user" if role == "prompter" else role,
        parts,
        [role, found.get("text")],
        parent=above if parent is None else parent,
        metadata={
            **({"model": model} if isinstance(model, str) and model else {}),
            **({FORMAT: about} if about else {}),
        },
        created_at=any_time(found.get("created_date")),
        left_out="it was deleted" if found.get("deleted") is True else None if parts else EMPTY,
        listed=[
            each["message_id"]
            for each in list_of(found.get("replies"))
            if isinstance(each, dict) and isinstance(each.get("message_id"), str)
        ],
    )


def _seeded(seeds: list[Value]) -> Iterator[Found]:
    """The trees that flat messages without a tree's id make: one for each root."""
    keys = [str(own) if usable(own := _first(each.value, _IDS)) else f"#{number}" for number, each in enumerate(seeds)]
    parents: dict[str, str | None] = {}
    for key, each in zip(keys, seeds, strict=True):
        parent = _first(each.value, _PARENTS)
        parents.setdefault(key, parent if isinstance(parent, str) else None)
    mended, _ = mend_parents(parents, {})
    order = order_parents_first(mended, {})
    roots = nearest(order, mended, {node: node for node in order if mended[node] is None})
    trees: dict[str, list[Value]] = {}
    for key, each in zip(keys, seeds, strict=True):
        trees.setdefault(roots[key], []).append(each)
    for root, values in trees.items():
        yield _found(root, values)
