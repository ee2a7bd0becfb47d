"""Messages as files tell them, put together: any mixture of ids, parents and calls becomes a sound conversation."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import attrs
from hypothesis import given
from hypothesis import strategies as st

from eventstore import Sessions
from eventstore.exchange.assembling import PREVIOUS, Assembly, Told, assemble
from eventstore.exchange.spool import Spool
from eventstore.exchange.store import store
from eventstore.exchange.tools import Call, Result
from tests.exchange.laws import check_stored
from tests.exchange.mappings import KEYS, check_laws, shape

IDS = st.none() | st.sampled_from([*KEYS[:5], "", "half \ud83d"]) | st.integers(0, 2)
PARENTS = st.just(PREVIOUS) | st.none() | st.sampled_from([*KEYS[:5], "never written"]) | st.integers(0, 2)
CALL_IDS = st.sampled_from(["c1", "c2"]) | st.none()


@st.composite
def tellings(draw: st.DrawFn) -> list[Told]:
    told: list[Told] = []
    for _ in range(draw(st.integers(0, 8))):
        text = draw(st.sampled_from(["A", "B"]))
        said: list[Any] = [{"type": "text", "text": text}] * draw(st.integers(0, 1))
        said += draw(st.lists(st.builds(Call, CALL_IDS, st.just("t"), st.integers(0, 9)), max_size=2))
        said += [
            Result(call_id, output, {"type": "data-alone", "data": output}, failed)
            for call_id, output, failed in draw(
                st.lists(st.tuples(CALL_IDS, st.integers(0, 9), st.booleans()), max_size=2)
            )
        ]
        content = [text, len(told)] if draw(st.booleans()) else text
        left_out = draw(st.none() | st.just("it is empty"))
        role = draw(st.sampled_from(["user", "assistant", ""]))
        listed = draw(st.lists(st.sampled_from(KEYS[:5]), max_size=2))
        told.append(Told(draw(IDS), role, said, content, draw(PARENTS), left_out=left_out, listed=listed))
    return told


@given(tellings(), st.none() | st.just(PREVIOUS) | st.sampled_from(KEYS))
def test_any_telling_is_a_sound_conversation(told: list[Told], current: Any) -> None:
    read = assemble("x:1", {}, told, current=current)
    check_laws(read)
    twice = sum(why == "it is there a second time: kept once" for _, why in read.skipped)
    left_out = sum(why == "it is empty" for _, why in read.skipped)
    assert len(read.rows) + twice + left_out == len(told)
    assert [*assemble("x:1", {}, told, current=current).rows] == [*read.rows]
    for id, held in Counter(each.id for each in told if isinstance(each.id, str)).items():
        if id in KEYS and held == 1:  # an id that the file uses once is kept
            kept = next(each for each in told if each.id == id)
            assert (id in shape(read.rows)) == (kept.left_out is None)


@given(tellings(), st.none() | st.just(PREVIOUS) | st.sampled_from(KEYS))
def test_what_lies_on_a_spool_comes_to_the_same(told: list[Told], current: Any) -> None:
    held, spooled = Assembly(), Assembly(Spool())
    for each in told:
        assert held.add(attrs.evolve(each)) == spooled.add(attrs.evolve(each))
    one, other = (assembly.conversation("x:1", {}, current=current) for assembly in (held, spooled))
    assert [*one.rows] == [*other.rows]
    assert (one.current, one.skipped, one.elsewhere) == (other.current, other.skipped, other.elsewhere)


@given(tellings())
def test_every_call_and_result_is_somewhere(told: list[Told]) -> None:
    told = [attrs.evolve(each, id=None, content=number, left_out=None) for number, each in enumerate(told)]
    read = assemble("x:1", {}, told)
    parts = [part for row in read.rows for part in row.message["parts"]]
    calls = [said for each in told for said in each.said if isinstance(said, Call)]
    results = [said for each in told for said in each.said if isinstance(said, Result)]
    answered = [part for part in parts if part.get("state") in ("output-available", "output-error")]
    alone = [part for part in parts if part["type"] == "data-alone"]
    assert len(answered) + len(alone) == len(results)
    assert len(parts) >= max(len(calls), len(results))
    told_outputs = [part.get("output", part.get("errorText", part.get("data"))) for part in (*answered, *alone)]
    assert Counter(map(str, told_outputs)) == Counter(str(result.output) for result in results)


@given(tellings())
def test_any_telling_is_stored_and_a_second_time_not_at_all(told: list[Told]) -> None:
    read = assemble("x:1", {"title": "T"}, told)
    with Sessions() as sessions:
        assert store(sessions, read).imported == len(read.rows)
        if read.rows:
            check_stored(sessions, read)
        seq = sessions.latest_seq
        assert store(sessions, read).imported == 0
        assert sessions.latest_seq == seq


@given(tellings(), tellings())
def test_what_follows_changes_no_id(told: list[Told], more: list[Told]) -> None:
    line = [attrs.evolve(each, parent=PREVIOUS, left_out=None, listed=()) for each in told]
    longer = [*line, *(attrs.evolve(each, parent=PREVIOUS, left_out=None, listed=()) for each in more)]
    before = shape(assemble("x:1", {}, line).rows)
    after = shape(assemble("x:1", {}, longer).rows)
    assert {id: after[id] for id in before} == before


def test_a_result_in_the_message_of_its_call_is_one_part_and_a_second_one_is_data() -> None:
    said: list[Any] = [Call("c", "t", 1), Result("c", 2, {"type": "x"}), Result("c", 3, {"type": "data-x", "data": 3})]
    [row] = assemble("x:1", {}, [Told("m", "assistant", said, 0)]).rows
    part = {"type": "tool-t", "toolCallId": "c", "state": "output-available", "input": 1}
    assert row.message["parts"] == [{**part, "output": 2}, {"type": "data-x", "data": 3}]


def test_long_lines_and_many_calls_take_linear_time() -> None:
    start = time.perf_counter()
    same: list[Any] = [{"type": "text", "text": "same"}]
    read = assemble("x:1", {}, (Told(None, "user", same, "same") for _ in range(20_000)))
    assert len({row.message["id"] for row in read.rows}) == 20_000
    said: list[Any] = [Call(f"c{number}", "t", 1) for number in range(5_000)]
    said += [Result(f"c{number}", number, {"type": "x"}) for number in range(5_000)]
    [row] = assemble("x:1", {}, [Told("m", "assistant", said, 0)]).rows
    assert [part["output"] for part in row.message["parts"]] == list(range(5_000))
    assert time.perf_counter() - start < 20
