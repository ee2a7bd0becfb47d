"""Several processes write one file: nobody waits for ever, nothing is lost, everybody hears all of it in one order."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from eventstore import Sessions
from tests.processes.running import finish, hear, run, running, say, start
from tests.unit.talk import Heard, ids, message

EACH = 250
APPEND = """
with Sessions(sys.argv[1], durability="normal", busy_timeout=60) as sessions:
    session = sessions.session()
    heard = []
    sessions.subscribe(lambda event: heard.append(event.seq))
    print("ready", flush=True)
    sys.stdin.readline()
    first = sessions.latest_seq
    for number in range(int(sys.argv[3])):
        session.append_message(message(f"{sys.argv[2]}.{number}"))
    assert heard == sorted(set(heard)), "out of order, or twice"
    print(heard[0], heard[-1], len(heard))
"""


def test_four_processes_of_many_appends_each(tmp_path: Path) -> None:
    """One conversation, one path: every append hangs on the leaf that it found, whoever put it there."""
    path = tmp_path / "store.db"
    with Sessions(path, durability="normal") as sessions:
        session = sessions.session()
        heard = Heard()
        sessions.subscribe(heard)
        processes = [start(APPEND, path, name, EACH) for name in "abcd"]
        assert [hear(process) for process in processes] == ["ready"] * 4
        for process in processes:
            say(process)
        sizes = []
        while any(process.poll() is None for process in processes):
            sizes.append(len(session.get_history()))  # a reader goes on among them
            sessions.poll()
        for process in processes:
            first, last, count = map(int, finish(process).split())
            assert count == last - first + 1  # what came between its own was the others'
        sessions.poll()
        assert heard.seqs == list(range(1, 4 * EACH + 1))
        assert sizes == sorted(sizes)
        path_ids = ids(session.get_history())
        assert len(path_ids) == 4 * EACH
        for name in "abcd":
            assert [each for each in path_ids if each[0] == name] == [f"{name}.{n}" for n in range(EACH)]
        assert sessions.verify().ok
    assert [file.name for file in tmp_path.iterdir()] == ["store.db"]


TAKE_TURNS = """
with Sessions(sys.argv[1], durability="normal", busy_timeout=60) as sessions:
    session = sessions.session()
    changed = 0
    for number in range(150):
        while True:
            leaf = session.get_latest_leaf()
            expected = None if leaf is None else leaf["id"]
            try:
                session.append_message(message(f"{sys.argv[2]}.{number}"), expected_leaf=expected)
                break
            except LeafChanged:
                changed += 1
    print(changed)
"""


def test_two_processes_that_read_and_then_write_on_what_they_read(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    processes = [start(TAKE_TURNS, path, name) for name in "ab"]
    for process in processes:
        finish(process)
    with Sessions(path) as sessions:
        found = ids(sessions.session().get_history())
        assert Counter(each[0] for each in found) == {"a": 150, "b": 150}
        assert len(list(sessions.session().tree())) == 300


STREAM = """
with Sessions(sys.argv[1], durability="normal", busy_timeout=60) as sessions:
    session = sessions.session()
    for number in range(60):
        session.update_message(message("reply", "x" * 3_000 + f"{sys.argv[2]}.{number}|" * number))
"""


def test_processes_that_stream_into_one_message_never_mix_its_text(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Sessions(path, retain="all") as sessions:
        session = sessions.session()
        session.append_message(message("reply"))
        processes = [start(STREAM, path, name) for name in "abc"]
        for process in processes:
            finish(process)
        for event in sessions.events(1):
            text = event.message["parts"][0]["text"][3_000:]  # type: ignore[attr-defined]
            repeated = set(text.split("|")) - {""}
            assert len(repeated) <= 1
        assert sessions.verify().ok


HOLD = """
sessions = Sessions(sys.argv[1])
with sessions.transaction():
    sessions.session().append_message(message("held"))
    print("holding", flush=True)
    sys.stdin.readline()
print("let go", flush=True)
"""


CLEAR = """
with Sessions(sys.argv[1], busy_timeout=0.1) as sessions:
    print(failing(sessions.session().clear_messages))
"""


def test_a_process_that_holds_the_store_keeps_writers_busy_and_readers_not(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Sessions(path, busy_timeout=0.1) as sessions:
        session = sessions.session()
        session.append_message(message("a"))
        with running(HOLD, path) as holder:
            assert hear(holder) == "holding"
            assert run(CLEAR, path) == "StoreBusy"
            assert ids(session.get_history()) == ["a"]
            assert sessions.poll() == 0
            with Sessions(path, read_only=True) as reader:
                assert ids(reader.session().get_history()) == ["a"]
            say(holder)
            assert hear(holder) == "let go"
        assert ids(session.get_history()) == ["a", "held"]
        session.append_message(message("b"))


def test_a_process_killed_inside_its_transaction_leaves_nothing_of_it(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Sessions(path, busy_timeout=5) as sessions:
        session = sessions.session()
        heard = Heard()
        sessions.subscribe(heard)
        session.append_message(message("a"))
        with running(HOLD, path) as holder:
            assert hear(holder) == "holding"
            holder.kill()
            holder.wait()
        session.append_message(message("b"))
        assert ids(session.get_history()) == ["a", "b"]
        assert heard.seqs == [1, 2]
        assert sessions.verify().ok
