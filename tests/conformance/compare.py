"""Holds what a step gave here against what the reference gave, and says where they differ.

Compared are the result, the events, the mirrored list, how often and with what the summariser was asked, and that an
error came where one was recorded, with nothing written and nothing emitted. Not compared: which error, times, event
numbers, the parent that an append event names (ours is the resolved one), and token estimates beyond their order of
magnitude. Messages are equal when their JSON is, apart from the order of keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.conformance.calls import UNCOMPARED_RESULTS
from tests.conformance.names import Record
from tests.conformance.recording import Json, Step
from tests.conformance.runner import Observed

ESTIMATES_APART = 3  # an estimate may be this many times the other: ours counts UTF-8 bytes, theirs UTF-16 units
ESTIMATES_SLACK = 4  # and this many tokens more, whatever its size
SHOWN_OF_A_TOOL = 40  # characters of a tool's input or output that a prompt must at least show


def differences(step: Step, observed: Observed) -> list[str]:
    """Where a step differs from its recording, one line each; empty when it is the same."""
    return [*outcome(step, observed), *surroundings(step, observed)]


def outcome(step: Step, observed: Observed) -> Iterator[str]:
    """Differences in what the call gave: its result or error."""
    error = observed.error
    if error is not None and (observed.wrote or observed.events):
        yield f"{type(error).__name__} was raised, but something was written or emitted"
    if observed.crashed:
        yield f"crashed with {error!r}"
    elif "error" in step.expected:
        if error is None:
            yield f"gave {observed.result!r}, recorded is the error {step.expected['error']['message']!r}"
    elif error is not None:
        yield f"raised {type(error).__name__}: {error}"
    elif step.operation["op"] not in UNCOMPARED_RESULTS:
        yield from unequal("result", step.expected["result"], observed.result)


def surroundings(step: Step, observed: Observed) -> Iterator[str]:
    """Differences in what others saw of the step: listeners, the mirror, the summariser, the log."""
    yield from unequal("events", [without_parent(event) for event in step.expected["events"]], observed.events)
    yield from unequal("mirror", step.mirror, observed.mirror)
    prompts = step.expected.get("prompts", [])
    if len(prompts) != len(observed.prompts):
        yield f"the summariser was asked {len(observed.prompts)} times, recorded are {len(prompts)}"
    for recorded, prompt in zip(prompts, observed.prompts, strict=False):
        yield from (
            f"the prompt lacks {piece!r}" for piece in pieces(recorded) if squeezed(piece) not in squeezed(prompt)
        )
    told = len(step.expected.get("sessionErrors", []))
    if observed.error is None and observed.failures != told:
        yield f"{observed.failures} failures were logged, recorded are {told}"


def without_parent(event: dict[str, Json]) -> dict[str, Json]:
    """A recorded event without the parent that it names as given, where ours names the resolved one."""
    return {key: value for key, value in event.items() if not (event["type"] == "append" and key == "parentId")}


def unequal(place: str, recorded: Json, here: Any) -> Iterator[str]:
    """The first difference between a recorded value and one of ours, if there is any."""
    difference = first_difference(place, recorded, here)
    if difference is not None:
        yield difference


def first_difference(place: str, recorded: Json, here: Any) -> str | None:
    """Where two values differ. Of a `Record` only the recorded fields count."""
    if isinstance(recorded, dict) and isinstance(here, dict):
        if not isinstance(here, Record) and recorded.keys() != here.keys():
            return f"{place} has the keys {sorted(here)}, recorded are {sorted(recorded)}"
        pairs = [(f"{place}.{key}", value, here.get(key)) for key, value in recorded.items()]
    elif isinstance(recorded, list) and isinstance(here, list):
        if len(recorded) != len(here):
            return f"{place} has {len(here)} entries {outline(here)}, recorded are {len(recorded)} {outline(recorded)}"
        pairs = [(f"{place}[{index}]", *pair) for index, pair in enumerate(zip(recorded, here, strict=True))]
    elif place.endswith(".tokenEstimate"):
        return None if alike(recorded, here) else f"{place} is {here}, recorded is {recorded}"
    elif type(recorded) is type(here) and recorded == here:
        return None
    else:
        return f"{place} is {here!r}, recorded is {recorded!r}"
    return next(filter(None, (first_difference(*pair) for pair in pairs)), None)


def alike(recorded: int, here: int) -> bool:
    """Whether two token estimates are of the same order of magnitude."""
    low, high = sorted((recorded, here))
    return high <= low * ESTIMATES_APART + ESTIMATES_SLACK


def outline(values: list[Any]) -> str:
    """A list of messages by their ids, of events by their types, of anything else as it is."""
    names = [value.get("id", value.get("type", value)) if isinstance(value, dict) else value for value in values[:20]]
    return f"({', '.join(map(str, names))})"


def pieces(prompt: Json) -> Iterator[str]:
    """What a prompt must contain, from the recorded one: earlier summaries, texts, tools and the start of their data.

    Its wording is its own, and a prompt recorded as a digest asks for nothing.
    """
    if not isinstance(prompt, str):
        return
    found = re.search(
        r"(?:PREVIOUS SUMMARY:\n(.*)\n\nNEW TURNS TO INCORPORATE|CONVERSATION TO SUMMARIZE):\n", prompt, re.S
    )
    assert found is not None, prompt
    if found[1]:
        yield found[1]
    turns, _, _ = prompt[found.end() :].partition("\n\nUse this structure:")
    turns, _, _ = turns.partition("\n\nUpdate the summary.")
    for line in turns.splitlines():
        if tool := re.fullmatch(r"\[Tool: (.*)\]", line):
            yield from () if tool[1] == "unknown" else (tool[1],)
        elif data := re.fullmatch(r'(?:Input|Output): "?(.*?)"?', line):
            yield data[1][:SHOWN_OF_A_TOOL]
        elif line != "---" and not re.fullmatch(r"\[\w+\]", line):
            yield line


def squeezed(text: str) -> str:
    """`text` without white space, so that layout doesn't count."""
    return "".join(text.split())
