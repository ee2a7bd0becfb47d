"""Messages and whole conversations as hypothesis draws them: all valid, of every shape that a writer may bring."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from eventstore import Message
from eventstore.testing.values import json_values, keys, message_ids, objects, texts
from eventstore.testing.values import roles as all_roles

Part = dict[str, Any]
_CALL_IDS = st.sampled_from(("call_1", "call_2", "search:0"))
_URLS = st.sampled_from(
    (
        "https://example.org/a.png",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==",
        "DATA:image/png;base64,iVBORw0KGgoAAAANSUhEUg==",
        "data:image/png;base64,not base64",
        "data:application/pdf;name=a.pdf;base64,JVBERi0xLjc=",
    )
)


def _tool_parts(named: dict[str, SearchStrategy[Any]]) -> SearchStrategy[Part]:
    """A call as it goes on: its input, then its output or its error."""
    call = {**named, "toolCallId": _CALL_IDS}
    return st.one_of(
        st.fixed_dictionaries({**call, "state": st.just("input-available"), "input": json_values()}),
        st.fixed_dictionaries(
            {**call, "state": st.just("output-available"), "input": json_values(), "output": json_values()}
        ),
        st.fixed_dictionaries(
            {**call, "state": st.just("output-error"), "input": json_values(), "errorText": texts()},
            optional={"providerExecuted": st.sampled_from((None, True, False))},
        ),
    )


def _text_parts() -> SearchStrategy[Part]:
    return st.fixed_dictionaries(
        {"type": st.sampled_from(("text", "text", "reasoning")), "text": texts()},
        optional={"state": st.sampled_from(("streaming", "done")), "providerMetadata": objects()},
    )


def _other_parts() -> SearchStrategy[Part]:
    """Files, sources, steps, data parts, and a type that nobody knows."""
    return st.one_of(
        st.fixed_dictionaries(
            {
                "type": st.just("file"),
                "mediaType": st.sampled_from(("image/png", "text/plain", "application/pdf")),
                "url": _URLS,
            },
            optional={"filename": texts()},
        ),
        st.fixed_dictionaries({"type": st.just("source-url"), "sourceId": texts(), "url": _URLS}),
        st.fixed_dictionaries({"type": st.just("step-start")}),
        st.fixed_dictionaries({"type": st.just("data-chart"), "data": json_values()}, optional={"id": texts()}),
        st.fixed_dictionaries({"type": st.sampled_from(("", "unknown")), "extra": json_values()}),
    )


_PARTS = st.lists(
    st.one_of(
        _text_parts(),
        _text_parts(),
        _tool_parts({"type": st.sampled_from(("tool-search", "tool-weather"))}),
        _tool_parts({"type": st.just("dynamic-tool"), "toolName": texts()}),
        _other_parts(),
    ),
    max_size=3,
)
_SHAPES = 15
# Made once: hypothesis checks a strategy, and works out what it can give, when it is drawn from for the first time.
_ANY_SHAPE = st.integers(0, _SHAPES)
_ANY_ID = message_ids()
_ANY_ROLE = all_roles()
_METADATA = objects()
_EXTRA_KEYS = st.dictionaries(
    keys().filter(lambda key: key not in {"id", "role", "parts", "metadata"}), json_values(), max_size=2
)


@st.composite
def _messages(draw: DrawFn, ids: SearchStrategy[str], roles: SearchStrategy[str]) -> Message:
    return _message(draw, draw(ids), roles)


def _message(draw: DrawFn, message_id: str, roles: SearchStrategy[str]) -> Message:
    message: dict[str, Any] = {"id": message_id, "role": draw(roles), "parts": []}
    shape = draw(_ANY_SHAPE)
    if shape < _SHAPES // 2:  # half are plain: whole histories of the others would be too large to draw
        message["parts"].append({"type": "text", "text": draw(texts())})
        return cast(Message, message)
    message["parts"] = draw(_PARTS)
    if shape & 1:
        message["metadata"] = draw(_METADATA)
    if shape & 2:
        message |= draw(_EXTRA_KEYS)
    if shape & 4:  # the order of keys is the writer's, and is kept
        message = dict(reversed(message.items()))
    return cast(Message, message)


def messages(
    *, ids: SearchStrategy[str] | None = None, roles: SearchStrategy[str] | None = None
) -> SearchStrategy[Message]:
    """Valid messages of every shape.

    Parts of all kinds (texts, reasoning, tool calls with their outputs and errors, files, sources, data) or none,
    text of every script with joined emoji, NUL and lone surrogates, integers of any size, floats, -0.0, booleans,
    None and nested values, with and without metadata and keys of their own, in any order of keys.

    `ids` and `roles` narrow what is drawn. The default ids are few enough that one sometimes comes again.
    """
    return _messages(_ANY_ID if ids is None else ids, _ANY_ROLE if roles is None else roles)


@st.composite
def _conversations(
    draw: DrawFn, ids: SearchStrategy[list[str]], roles: SearchStrategy[str]
) -> list[tuple[Message, str | None]]:
    chosen = draw(ids)
    tree: list[tuple[Message, str | None]] = []
    for index, message_id in enumerate(chosen):
        # 0 is the message before, so that the simplest conversation is a line; one past the first is a root
        back = draw(_back(index))
        parent_id = chosen[index - 1 - back] if back < index else None
        tree.append((_message(draw, message_id, roles), parent_id))
    return tree


@cache
def _back(index: int) -> SearchStrategy[int]:
    return st.integers(0, index) | st.just(0)


def conversations(
    *,
    ids: SearchStrategy[str] | None = None,
    roles: SearchStrategy[str] | None = None,
    min_size: int = 0,
    max_size: int = 10,
) -> SearchStrategy[list[tuple[Message, str | None]]]:
    """Whole trees: (message, its parent's id) in an order in which they can be inserted, each id once.

    A parent of None makes a root; there may be several. `ids` and `roles` narrow what is drawn.
    """
    chosen = st.lists(_ANY_ID if ids is None else ids, min_size=min_size, max_size=max_size, unique=True)
    return _conversations(chosen, _ANY_ROLE if roles is None else roles)
