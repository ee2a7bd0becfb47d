"""A reply that grows by updates costs bytes in proportion to its length, whatever stands beside it."""

from __future__ import annotations

import base64
import random
from pathlib import Path
from typing import Any, Literal

import attrs
import pytest

from eventstore import Message, Sessions
from tests.benchmarks.growing import counting
from tests.unit.talk import message

WORDS = ("a", "reply", "goes", "on", "in", "words", "of", "the", "usual", "length", "until", "all", "is", "said")
IMAGE = base64.b64encode(random.Random(0).randbytes(300_000)).decode()


@attrs.frozen
class Cost:
    written: int
    file: int


def _reply(text: str, with_image: bool) -> Message:
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}]
    if with_image:
        parts.append({"type": "file", "mediaType": "image/png", "url": f"data:image/png;base64,{IMAGE}"})
    return {"id": "reply", "role": "assistant", "parts": parts}


def _grow(path: Path, updates: int, size: int, retain: Literal["current", "all"], image: bool, search: bool) -> Cost:
    """What SQLite writes, into whichever file, from the second version on."""
    chance = random.Random(1)
    text = " ".join(chance.choices(WORDS, k=size // 4))[:size]
    with counting() as vfs:
        with Sessions(path, durability="normal", retain=retain) as sessions:
            session = sessions.session()
            session.append_message(message("q", "a question"))
            session.append_message(_reply("", image))
            if search:
                assert sessions.search("question")
            before = vfs.written
            for number in range(1, updates + 1):
                session.update_message(_reply(text[: size * number // updates], image))
                if search and number % (updates // 4) == 0:
                    assert [found.id for found in sessions.search("usual length")] == ["reply"]
            assert sessions.verify().ok
        with Sessions(path, read_only=True) as sessions:
            assert sessions.session().get_message("reply") == _reply(text, image)
        return Cost(vfs.written - before, path.stat().st_size)


@pytest.mark.parametrize("retain", ["current", "all"])
@pytest.mark.parametrize(("image", "search"), [(True, False), (False, True), (True, True)])
def test_twice_as_long_costs_twice_as_much(
    tmp_path: Path, retain: Literal["current", "all"], image: bool, search: bool
) -> None:
    half = _grow(tmp_path / "half.db", 100, 25_000, retain, image, search)
    whole = _grow(tmp_path / "whole.db", 200, 50_000, retain, image, search)
    assert whole.written < 3 * half.written, "two times is linear, four times quadratic"
    beside = len(IMAGE) if image else 0
    assert whole.file < 6 * 50_000 + beside


@pytest.mark.large
@pytest.mark.parametrize("retain", ["current", "all"])
@pytest.mark.parametrize(("image", "search"), [(False, False), (True, False), (False, True), (True, True)])
def test_half_a_megabyte_in_two_thousand_updates(
    tmp_path: Path, retain: Literal["current", "all"], image: bool, search: bool
) -> None:
    cost = _grow(tmp_path / "reply.db", 2_000, 500_000, retain, image, search)
    print(f"{retain}, image {image}, search {search}: {cost.written:,} written, file {cost.file:,}")
    assert cost.written < 60_000_000
    assert cost.file < 6 * 500_000 + (len(IMAGE) if image else 0)


def _change_one(path: Path, messages: int) -> tuple[int, int]:
    """(bytes written, KiB read) by an update, an append and a delete in a conversation of so many messages."""
    with counting() as vfs:
        with Sessions(path, durability="normal") as sessions:
            sessions.session().append_messages([message(f"m{n}", "a message of a few words") for n in range(messages)])
        with Sessions(path, durability="normal") as sessions:
            session = sessions.session()
            session.append_message(message("first"))  # what is read once is read now
            before = vfs.written, vfs.read
            session.update_message(message(f"m{messages // 2}", "changed"))
            session.append_message(message("last"))
            session.delete_messages(["last"])
            return vfs.written - before[0], (vfs.read - before[1]) // 1_024


def test_to_change_one_message_costs_the_same_in_any_conversation(tmp_path: Path) -> None:
    costs = {messages: _change_one(tmp_path / f"{messages}.db", messages) for messages in (10, 1_000, 20_000)}
    smallest, largest = costs[10], costs[20_000]
    assert largest[0] < 2 * smallest[0], costs
    assert largest[1] < smallest[1] + 100, costs  # the pages on the way down some deeper trees
