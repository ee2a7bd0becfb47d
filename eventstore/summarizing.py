"""`create_compact_function`: which messages a summary replaces, so that the rest still makes sense to a model. Pure.

Kept are the first three entries, the last two, and before them as much as a budget allows. What lies between is
summarised, in a range whose ends part no tool call from its result. Earlier summaries in it are carried on.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import chain
from typing import Any, cast, overload

import attrs

from eventstore.codec import is_overlay_id
from eventstore.errors import InvalidArgument
from eventstore.history import check_limit
from eventstore.prompt import build_prompt
from eventstore.reports import AsyncCompactFunction, CompactFunction, CompactResult
from eventstore.tokens import estimate_tokens
from eventstore.types import Message, MessageLike

KEPT_FIRST = 3
KEPT_LAST = 2
SUMMARY_SHARE = 5  # a summary should take this part of what it replaces
LEAST_SUMMARY = 100  # tokens
WAITING_MESSAGES = 20  # a call without a result in so many messages waits for none any more


@overload
def create_compact_function(
    summarize: Callable[[str], Awaitable[str]],
    *,
    keep_recent_tokens: int = 20_000,
    count_tokens: Callable[[Message], int] = ...,
) -> AsyncCompactFunction: ...
@overload
def create_compact_function(
    summarize: Callable[[str], str],
    *,
    keep_recent_tokens: int = 20_000,
    count_tokens: Callable[[Message], int] = ...,
) -> CompactFunction: ...
def create_compact_function(
    summarize: Callable[[str], str] | Callable[[str], Awaitable[str]],
    *,
    keep_recent_tokens: int = 20_000,
    count_tokens: Callable[[Message], int] = estimate_tokens,
) -> CompactFunction | AsyncCompactFunction:
    """A function for `on_compaction` that lets `summarize(prompt)` write the summaries, with any model.

    The first three messages stay, and the last ones as far as `keep_recent_tokens` (estimated by `count_tokens`) reach,
    at least two. A tool call is never parted from its result. Earlier summaries go into the prompt and are replaced. A
    blank summary, or nothing new to summarise, means no compaction. With an async `summarize` the function is async.
    """
    check_limit("keep_recent_tokens", keep_recent_tokens, 0)
    if not callable(summarize):
        raise InvalidArgument(f"summarize is a callable from a prompt to a summary, not {summarize!r}")
    if not callable(count_tokens):
        raise InvalidArgument(f"count_tokens must be a function from a message to a number, not {count_tokens!r}")

    if is_async(summarize):
        write = cast(Callable[[str], Awaitable[str]], summarize)

        async def compact_async(messages: list[Message]) -> CompactResult | None:
            plan = plan_compaction(messages, keep_recent_tokens, count_tokens)
            return None if plan is None else plan.result(await write(plan.prompt))

        return compact_async

    def compact(messages: list[Message]) -> CompactResult | None:
        plan = plan_compaction(messages, keep_recent_tokens, count_tokens)
        return None if plan is None else plan.result(cast(str, summarize(plan.prompt)))

    return compact


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a call of `function` is to be awaited."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


@attrs.frozen
class Plan:
    """A range to summarise, and the prompt that asks for it."""

    from_message_id: str
    to_message_id: str
    prompt: str

    def result(self, summary: object) -> CompactResult | None:
        """The summary with its range, `None` when it is blank."""
        if not isinstance(summary, str):
            if inspect.iscoroutine(summary):
                summary.close()
            raise InvalidArgument(f"summarize must return a text, not {type(summary).__name__}")
        return CompactResult(self.from_message_id, self.to_message_id, summary) if summary.strip() else None


def plan_compaction(
    messages: Sequence[Message], keep_recent_tokens: int, count_tokens: Callable[[Message], int]
) -> Plan | None:
    """What to summarise of a history, `None` when nothing new is there."""
    allowed = allowed_cuts(messages)
    start = KEPT_FIRST
    while start < len(messages) and not allowed[start]:
        start += 1
    end = _recent_start(messages, keep_recent_tokens, count_tokens)
    while end > start and not allowed[end]:
        end -= 1
    covered = messages[start:end]
    if all(is_overlay_id(message["id"]) for message in covered):
        return None
    target = max(LEAST_SUMMARY, sum([_tokens(count_tokens, message) for message in covered]) // SUMMARY_SHARE)
    return Plan(covered[0]["id"], covered[-1]["id"], build_prompt(covered, target))


def _recent_start(messages: Sequence[Message], budget: int, count_tokens: Callable[[Message], int]) -> int:
    """The index of the first message of the recent tail."""
    index = len(messages)
    while index > 0:
        budget -= _tokens(count_tokens, messages[index - 1])
        if budget < 0 and len(messages) - index >= KEPT_LAST:
            break
        index -= 1
    return index


def _tokens(count_tokens: Callable[[Message], int], message: Message) -> int:
    tokens = count_tokens(message)
    if not isinstance(tokens, (int, float)):
        raise InvalidArgument(f"count_tokens must return a number, not {tokens!r}")
    return tokens


# ---- calls and results


def allowed_cuts(messages: Sequence[MessageLike]) -> list[bool]:
    """For every index whether a history may be cut before that message: no call on one side, its result on the other.

    A result belongs to the nearest call before it with its id, of calls that share one id to the nearest that waits. A
    call that waits for its result holds on to what follows, until the user says something else or many messages have
    come without it.
    """
    crossed = [0] * (len(messages) + 2)  # differences: how many pairs a cut before each message would part
    calls: dict[str, int] = {}  # id -> the message of its latest call
    waiting: dict[str, list[int]] = {}
    for index, message in enumerate(messages):
        parts = [part for part in message["parts"] if tool_call_id(part) is not None]
        if message["role"] == "user" and not parts:
            waiting.clear()
        for part in parts:
            call_id = tool_call_id(part) or ""
            unanswered = waiting.setdefault(call_id, [])
            answers = has_result(part) and (not has_call(part) or bool(unanswered))
            if answers and call_id in calls:
                crossed[(unanswered.pop() if unanswered else calls[call_id]) + 1] += 1
                crossed[index + 1] -= 1
            if has_call(part) and not answers:
                calls[call_id] = index
                if not has_result(part):
                    unanswered.append(index)
    for index in chain.from_iterable(waiting.values()):
        if len(messages) - index <= WAITING_MESSAGES:
            crossed[index + 1] += 1
    allowed, pairs = [], 0
    for difference in crossed[: len(messages) + 1]:
        pairs += difference
        allowed.append(pairs == 0)
    return allowed


def tool_call_id(part: Mapping[str, Any]) -> str | None:
    """The id of the call that a part makes or answers, `None` for a part that is neither."""
    call_id = part.get("toolCallId")
    is_tool = part["type"].startswith("tool-") or part["type"] == "dynamic-tool"
    return call_id if is_tool and isinstance(call_id, str) else None


def has_result(part: Mapping[str, Any]) -> bool:
    """Whether a tool's part holds what came of the call."""
    return part["type"] == "tool-result" or any(key in part for key in ("output", "errorText", "result"))


def has_call(part: Mapping[str, Any]) -> bool:
    """Whether a tool's part holds the call itself."""
    return part["type"] == "tool-call" or "input" in part or "args" in part or not has_result(part)
