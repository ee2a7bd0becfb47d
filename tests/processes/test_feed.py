"""The feed between processes: what one writes, another's listeners hear in order, and its lists show."""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path

from eventstore import Appended, Event, Message, Sessions
from projections import follow
from tests.processes.running import finish, hear, running, start
from tests.unit.talk import Heard, message

WRITES_AT_RANDOM = """
import random
dice = random.Random(int(sys.argv[2]))
with Sessions(sys.argv[1], durability="normal", busy_timeout=30) as sessions:
    session = sessions.session()
    for number in range(int(sys.argv[3])):
        known = ids(session.get_history(compacted=False))
        one = dice.choice(known) if known else None
        match dice.choice(["append"] * 5 + ["branch", "update", "update", "delete", "select", "root", "clear"]):
            case "append": session.append_message(message(f"{sys.argv[2]}.{number}"))
            case "root": session.append_message(message(f"{sys.argv[2]}.{number}"), parent_id=None)
            case "update": session.update_message(message(one or "-", f"{number}"))
            case "delete": session.delete_messages(dice.sample(known, min(len(known), 2)))
            case "clear" if number % 9 == 0: session.clear_messages()
            case verb:
                try:  # the others may delete what is named
                    match verb:
                        case "branch": session.append_message(message(f"{sys.argv[2]}.{number}"), parent_id=one)
                        case "select" if one: session.select_leaf(one)
                except UnknownMessage:
                    pass
"""


def test_lists_follow_processes_that_write_at_random(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Sessions(path) as store, Sessions(path, read_only=True) as reader:
        heard, watched = Heard(), Heard()
        rows: list[Message] = []
        seen: list[Message] = []
        store.subscribe(heard)
        reader.subscribe(watched)
        follow(store.session(), rows)
        follow(reader.session(), seen)
        processes = [start(WRITES_AT_RANDOM, path, seed, 120) for seed in range(3)]
        with reader.watch(interval=0.002):
            while any(process.poll() is None for process in processes):
                store.poll()
                time.sleep(0.003)
            for process in processes:
                finish(process)
        store.poll()
        reader.poll()
        assert store.latest_seq > 200
        assert rows == seen == store.session().get_history()
        log = [(event.seq, event.type) for event in store.events()]
        for each in (heard, watched):
            assert [(event.seq, event.type) for event in each if not is_repeated(event)] == log


def is_repeated(event: Event) -> bool:
    return isinstance(event, Appended) and not event.inserted


WORKER = """
cursor = Path(sys.argv[2])
with Sessions(sys.argv[1], read_only=True) as sessions:
    print("ready", flush=True)
    for event in sessions.tail(after=int(cursor.read_text()) if cursor.exists() else 0, interval=0.002):
        with open(sys.argv[3], "a") as done:
            done.write(f"{event.seq}\\n")
        noted = cursor.with_suffix(".new")
        noted.write_text(str(event.seq))
        noted.replace(cursor)  # so that it is never half written
"""


def test_a_worker_that_is_killed_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path, cursor, done = tmp_path / "store.db", tmp_path / "cursor", tmp_path / "done"
    with Sessions(path, durability="normal") as store:
        session = store.session()
        for round in range(4):
            session.append_messages([message(f"{round}.{number}") for number in range(50)])
            with running(WORKER, path, cursor, done) as worker:
                assert hear(worker) == "ready"
                session.append_messages([message(f"{round}.{number}") for number in range(50, 80)])
                wait_until_seen(done, 80 * round + 40 if round < 3 else 320)
    seqs = [int(line) for line in done.read_text().split()]
    assert list(dict.fromkeys(seqs)) == list(range(1, 321))  # none missed
    assert len(seqs) <= 320 + 3  # and only what a kill came between twice
    assert seqs == sorted(seqs)


def wait_until_seen(done: Path, seq: int) -> None:
    end = time.monotonic() + 20
    while not done.exists() or f"\n{seq}\n" not in done.read_text():
        assert time.monotonic() < end
        time.sleep(0.005)


FOLLOWER = """
import json
from projections import follow
late = []
with Sessions(sys.argv[1], read_only=True) as reader:
    follow(reader.session(), [], transform=lambda made: float(made["parts"][0]["text"]),
           on_change=lambda change: late.extend(time.time() - sent for sent in change.added))
    with reader.watch():
        print("ready", flush=True)
        end = time.monotonic() + 30
        while len(late) < 300 and time.monotonic() < end:
            time.sleep(0.01)
    print(json.dumps(late))
"""


def test_a_write_is_soon_in_another_processs_list(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Sessions(path, durability="normal") as store, running(FOLLOWER, path) as reader:
        assert hear(reader) == "ready"
        begin = time.time()
        for number in range(300):
            time.sleep(max(0.0, begin + number * 0.001 - time.time()))
            store.session().append_message(message(f"m{number}", repr(time.time())))
        late = json.loads(hear(reader))
    assert len(late) == 300
    assert statistics.quantiles(late, n=100)[49] < 0.5  # the middle: a machine at work on other things is slow at times
