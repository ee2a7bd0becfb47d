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
