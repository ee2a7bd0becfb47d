"""The tree work that importers share, on forests and on every kind of damage."""

from __future__ import annotations

import pickle
import time

from hypothesis import given
from hypothesis import strategies as st

from eventstore.exchange.conversation import (
    InvalidExport,
    mend_parents,
    nearest,
    order_parents_first,
    rehang,
    standing_for,
)
from tests.exchange.mappings import KEYS

parent_maps = st.dictionaries(st.sampled_from(KEYS), st.none() | st.sampled_from([*KEYS, "never written"]))
child_maps = st.dictionaries(st.sampled_from(KEYS), st.lists(st.sampled_from([*KEYS, "never written"]), max_size=4))


def climbs(node: str, parents: dict[str, str | None]) -> list[str]:
    """The ancestors of a node; fails on a cycle."""
    path: list[str] = []
    current = parents[node]
    while current is not None:
        assert current not in path
        path.append(current)
        current = parents[current]
    return path


@given(parent_maps, child_maps)
def test_mended_parents_are_a_forest_and_sound_links_stay(
    parents: dict[str, str | None], children: dict[str, list[str]]
) -> None:
    children = {node: listed for node, listed in children.items() if node in parents}
    mended, notes = mend_parents(parents, children)
    assert list(mended) == list(parents)
    changed = {node for node in parents if mended[node] != parents[node]}
    for node in parents:
        assert node not in climbs(node, mended)
        if node in changed:
            assert any(repr(node) in what for what, _ in notes)
            assert parents[node] not in parents or mended[node] is None
    assert not notes or changed or any("ancestor" in why for _, why in notes)
    assert mend_parents(mended, {}) == (mended, [])


@given(parent_maps, child_maps)
def test_the_order_holds_every_node_once_and_siblings_as_listed(
    parents: dict[str, str | None], children: dict[str, list[str]]
) -> None:
    mended, _ = mend_parents(parents, {})
    order = order_parents_first(mended, {node: children[node] for node in children if node in parents})
    assert sorted(order) == sorted(parents)
    for node in order:
        assert all(order.index(ancestor) < order.index(node) for ancestor in climbs(node, mended))
    for node in parents:
        listed = list(dict.fromkeys(child for child in children.get(node, []) if mended.get(child) == node))
        others = [child for child in parents if mended[child] == node and child not in listed]
        assert [child for child in order if mended[child] == node] == listed + others


@given(parent_maps, st.sets(st.sampled_from(KEYS)))
def test_rehung_nodes_hang_on_their_nearest_kept_ancestor(parents: dict[str, str | None], kept: set[str]) -> None:
    mended, _ = mend_parents(parents, {})
    order = order_parents_first(mended, {})
    hung = rehang(mended, standing_for(order, mended, kept))
    assert list(hung) == [node for node in order if node in kept]
    for node, parent in hung.items():
        assert parent == next((ancestor for ancestor in climbs(node, mended) if ancestor in kept), None)


@given(parent_maps, st.dictionaries(st.sampled_from(KEYS), st.integers()))
def test_the_nearest_value_is_the_nodes_own_or_that_of_the_nearest_ancestor(
    parents: dict[str, str | None], own: dict[str, int]
) -> None:
    mended, _ = mend_parents(parents, {})
    found = nearest(order_parents_first(mended, {}), mended, own)
    for node in parents:
        line = [own[ancestor] for ancestor in [node, *climbs(node, mended)] if ancestor in own]
        assert found.get(node) == (line[0] if line else None)


def test_the_first_of_a_cycle_becomes_a_root_unless_another_was_hung_there_by_rule() -> None:
    assert mend_parents({"b": "a", "a": "b", "z": "z"}, {})[0] == {"b": None, "a": "b", "z": None}
    assert mend_parents({"low": "top", "top": None}, {"low": ["top"]})[0] == {"low": "top", "top": None}


def test_a_root_that_lists_itself_is_simply_a_root() -> None:
    assert mend_parents({"a": None}, {"a": ["a"]}) == ({"a": None}, [])


def test_an_unknown_parent_is_replaced_by_who_lists_the_node_or_by_none() -> None:
    mended, notes = mend_parents({"a": None, "b": "gone", "c": "gone"}, {"a": ["b"]})
    assert mended == {"a": None, "b": "a", "c": None}
    assert notes == [
        ("parent of 'b'", "'gone' is not in the file: hung under 'a', which lists it"),
        ("parent of 'c'", "'gone' is not in the file: a root, unless the session holds it"),
    ]


def test_deep_and_wide_trees_take_linear_time_and_no_recursion() -> None:
    size = 40_000
    names = [str(number) for number in range(size)]
    deep: dict[str, str | None] = {name: names[number - 1] if number else None for number, name in enumerate(names)}
    ring: dict[str, str | None] = {**deep, "0": names[-1]}
    wide: dict[str, str | None] = {name: "0" if number else None for number, name in enumerate(names)}
    began = time.process_time()
    for parents in (deep, ring, wide):
        children = {parent: [name] for name, parent in parents.items() if parent is not None}
        mended, _ = mend_parents(parents, children)
        order = order_parents_first(mended, children)
        assert len(order) == size
        assert len(rehang(mended, standing_for(order, mended, order[1::2]))) == size // 2
    assert time.process_time() - began < 10  # less than one; quadratic work would take minutes


def test_the_error_names_file_and_line_and_survives_pickling() -> None:
    error = InvalidExport("some.json", 7, "wanted this, found that")
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.path, copy.line, copy.reason, str(copy)) == (
        "some.json",
        7,
        "wanted this, found that",
        "some.json, line 7: wanted this, found that",
    )
    assert isinstance(error, ValueError)
    whole = InvalidExport("some folder", None, "wanted this, found that")
    assert str(pickle.loads(pickle.dumps(whole))) == "some folder: wanted this, found that"
