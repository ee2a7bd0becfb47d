"""A disk that is really full, and a file that may grow no further."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from eventstore import Event, Sessions, StoreFull
from tests.processes.running import run
from tests.unit.talk import ids, message

LARGE = "x" * 20_000


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Six megabytes of memory as a disk, most of them taken."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(place)]
    if os.name != "posix" or os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("needs to be root, and allowed to mount a disk of six megabytes")
    (place / "in the way").write_bytes(bytes(3_500_000))
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk(small_disk: Path) -> None:
    path = small_disk / "store.db"
    heard: list[Event] = []
    full = pytest.raises(StoreFull)  # closing can't write the WAL into the file: it stays beside it
    with full, Sessions(path) as sessions:
        session = sessions.session()
        sessions.subscribe(heard.append)
        written = 0
        with pytest.raises(StoreFull, match="make room") as caught:  # noqa: PT012 - which of them it is isn't known
            for written in range(1_000):
                session.append_message(message(f"m{written}", LARGE))
        assert isinstance(caught.value, OSError)
        for write in (
            lambda: session.append_messages([message(f"n{n}", LARGE) for n in range(9)]),
            lambda: session.update_message(message("m0", LARGE * 9)),
            lambda: session.set_metadata({"notes": LARGE * 9}),
        ):
            with pytest.raises(StoreFull):
                write()
        there = [f"m{n}" for n in range(written)]
        assert ids(session.get_history()) == there
        assert [event.seq for event in heard] == list(range(1, written + 1))
        assert len(there) > 10
    (small_disk / "in the way").unlink()
    with Sessions(path) as sessions:
        session = sessions.session()
        assert sessions.verify().ok
        assert ids(session.get_history()) == there
        session.delete_messages(there[5:])
        session.append_message(message("after"))
        assert ids(session.get_history()) == [*there[:5], "after"]


LIMITED = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
heard = []
sessions = Sessions(sys.argv[1])
session = sessions.session()
sessions.subscribe(heard.append)
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
written = 0
try:
    while True:
        session.append_message(message(f"m{written}", "x" * 20_000))
        written += 1
except EventStoreError as error:
    print(type(error).__name__)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(ids(session.get_history()) == [f"m{n}" for n in range(written)], len(heard) == written > 5)
session.append_message(message("after"))
print(sessions.verify().ok, ids(session.get_history())[-1])
sessions.close()
"""


@pytest.mark.skipif(os.name != "posix", reason="needs a limit on the size of files")
def test_a_file_that_may_grow_no_further(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    error, kept, after = run(LIMITED, path).splitlines()
    assert (error in ("StoreFull", "CannotOpen"), kept, after) == (True, "True True", "True after")
    with Sessions(path) as sessions:
        assert sessions.verify().ok


KILLED = """
import os, resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
session = Sessions(sys.argv[1]).session()
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
try:
    for number in range(1_000):
        session.append_message(message(f"m{number}", "x" * 20_000))
        print(number)
except EventStoreError:
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs a limit on the size of files")
def test_a_process_killed_on_a_full_disk_leaves_all_that_returned(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    returned = [f"m{number}" for number in run(KILLED, path, fails=True).split()]
    assert len(returned) > 5
    with Sessions(path) as sessions:
        assert ids(sessions.session().get_history()) == returned
        assert sessions.session().append_message(message("after")).seq == len(returned) + 1
        assert sessions.verify().ok
