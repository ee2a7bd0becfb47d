"""Copies: the target reads as its source does, whatever it was before."""

from __future__ import annotations

import pytest

from eventstore import InvalidArgument, Sessions
from tests.unit.talk import message


@pytest.mark.parametrize("given", [{}, {"title": "the source's"}])
def test_metadata_is_the_sources_whatever_the_target_had(given: dict[str, str]) -> None:
    with Sessions() as store:
        source, target = store.session("source"), store.session("target")
        source.append_message(message("a"))
        if given:
            source.set_metadata(given)
        target.set_metadata({"title": "the target's", "more": 1})
        source.copy_to(target)
        assert target.get_metadata() == source.get_metadata() == given
        assert target.get_history() == source.get_history()
        assert store.verify().ok


def test_a_session_with_messages_is_no_target() -> None:
    with Sessions() as store:
        source, target = store.session("source"), store.session("target")
        source.append_message(message("a"))
        target.append_message(message("b"))
        seq = store.latest_seq
        with pytest.raises(InvalidArgument, match="holds 1 messages"):
            source.copy_to(target)
        assert store.latest_seq == seq
