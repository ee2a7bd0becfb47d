"""Any size is fine: under a low limit of SQLite's, in memory, and beside a text that streams."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import run

import apsw
import pytest

from eventstore import Sessions
from eventstore.testing import same_json
from tests.benchmarks.growing import counting
from tests.property.media_values import encoded, pictured
from tests.property.stored import contents

LIMIT = 2_000_000


@pytest.fixture
def low_limit() -> Iterator[None]:
    """SQLite's limit of a string's length lowered, for all connections."""

    def lower(connection: apsw.Connection) -> None:
        connection.limit(apsw.SQLITE_LIMIT_LENGTH, LIMIT)

    apsw.connection_hooks.append(lower)
    yield
    apsw.connection_hooks.remove(lower)


@pytest.mark.usefixtures("low_limit")
def test_nothing_is_too_large_for_a_low_limit(path: Path) -> None:
    image = bytes(range(251)) * 10_000
    made = pictured("m", image, text="é" * 1_200_000)
    made["parts"].append({"type": "file", "mediaType": "image/png", "data": encoded(image) + "\n"})
    with Sessions(path, durability="normal") as sessions:
        session = sessions.session()
        session.append_message(made)
        assert same_json(session.get_message("m"), made)
        made["parts"][0]["text"] += "And on."
        session.update_message(made)
        assert same_json(session.get_message("m"), made)
        session.copy_to(sessions.session("copy"))
        assert same_json(sessions.session("copy").get_history(), [made])
        assert sessions.verify().ok
        assert contents(path) == {image}


_PEAK = """
import sys
from eventstore import Sessions
from tests.benchmarks.memory import _peak_and_now
from tests.property.media_values import encoded

path, size, way = sys.argv[1], int(sys.argv[2]), sys.argv[3]
with Sessions(path, durability="normal") as sessions:
    session = sessions.session()
    session.append_message({"id": "first", "role": "user", "parts": []})
    _, start = _peak_and_now()
    if way == "write":
        url = "data:application/pdf;base64," + "QUJD" * (size // 3)
        part = {"type": "file", "mediaType": "application/pdf", "url": url}
        del url
        session.append_message({"id": "m", "role": "user", "parts": [part]})
    else:
        message = session.get_message("m")
        assert len(message["parts"][0]["url"]) > size
    peak, _ = _peak_and_now()
print((peak - start) / size)
"""


@pytest.mark.parametrize("megabytes", [12, pytest.param(200, marks=pytest.mark.large)])
def test_a_file_costs_a_few_times_its_size_in_memory(path: Path, megabytes: int) -> None:
    for way in ("write", "read"):
        arguments = [sys.executable, "-c", _PEAK, str(path), str(megabytes * 1_000_000), way]
        done = run(arguments, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert float(done.stdout) <= 5, way


# ---- streams beside media


def _streamed(path: Path, updates: int, images: list[bytes]) -> int:
    """The bytes written while a text grows beside images."""
    with Sessions(path, durability="normal") as sessions:
        sessions.session().append_message(pictured("m", *images, text=""))
    with counting() as vfs:
        with Sessions(path, durability="normal") as sessions:
            for number in range(1, updates + 1):
                sessions.session().update_message(pictured("m", *images, text="word " * 10 * number))
        written = vfs.written
    with Sessions(path) as sessions:
        assert same_json(sessions.session().get_message("m"), pictured("m", *images, text="word " * 10 * updates))
        assert sessions.verify().ok
    return written


def test_text_beside_images_is_written_alone(tmp_path: Path) -> None:
    images = [bytes([n]) * 1_000_000 for n in range(3)]
    assert _streamed(tmp_path / "a.db", 30, images) < 2_000_000


def test_what_a_stream_beside_an_image_writes_is_linear(tmp_path: Path) -> None:
    image = [b"i" * 20_000]
    few, many = (_streamed(tmp_path / f"{updates}.db", updates, image) for updates in (1_000, 2_000))
    assert many < 3 * few
    assert many < 60_000_000
