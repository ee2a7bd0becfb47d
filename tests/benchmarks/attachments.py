"""What media cost: an image written beside its message, and read back into it."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pybase64

from eventstore import Sessions
from tests.benchmarks.bench import Bench
from tests.benchmarks.material import messages, opened, raw
from tests.benchmarks.measure import Line, interleave, seconds, seconds_each

IMAGE_BYTES = 1_048_576
SMALL_BYTES = 102_400
ONE_IN = 10  # messages has an image


def _image(chance: random.Random, size: int, prefix: str = "data:image/png;base64,") -> dict[str, Any]:
    data = base64.b64encode(chance.randbytes(size)).decode()
    return {"type": "file", "mediaType": "image/png", "url": prefix + data}


def append_image(bench: Bench) -> list[Line]:
    """One message with an image of 1 MiB that was never stored before."""
    chance = random.Random(0)
    calls = bench.sizes.calls
    with opened(bench.folder.new_file()) as sessions, raw(bench.folder.new_file()) as connection:
        connection.execute("CREATE TABLE image (digest BLOB PRIMARY KEY, bytes BLOB)")
        session = sessions.session()

        def ours() -> float:
            given = messages(calls, seed=chance.getrandbits(64))
            for message in given:
                message["parts"].append(_image(chance, IMAGE_BYTES))
            return seconds_each([lambda message=message: session.append_message(message) for message in given])  # type: ignore[misc]

        def theirs() -> float:
            images = [chance.randbytes(IMAGE_BYTES) for _ in range(calls)]

            def insert(data: bytes) -> None:
                row = (sha256(data).digest(), data)
                connection.execute("INSERT INTO image VALUES (?, ?)", row)

            return seconds_each([lambda data=data: insert(data) for data in images])  # type: ignore[misc]

        what = "append_message with an image of 1 MiB"
        return [interleave(what, "SHA-256 + INSERT of the bytes", ours, theirs, runs=bench.sizes.runs, target=3)]


def read_images(bench: Bench) -> list[Line]:
    """A history in which one message in ten has an image, beside one that keeps the same strings inline."""
    number = bench.sizes.batch
    with opened(bench.folder.new_file()) as apart, opened(bench.folder.new_file()) as inline:
        _fill(apart, number, "data:image/png;base64,")
        _fill(inline, number, "DATA:image/png;base64,")  # a spelling that stays where it is
        return [
            interleave(
                f"get_history of {number:,}, one in {ONE_IN} with 100 KiB",
                "the same strings inline",
                lambda: seconds(apart.session().get_history),
                lambda: seconds(inline.session().get_history),
                runs=bench.sizes.runs,
                target=1.3,
            )
        ]


def _fill(sessions: Sessions, number: int, prefix: str) -> None:
    chance = random.Random(0)
    given = messages(number)
    for message in given[::ONE_IN]:
        message["parts"].append(_image(chance, SMALL_BYTES, prefix))
    sessions.session().append_messages(given)


def base64_speed(bench: Bench) -> list[Line]:
    """Why pybase64: 100 KiB each way, against the standard library."""
    data = random.Random(0).randbytes(SMALL_BYTES)
    text = base64.b64encode(data).decode()
    pairs: tuple[tuple[str, Callable[[], object], Callable[[], object]], ...] = (
        ("encode", lambda: pybase64.b64encode_as_string(data), lambda: base64.b64encode(data).decode()),
        ("decode", lambda: pybase64.b64decode(text, validate=True), lambda: base64.b64decode(text, validate=True)),
    )
    return [
        interleave(
            f"base64: {what} 100 KiB",
            "the standard library",
            lambda: seconds_each([ours] * bench.sizes.calls),  # noqa: B023 - called before the next turn
            lambda: seconds_each([theirs] * bench.sizes.calls),  # noqa: B023
            runs=bench.sizes.runs,
        )
        for what, ours, theirs in pairs
    ]
