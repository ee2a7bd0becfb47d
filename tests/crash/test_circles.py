"""Links of a damaged file that lead in a circle: every call ends, with an answer or with one of our errors.

SQLite finds nothing wrong with such a file: it is sound, and says what no version writes.
"""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from eventstore import EventStoreError, Session, Sessions
from tests.unit.talk import chain, message, reply

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork: a hang must not end the tests"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]

SECONDS = 10
LINKS = (
    ("chain", "parent"),
    ("chain", "fork"),
    ("event", "back"),
    ("event", "parent"),
    ("event", "touch"),
    ("event", "base"),
    ("event", "message"),
    ("piece", "event"),
    ("piece", "version"),
    ("head", "touch"),
    ("head", "leaf"),
    ("head", "leaf_chain"),
    ("overlay", "below"),
    ("overlay", "shown"),
    ("overlay", "earlier"),
    ("overlay", "first"),
    ("overlay", "first_chain"),
    ("overlay", "last_chain"),
    ("selection", "event"),
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with links of every kind."""
    path = tmp_path_factory.mktemp("circles") / "whole.db"
    with Sessions(path, durability="normal") as sessions:
        session = sessions.session()
        chain(session, *(f"m{n}" for n in range(12)))
        for start in (0, 3, 6):
            session.add_compaction(f"of {start}", f"m{start}", f"m{start + 1}")
        chain(session, "b1", "b2", "b3", parent_id="m2")
        chain(session, "c1", "c2", parent_id="b1")
        session.add_compaction("of a branch", "b1", "b1")
        session.select_leaf("m11")
        session.select_leaf("c2")
        session.append_message(reply("r", "x" * 3_000))
        for more in range(1, 4):
            session.update_message(reply("r", "x" * (3_000 + 10 * more)))
        session.delete_messages(["b2"])
    return path


def read_and_write(sessions: Sessions, session: Session) -> None:
    """Whatever walks along links. Not asked: whether the answers are right, which verify() says."""
    calls: list[Callable[[], Any]] = [
        lambda: list(session.tree()),
        session.get_leaves,
        session.get_history,
        session.get_compactions,
        lambda: session.get_recent_history(50),
        lambda: list(session.history(newest_first=True)),
        session.token_estimate,
        session.get_history_row_stats,
        lambda: session.get_latest_leaf(below="m2"),
        lambda: list(session.events()),
        lambda: session.add_compaction("another", "m8", "m9"),
        lambda: session.add_compaction("another", "m0", "m1"),
        lambda: session.update_message(reply("r", "x" * 3_050)),
        lambda: session.append_message(message("after")),
        lambda: session.delete_messages(["after", "r"]),
        lambda: session.delete_branch("c1"),
        lambda: session.copy_to(sessions.session("copy")),
        sessions.scavenge,
        sessions.verify,
    ]
    for each in ("m0", "m5", "m11", "b1", "c2", "r"):
        calls += [
            partial(session.get_history, leaf_id=each),
            partial(session.get_branches, each),
            partial(session.get_message_info, each),
        ]
    for call in calls:
        with suppress(EventStoreError):
            call()


def lead_astray(path: Path, table: str, column: str, *, to_itself: bool) -> None:
    """Makes every link of a column name its own row, or the next one of the table."""
    key = {"chain": "key", "head": "leaf", "piece": "n", "selection": "event"}.get(table, "seq")
    following = f"coalesce((SELECT min(t.{key}) FROM {table} t WHERE t.{key} > o.{key}), {key})"
    other = key if to_itself else following
    if column == "back":
        other = "0" if to_itself else "-1"
    theirs = sqlite3.connect(path)
    assert theirs.execute(f"UPDATE OR IGNORE {table} AS o SET {column} = {other}").rowcount
    theirs.commit()
    theirs.close()


def ending(work: Callable[[], object]) -> str:
    """How a child ends that does this: "" when it comes to its end."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover
        signal.alarm(SECONDS)
        try:
            work()
        except BaseException:  # noqa: BLE001
            os.write(writing, traceback.format_exc()[-3_000:].encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, errors="replace") as pipe:
        told = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code == -signal.SIGALRM:
        return f"it goes on for more than {SECONDS} seconds"
    return told or (f"exit {code}" if code else "")


@pytest.mark.parametrize(("table", "column"), LINKS)
@pytest.mark.parametrize("to_itself", [True, False])
def test_no_circle_keeps_a_call_for_ever(whole: Path, tmp_path: Path, table: str, column: str, to_itself: bool) -> None:
    path = tmp_path / "store.db"
    shutil.copyfile(whole, path)
    lead_astray(path, table, column, to_itself=to_itself)

    def work() -> None:
        with suppress(EventStoreError), Sessions(path, durability="normal") as sessions:
            read_and_write(sessions, sessions.session())

    assert ending(work) == ""
