"""The OpenAI Agents SDK: the state of a run (`RunState`, of Python or JavaScript), and the items of a session.

The items of a session lie in a file in the ways that `lists` tells; they are those of OpenAI's Responses API, and plain
`{"role": …, "content": …}` messages. **An item becomes one message**, hung on the one before it; its parts are told in
`response_items`. A call is an assistant's message, its result a later one with the role `tool`: a result that only a
later export holds is then something new.

Of a run, the messages are the original input, then the items that it generated. `session_items` and `generated_items`
tell the same twice: the first is taken where it holds any, and what only the second holds follows and is named. An item
that waits for a person's approval is no message but the state of its call: "approval-requested". Responses of the model
repeat the items and aren't kept, but for their ids and usage, which come under `openai-agents` in the conversation's
metadata with all else that the state says.

A message's id is that of its item. Its metadata are `author` (the agent's name), and under `openai-agents` what else
its item says. A run is named by its trace, or else by its conversation, or else by its first message, as a list is (see
`naming`). There are no times in these files: all messages are of 1970.

Left out and named: items without any content.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

from eventstore import codec
from eventstore.exchange.assembling import EMPTY, Assembly, Told
from eventstore.exchange.conversation import Conversation, Skipped
from eventstore.exchange.elements import first_objects
from eventstore.exchange.finding import Lists
from eventstore.exchange.lists import Listed, first_messages
from eventstore.exchange.naming import Names
from eventstore.exchange.response_items import call_id_of, express, id_of, kind_of
from eventstore.exchange.telling import Telling
from eventstore.exchange.tools import Call, Said
from eventstore.exchange.values import list_of, object_of, usable, without

FORMAT: Final = "openai-agents"
VERSION: Final = "$schemaVersion"
KINDS: Final = (
    "reasoning",
    "program",
    "program_output",
    "compaction",
    "function_call_result",
    "mcp_list_tools",
    "mcp_approval_request",
    "mcp_approval_response",
)
_ITEMS: Final = ("original_input", "session_items", "generated_items")
_REPEATED: Final = (*_ITEMS, "model_responses", "last_model_response", "last_processed_response", "current_step")

_AGAIN: Final = ("new_items", "newItems", "interruptions")

_OF_THE_RUN: Final = frozenset(("raw_item", "rawItem", "agent", "type", "output", "tool_name"))
_NOWHERE: Final = frozenset(("parts", "timestamp", "payload", "message", "uuid"))  # no item has one of these


def recognises(head: bytes) -> bool:
    """Whether a file that begins with `head` looks like a run or a session."""
    found = first_objects(head)
    return any(VERSION in each for each in found[:1]) or any(map(_is_item, first_messages(head)[:1]))


def _is_item(value: Any) -> bool:
    """Whether a value is an item of a session."""
    if not isinstance(value, dict) or not _NOWHERE.isdisjoint(value):
        return False
    kind = value.get("type")
    if isinstance(kind, str) and kind != "message":
        return kind in KINDS or kind.endswith(("_call", "_call_output"))
    return "role" in value and "content" in value


def _is_run(value: Any) -> bool:
    return isinstance(value, dict) and VERSION in value


# ---- the state of a run


def _run(state: Mapping[str, Any], names: Names) -> Conversation:
    found = {_snake(key): value for key, value in state.items() if key != VERSION}
    asked = found.get("original_input")
    items = [{"role": "user", "content": asked}] if isinstance(asked, str) else list_of(asked)
    made, skipped = _made(found)
    trace = object_of(found.get("trace")).get("id")
    given = next((each for each in (trace, found.get("conversation_id")) if usable(each)), None)
    about = {key: value for key, value in without(found).items() if key not in _REPEATED}
    about |= without({"last_processed_response": without(object_of(found.get("last_processed_response")), _AGAIN)})
    responses = [without(object_of(each), {"output"}) for each in list_of(found.get("model_responses"))]
    about |= without({"model_responses": [each for each in responses if each]})
    metadata = {FORMAT: about | {"schema_version": state[VERSION]}}
    telling = Telling(names, given)
    for number, item in enumerate([*items, *made], 1):
        _tell(telling, item, number)
    return telling.conversation(metadata, skipped=skipped)


def _snake(key: str) -> str:
    """`originalInput` as `original_input`; what begins with a capital stays as it is."""
    return "".join(f"_{letter.lower()}" if at and letter.isupper() else letter for at, letter in enumerate(key))


def _made(found: Mapping[str, Any]) -> tuple[list[Any], list[Skipped]]:
    """The items that a run made, and those of them that only one of its two lists holds."""
    session, generated = list_of(found.get("session_items")), list_of(found.get("generated_items"))
    step = object_of(found.get("current_step"))
    waiting = list_of(object_of(step.get("data", step)).get("interruptions"))
    if not session:
        return [*generated, *waiting], []
    there = [codec.encode([item]).text for item in session]
    more = [item for item in generated if codec.encode([item]).text not in set(there)]
    notes = [(f"item {_name(item)!r}", "only the generated items have it: it follows the session's") for item in more]
    return [*session, *more, *waiting], notes


def _name(item: Any) -> str:
    raw = _raw(object_of(item))
    return id_of(raw) or call_id_of(raw) or kind_of(raw)


def _raw(item: dict[str, Any]) -> dict[str, Any]:
    """The item of the API in an item of a run; itself in a session."""
    raw = item.get("raw_item", item.get("rawItem"))
    return raw if isinstance(raw, dict) else item


# ---- items


def _tell(telling: Telling, item: Any, number: int) -> None:
    """Tells the next item. One that waits for a person's approval makes its call wait, if there is one."""
    if not isinstance(item, dict):
        telling.skipped.append((f"item {number}", "it isn't an object"))
    elif item.get("type") != "tool_approval_item":
        telling.tell([_item(item)])
    elif not _wait(telling.assembly, _raw(item)):
        told = _item(item)
        told.said = [_waiting(said, call_id_of(_raw(item))) for said in told.said]
        telling.tell([told])


def _wait(assembly: Assembly, raw: dict[str, Any]) -> bool:
    """Makes the call that a person has to approve wait for that. False if there is no such call."""
    call_id, own = call_id_of(raw), id_of(raw)
    for key in reversed(assembly.calls):
        if call_id in assembly.calls[key] and (own is None or assembly.told[key].id == own):
            assembly.say(key, [_waiting(each, call_id) for each in assembly.words(key)[0]])
            return True
    return False


def _waiting(said: Said, call_id: Any) -> Said:
    """What is said, a call with this id waiting for a person's approval."""
    if not isinstance(said, Call) or said.call_id != call_id:
        return said
    return attrs.evolve(said, more={**said.more, "state": "approval-requested", "approval": {"id": call_id}})


def _item(item: dict[str, Any]) -> Told:
    raw = _raw(item)
    found = express(raw, FORMAT)
    about = found.rest if item is raw else {**found.rest, **without(item, _OF_THE_RUN)}
    agent = object_of(item.get("agent")).get("name")
    author = {"author": agent} if isinstance(agent, str) and agent else {}
    return Told(
        id_of(raw),
        found.role,
        found.said,
        [kind_of(raw), without(raw, ("id", "status"))],
        metadata={**author, **({FORMAT: about} if about else {})},
        left_out=None if found.said else EMPTY,
    )


def _conversations(listed: Listed, names: Names) -> Iterator[Conversation]:
    telling = Telling(names, listed.id(), held=listed.is_held)
    runs: list[dict[str, Any]] = []
    number = 0
    for number, item in enumerate(listed.messages, 1):
        if _is_run(item):
            runs.append(item)
        else:
            _tell(telling, item, number - len(runs))
    digest = listed.digest if not runs or number == 1 else None
    for state in runs:
        yield attrs.evolve(_run(state, names), digest=digest)
    if len(runs) < number or listed.skipped or not runs:
        yield telling.conversation(listed.metadata(FORMAT), skipped=listed.skipped, digest=digest)


_LISTS: Final = Lists(
    FORMAT,
    "run or item of the Agents SDK",
    lambda value: _is_item(value) or _is_run(value),
    _conversations,
    _is_run,
)
find, read = _LISTS.find, _LISTS.read
