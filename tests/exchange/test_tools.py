"""Which result belongs to which call, and ids from place and content."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from eventstore.exchange.conversation import mend_parents, order_parents_first
from eventstore.exchange.identities import Identities
from eventstore.exchange.tools import Call, Pairs, Result, call_part, error_part, pair, spelled, woven

NODES = [f"n{number}" for number in range(8)]


def _forest(parents: list[int]) -> dict[str, str | None]:
    """Each node hangs on an earlier one, or is a root."""
    return {node: NODES[at] if 0 <= at < NODES.index(node) else None for node, at in zip(NODES, parents, strict=True)}


forests = st.lists(st.integers(-1, 6), min_size=8, max_size=8).map(_forest)
names = st.dictionaries(st.sampled_from(NODES), st.lists(st.sampled_from("xy"), max_size=3))


def paired(parents: dict[str, str | None], calls: Any, results: Any, asked: Any = ()) -> Pairs:
    mended, _ = mend_parents(parents, {})
    return pair(order_parents_first(mended, {}), mended, calls, results, asked)


def line(*nodes: str) -> dict[str, str | None]:
    return dict(zip(nodes, [None, *nodes], strict=False))


def path(node: str, parents: dict[str, str | None]) -> list[str]:
    found = [node]
    while (parent := parents[found[-1]]) is not None:
        found.append(parent)
    return found


@given(forests, names, names, st.sets(st.sampled_from(NODES)))
def test_a_result_has_a_call_of_its_id_above_it_if_there_is_one(
    parents: dict[str, str | None], calls: dict[str, list[str]], results: dict[str, list[str]], asked: set[str]
) -> None:
    pairs = paired(parents, calls, results, asked)
    assert set(pairs.names) == {(node, n) for node, ids in calls.items() for n in range(len(ids))}
    for node, ids in results.items():
        for number, call_id in enumerate(ids):
            above = [each for each in path(node, parents) if call_id in calls.get(each, [])]
            call = pairs.calls.get((node, number))
            assert (call is not None) == bool(above)
            if call is not None:
                assert call[0] in above
                assert calls[call[0]][call[1]] == call_id
    for leaf in NODES:
        used = [pairs.names[node, n] for node in path(leaf, parents) for n in range(len(calls.get(node, [])))]
        assert len(used) == len(set(used))


def test_results_go_to_the_calls_of_their_turn_in_order() -> None:
    nodes = line("old", "ask", "call", "again", "first", "second", "third")
    calls = {"old": ["x"], "call": ["x"], "again": ["x"]}
    pairs = paired(nodes, calls, {"first": ["x"], "second": ["x"], "third": ["x"]}, {"ask"})
    assert pairs.calls == {("first", 0): ("call", 0), ("second", 0): ("again", 0), ("third", 0): ("old", 0)}
    assert list(pairs.names.values()) == ["x", "x#2", "x#3"]


def test_a_branch_answers_the_same_call_anew() -> None:
    parents: dict[str, str | None] = {"call": None, "one": "call", "other": "call", "more": "other"}
    pairs = paired(parents, {"call": ["x"], "one": ["x"]}, {"other": ["x"], "more": ["x"]})
    assert pairs.calls == {("other", 0): ("call", 0), ("more", 0): ("call", 0)}


def test_what_a_call_spells_and_what_an_error_says() -> None:
    assert spelled('{"a": 1}') == {"a": 1}
    assert [spelled(text) for text in ('{"a": ', "[1]", "ls", None, 5)] == ['{"a": ', "[1]", "ls", None, 5]
    call = {"type": "tool-x", "toolCallId": "1", "state": "input-available", "input": {}}
    assert error_part(call, [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])["errorText"] == "a\nb"
    assert error_part(call, {"code": 5})["errorText"] == '{"code":5}'
    assert error_part(call, None)["errorText"] == "null"


@given(st.lists(st.tuples(st.sampled_from([None, "p", "q"]), st.sampled_from(["a", "\ud83d", {"b": 2**70}, {"c": 1}]))))
def test_ids_are_the_same_each_time_and_never_the_same_twice(given: list[tuple[str | None, Any]]) -> None:
    one, other = Identities(), Identities()
    found = [one.derive(follows, content) for follows, content in given]
    assert found == [other.derive(follows, content) for follows, content in given]
    assert len(set(found)) == len(found)
    assert all(len(each) == 32 for each in found)


def test_key_order_is_no_content() -> None:
    assert Identities().derive(None, {"a": 1, "b": 2}) == Identities().derive(None, {"b": 2, "a": 1})


def test_what_is_said_beside_calls_and_results_is_kept_together() -> None:
    call = Call("c", "t", {}, {"callProviderMetadata": {"x": {"a": 1}}}, "x")
    failed = Result("c", [{"type": "image"}], {"type": "data-alone"}, failed=True, about={"x": {"b": 2}})
    [same] = woven([call], ["c"], [])
    assert same["callProviderMetadata"] == {"x": {"a": 1}}
    [part] = woven([call, failed, failed], ["c#2"], [0, None])[:1]
    assert part["callProviderMetadata"] == {"x": {"a": 1, "toolCallId": "c"}}
    assert part["resultProviderMetadata"] == {"eventstore": {"error": [{"type": "image"}]}, "x": {"b": 2}}
    assert call.more == {"callProviderMetadata": {"x": {"a": 1}}}


def test_a_result_stands_where_its_call_is_or_alone() -> None:
    text = {"type": "text", "text": "A"}
    results = [Result("c", n, {"type": "data-alone", "data": n}) for n in range(3)]
    earlier = call_part("t", "c", {})
    woven_here = woven([results[0], text, Call("c", "t", {}), results[1]], ["c"], [0, 0])
    assert [part["type"] for part in woven_here] == ["text", "tool-t", "data-alone"]
    assert woven_here[1]["output"] == 0
    assert [part.get("output") for part in woven(results, [], [earlier, None, earlier])] == [0, None, None]
    assert "output" not in earlier
