"""A store that came into a child by fork: refused whatever is asked of it, and no harm to the parent's."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from eventstore import Sessions, StoreClosed, StoreForked
from tests.unit.every_call import every_call
from tests.unit.talk import Heard, ids, message


def in_a_child(work: Callable[[], object]) -> None:
    """Runs `work` in a forked child. Fails with what it says when it raises."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover
        said = ""
        signal.alarm(30)  # ends a child that waits for a lock
        try:
            work()
        except BaseException:  # noqa: BLE001
            said = traceback.format_exc()
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    assert (said, status) == ("", 0)


@pytest.fixture
def sessions(tmp_path: Path) -> Iterator[Sessions]:
    with Sessions(tmp_path / "store.db", durability="normal") as opened:
        yield opened


pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]


def test_everything_is_refused_in_a_child(sessions: Sessions, tmp_path: Path) -> None:
    session = sessions.session()
    session.append_messages([message("a"), message("b")])
    reading = session.history()
    calls = every_call(sessions, tmp_path / "copy.db")

    def work() -> None:
        for number, call in enumerate(calls):
            with pytest.raises(StoreForked, match="one store per worker") as caught:
                call()
            assert isinstance(caught.value, StoreClosed), number
        sessions.close()  # quietly: the parent has it open

    in_a_child(work)
    session.append_message(message("c"))
    assert ids(session.get_history()) == ["a", "b", "c"]
    assert ids(reading) == ["a", "b"]


def test_a_child_is_refused_whatever_its_parent_was_doing(sessions: Sessions) -> None:
    """Inside a transaction, or inside a listener: locks that the parent held at the fork keep no child waiting."""
    session = sessions.session()

    def work() -> None:
        for call in (
            lambda: session.append_message(message("c")),
            lambda: session.get_history(),
            lambda: sessions.poll(),
            lambda: sessions.subscribe(print),
            lambda: sessions.transaction().__enter__(),
        ):
            with pytest.raises(StoreForked):
                call()

    with sessions.transaction():
        session.append_message(message("a"))
        in_a_child(work)
    sessions.subscribe(lambda _event: in_a_child(work))
    session.append_message(message("b"))
    assert ids(session.get_history()) == ["a", "b"]


@pytest.mark.parametrize("inside", ["transaction", "listener"])
def test_a_child_of_another_thread_is_refused_and_not_kept_waiting(sessions: Sessions, inside: str) -> None:
    session = sessions.session()
    held, go = threading.Event(), threading.Event()

    def hold(_event: object = None) -> None:
        held.set()
        go.wait(30)

    def write() -> None:
        if inside == "listener":
            sessions.subscribe(hold)
            session.append_message(message("a"))
        else:
            with sessions.transaction():
                session.append_message(message("a"))
                hold()

    def work() -> None:
        for call in (
            lambda: sessions.subscribe(print),
            lambda: session.subscribe(print),
            lambda: sessions.poll(),
            lambda: session.append_message(message("c")),
        ):
            with pytest.raises(StoreForked):
                call()

    thread = threading.Thread(target=write)
    thread.start()
    assert held.wait(30)
    in_a_child(work)
    go.set()
    thread.join(30)
    assert ids(session.get_history()) == ["a"]


def test_four_children_that_open_their_own_write_all(tmp_path: Path, sessions: Sessions) -> None:
    """The pattern of pre-forking servers: opened at import, then a store of its own for each worker."""
    session = sessions.session()
    heard = Heard()
    sessions.subscribe(heard)
    session.append_message(message("parent"))
    children = []
    for number in range(4):
        child = os.fork()
        if child == 0:  # pragma: no cover
            status = 1
            try:
                with Sessions(tmp_path / "store.db", durability="normal", busy_timeout=30) as own:
                    for n in range(50):
                        own.session().append_message(message(f"{number}.{n}"))
                gc.collect()
                status = 0
            except BaseException:  # noqa: BLE001
                traceback.print_exc(file=sys.stderr)
            os._exit(status)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 4
    assert sessions.poll() == 200
    session.append_message(message("parent again"))
    assert heard.seqs == list(range(1, 203))
    assert len(session.get_history()) == 202
    assert sessions.verify().ok


def test_a_child_that_ends_takes_nothing_from_its_parent(tmp_path: Path, sessions: Sessions) -> None:
    """An ordinary exit runs the destructors of what was inherited."""
    session = sessions.session()
    session.append_message(message("a"))
    child = os.fork()
    if child == 0:  # pragma: no cover
        sessions._store.database.__dict__.clear()
        gc.collect()
        os._exit(0)
    os.waitpid(child, 0)
    assert (tmp_path / "store.db-wal").exists()
    session.append_message(message("b"))
    with Sessions(tmp_path / "store.db") as other:
        assert ids(other.session().get_history()) == ["a", "b"]
        assert other.verify().ok
