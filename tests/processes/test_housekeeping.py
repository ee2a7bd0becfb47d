"""Housekeeping beside processes that write, and in processes that are killed."""

from __future__ import annotations

import random
import time
from datetime import timedelta
from pathlib import Path

from eventstore import Sessions, StoreBusy
from eventstore.testing import json_text
from tests.laws.support import reads
from tests.processes.running import hear, running, say
from tests.property.secrets import Secrets, left, split
from tests.unit.talk import ids, message

SCAVENGE = """
with Sessions(sys.argv[1], durability="normal") as sessions:
    print("open", flush=True)
    sys.stdin.readline()
    sessions.scavenge(vacuum=True)
    print("done", flush=True)
"""


def _fill(path: Path) -> Secrets:
    """A file with every version, most of them superseded."""
    secrets = Secrets(0)
    with Sessions(path, retain="all", durability="normal") as sessions:
        session = sessions.session()
        session.append_messages([message(f"m{n}", secrets.text(3)) for n in range(600)])
        session.append_message({"id": "image", "role": "user", "parts": [secrets.image()]})
        text = secrets.text(80)
        for number in range(100):
            session.update_message(message(f"m{number}", secrets.text(3)))
            text += f" {secrets.word()}"
            session.update_message(message("m599", text))
        session.delete_messages([f"m{n}" for n in range(0, 500, 2)])
        session.delete_messages(["image"])
    return secrets


def test_killed_at_any_moment_the_file_is_sound_and_another_call_finishes(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    secrets = _fill(path)
    whole = path.read_bytes()
    with Sessions(path, read_only=True) as sessions:
        before, (_, gone) = reads(sessions), split(sessions, secrets.given)
    chance = random.Random(1)
    unfinished = 0
    moments = [chance.choice((0.005, 0.01, 0.02, 0.05, 0.1)) for _ in range(5)]
    for moment in (*moments, *[0.0] * 20):
        if moment == 0 and unfinished:
            break  # on a slow machine all five came too late
        path.write_bytes(whole)
        with running(SCAVENGE, path) as process:
            assert hear(process) == "open"
            say(process)
            time.sleep(moment)
            process.kill()
            process.wait()
        with Sessions(path, durability="normal") as sessions:
            assert sessions.verify().problems == ()
            assert reads(sessions) == before
            unfinished += sessions.scavenge(vacuum=True) > 0
            assert sessions.verify().problems == ()
            assert reads(sessions) == before
        assert left([path, Path(f"{path}-wal")], gone) == []
        assert path.stat().st_size < 0.9 * len(whole)
    assert unfinished, "each was killed when there was nothing left to do: the moments are too late"


WRITE = """
with Sessions(sys.argv[1], durability="normal", busy_timeout=60) as sessions:
    session = sessions.session(sys.argv[2])
    print("open", flush=True)
    number = 0
    while True:
        session.append_message(message(f"{number}", "text " * 50))
        if number % 3 == 2:
            session.update_message(message(f"{number}", "other " * 50))
            session.delete_messages([f"{number - 1}"])
        number += 1
"""


def test_a_backup_among_writers_is_the_store_as_it_was_at_one_moment(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    _fill(path)
    with Sessions(path, durability="normal", busy_timeout=60) as sessions:
        with running(WRITE, path, "a") as one, running(WRITE, path, "b") as other:
            assert hear(one) == hear(other) == "open"
            first = sessions.latest_seq
            for number in range(3):
                sessions.backup(tmp_path / f"copy {number}.db", progress=lambda done, total: time.sleep(0.05))
            last = sessions.latest_seq
        seqs = []
        for number in range(3):
            with Sessions(tmp_path / f"copy {number}.db") as copy:
                assert copy.verify().problems == ()
                seqs.append(copy.latest_seq)
                with sessions.at(copy.latest_seq) as then:
                    for name in ("a", "b"):
                        theirs = then.session(name)
                        assert ids(copy.session(name).tree()) == ids(theirs.tree())
                        assert copy.session(name).info().to_dict() == theirs.info().to_dict()
                assert json_text([each.to_dict() for each in copy.session("").tree()]) == json_text(
                    [each.to_dict() for each in sessions.session("").tree()]
                )
    assert first <= seqs[0] <= seqs[1] <= seqs[2] <= last
    assert seqs[0] < seqs[2], "nobody wrote meanwhile"


def test_others_write_while_it_is_scavenged_and_pruned(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    _fill(path)
    with (
        Sessions(path, durability="normal", busy_timeout=60) as sessions,
        Sessions(path, durability="normal", busy_timeout=20) as impatient,
        running(WRITE, path, "a") as writer,
    ):
        assert hear(writer) == "open"
        before = sessions.latest_seq
        written = refused = 0

        def write(_done: int, _total: int | None) -> None:
            nonlocal written, refused
            try:
                impatient.session("c").append_message(message(f"{written}"))
                written += 1
            except StoreBusy:
                refused += 1
            deadline = time.monotonic() + 10  # a machine with much to do lets the other wait for its turn
            while sessions.latest_seq == before + written and time.monotonic() < deadline:
                time.sleep(0.001)

        assert sessions.scavenge(vacuum=True, progress=write) > 0
        assert written > 3
        assert refused == 0
        assert sessions.latest_seq > before + written, "the other process wrote nothing meanwhile"
        pruned = sessions.prune(timedelta(seconds=30))
        assert pruned == []
        writer.kill()
        writer.wait()
        assert sessions.verify().problems == ()
        assert len(ids(sessions.session("c").get_history())) == written
