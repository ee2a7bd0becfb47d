"""The runner notices what it is there to notice: tampered recordings, stale entries of the list."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conformance.__main__ import VECTORS, main
from tests.conformance.compare import differences, pieces
from tests.conformance.differences import DIFFERENCES
from tests.conformance.names import Names
from tests.conformance.recording import Step, read_recording, shortened, written_out
from tests.conformance.runner import Observed, replay
from tests.conformance.verdict import Kind, judge

SAME = "delete-branch-point"
"""A recording that is the same here: appends with branches, a delete, reads."""


def leaves(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) in `value` that holds neither a dict nor a list, and every empty list."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(item, (dict, list)) and item:
            yield from leaves(item)
        else:
            yield value, key


def tampered(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case str():
            return value + "!"
        case int():
            return value * 10 + 100
        case None:
            return "something"
        case _:
            return [*value, {"type": "something"}]


def counts(container: Any, key: Any) -> bool:
    """Whether a recorded value is compared: the parent in an append event isn't, nor is what a delete gives."""
    return not (isinstance(container, dict) and (key == "parentId" or container[key] is None))


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Step, Observed]]:
    return list(replay(read_recording(VECTORS / f"{SAME}.json"), tmp_path_factory.mktemp("stores")))


@given(data=st.data())
def test_any_tampered_expectation_is_noticed(data: st.DataObject, replayed: list[tuple[Step, Observed]]) -> None:
    step, seen = data.draw(st.sampled_from(replayed))
    assert differences(step, seen) == []
    step = deepcopy(step)
    places = [place for part in (step.expected, {"mirror": step.mirror}) for place in leaves(part) if counts(*place)]
    container, key = data.draw(st.sampled_from(places))
    container[key] = tampered(container[key])
    assert differences(step, seen) != []


def test_a_listed_step_that_is_the_same_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = read_recording(VECTORS / f"{SAME}.json")
    assert judge(recording, tmp_path).kind is Kind.SAME
    monkeypatch.setitem(DIFFERENCES, SAME, {"no reason at all": (3,)})
    found = judge(recording, tmp_path)
    assert (found.kind, found.ok) == (Kind.LISTED_BUT_SAME, False)


def observed(**changes: Any) -> Observed:
    nothing = Observed(
        result=None, error=None, crashed=False, wrote=False, events=[], mirror=[], prompts=[], failures=0
    )
    return attrs.evolve(nothing, **changes)


def test_a_recorded_error_must_come_and_leave_nothing() -> None:
    step = Step(0, {"op": "append"}, {"error": {"name": "TypeError", "message": "no"}, "events": []}, [])
    assert differences(step, observed(error=ValueError("no"))) == []
    assert len(differences(step, observed(result={}))) == 1
    assert len(differences(step, observed(error=ValueError("no"), wrote=True))) == 1
    assert len(differences(step, observed(error=ValueError("no"), crashed=True))) == 1


def test_prompts_are_compared_by_what_they_must_contain() -> None:
    prompt = (
        "Update.\n\nPREVIOUS SUMMARY:\nThey met.\n\nNEW TURNS TO INCORPORATE:\n[user]\nhello\n\n---\n\n"
        '[assistant]\n\n[Tool: search]\nInput: {"q":1}\nOutput: "' + "o" * 500 + "\n\nUpdate the summary. Be brief."
    )
    assert list(filter(None, pieces(prompt))) == ["They met.", "hello", "search", '{"q":1}', "o" * 40]
    step = Step(0, {"op": "compact"}, {"result": None, "events": [], "prompts": [prompt]}, [])
    ours = f"They met. user: hello. Tool search: {{'q': 1}} {{\"q\": 1}} gave {'o' * 100}"
    assert differences(step, observed(prompts=[ours])) == []
    assert len(differences(step, observed(prompts=[ours.replace("met", "parted")]))) == 1
    assert len(differences(step, observed())) == 1


def test_compactions_keep_their_recorded_numbers_where_only_one_side_stores_one() -> None:
    names = Names()
    names.learn_compactions([], 1)
    names.learn_compactions(["aa"], 1)
    names.learn_compactions(["bb"], 0)
    names.learn_compactions(["cc"], 1)
    assert names.recorded(["compaction_aa", "bb", "cc"]) == ["compaction_c2", "only here: bb", "c3"]
    assert names.ours({"ids": ["compaction_c2", "compaction_c9"]}) == {"ids": ["compaction_aa", "compaction_c9"]}


@given(st.text(st.characters(), max_size=5), st.integers(0, 900))
def test_repeated_texts_are_written_out_and_long_ones_shortened(text: str, times: int) -> None:
    whole = written_out({"$concat": ["<", {"$repeat": [text, times]}]})
    assert whole == "<" + text * times
    assert (shortened(whole) == whole) is (len(whole) <= 2000)


def test_the_command_prints_each_recording_and_the_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 1, "a folder without recordings is a mistake"
    content = json.loads((VECTORS / f"{SAME}.json").read_text(encoding="utf-8"))
    (tmp_path / "a.json").write_text(json.dumps(content), encoding="utf-8")
    assert main([str(tmp_path)]) == 0
    content["expect"][0]["events"] = []
    (tmp_path / "b.json").write_text(json.dumps(content), encoding="utf-8")
    assert main([str(tmp_path)]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert "a: same" in printed
    assert "b: differs" in printed
    assert printed[-1].startswith("1 same, 0 differs on purpose, 1 differs,")
