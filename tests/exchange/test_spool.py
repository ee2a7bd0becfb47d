"""Values that are put aside come back as they were, however many they are."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventstore.exchange import spool
from eventstore.exchange.spool import Spool
from eventstore.exchange.tools import Call, Result

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
) | st.builds(Call, st.text(), st.text(), st.integers())


@given(st.lists(st.tuples(VALUES, st.integers(0, 9)), max_size=12), st.booleans())
def test_what_is_put_aside_comes_back(steps: list[tuple[Any, int]], on_disk: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if on_disk:
            patch.setattr(spool, "IN_MEMORY", 10)
        held, model = Spool(), list[Any]()
        for value, look in steps:
            held.append(value)
            model.append(value)
            assert held[look % len(model)] == model[look % len(model)]  # between two that are added
        assert len(held) == len(model)
        assert [held[at] for at in reversed(range(len(model)))] == model[::-1]


def test_a_file_is_closed_with_its_spool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "IN_MEMORY", 10)
    held = Spool()
    held.append(Result("c", "x" * 100, {"type": "data-x"}))
    assert held[0].output == "x" * 100
    file = held._file
    del held
    gc.collect()
    assert file.closed
