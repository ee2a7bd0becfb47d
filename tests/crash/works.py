"""What is broken off in these tests: every write verb, and longer work; with the states that each may leave.

Each is done to a session of its own. The states of a session are the whole truth here: one before the work, one after
each of its commits. Whatever breaks it off must leave one of them, and the last once it has returned.
"""

from __future__ import annotations

import base64
import random
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import attrs

from eventstore import CompactResult, Session, Sessions, importing, seams, wal
from eventstore.testing import json_text
from tests.laws.verbs import LONG, VERBS, message, prepare

_OVERLAY = re.compile("[0-9a-f]{32}")


@attrs.frozen
class Work:
    """Something that writes to a prepared session."""

    name: str
    perform: Callable[[Session], Any]


def _together(session: Session) -> None:
    with session.sessions.transaction():
        session.append_message(message("t1"))
        with session.sessions.transaction():
            session.update_message(message("m1", "changed"))
            session.delete_messages(["m4"])
        session.set_metadata({"title": "together"})


def _grow(session: Session) -> None:
    for length in (100, 200, 700):
        session.update_message(message("m3", LONG + "more " * length))


def _attach(session: Session) -> None:
    picture = base64.b64encode(random.Random(1).randbytes(9_000)).decode()
    part = {"type": "file", "mediaType": "image/png", "url": f"data:image/png;base64,{picture}"}
    session.append_message({"id": "p1", "role": "user", "parts": [part]})
    session.append_message({"id": "p2", "role": "user", "parts": [part, {"type": "text", "text": "again"}]})
    session.delete_messages(["p1"])


def _compact_by_itself(session: Session) -> None:
    session.on_compaction(lambda _: CompactResult("m1", "m2", "they met")).compact_after(1)
    session.append_message(message("m5"))
    session.on_compaction(None)


def _search(session: Session) -> None:
    session.search("hello")
    session.update_message(message("m2", "changed"))
    session.search("changed")


LONGER = (
    Work("several in one transaction", _together),
    Work("a reply that grows", _grow),
    Work("attachments", _attach),
    Work("an automatic compaction", _compact_by_itself),
    Work("search", _search),
    Work("rebuild", lambda session: session.sessions.rebuild()),
)
WORKS = {name: Work(name, verb.perform) for name, verb in VERBS.items()} | {work.name: work for work in LONGER}


@contextmanager
def small_files(*, wal_pages: int = 40) -> Iterator[None]:
    """Imports commit every two rows, and the WAL is checkpointed often: a few messages pass every step there is."""
    with (
        patch.object(importing, "BATCH_ROWS", 2),
        patch.multiple(wal, WAL_PAGES=wal_pages, RESTART_PAGES=2 * wal_pages),
    ):
        yield


def do(work: Work, session: Session) -> None:
    """The work, from an empty session on."""
    work.perform(prepare(session))


def state_of(sessions: Sessions, name: str) -> str:
    """All that reads say of a session and of its copy, apart from numbers, times and random ids."""
    told = [_told(sessions.session(each)) for each in (name, f"{name} copied")]
    return _OVERLAY.sub("an overlay", json_text(told))


def _told(session: Session) -> Any:
    info = session.info() if any(each.session_id == session.session_id for each in _listed(session)) else None
    return [
        info and [info.messages, info.bytes, info.token_estimate, info.metadata],
        [[each.id, each.parent_id, each.role, each.bytes, each.token_estimate] for each in session.tree()],
        [[leaf.id, session.get_history(leaf_id=leaf.id, compacted=False)] for leaf in session.get_leaves()],
        session.get_history(),
        session.get_metadata(),
        [[each.from_message_id, each.to_message_id, each.summary] for each in session.get_compactions()],
    ]


def _listed(session: Session) -> Iterator[Any]:
    return session.sessions.list_sessions(prefix=session.session_id)


@attrs.frozen
class Course:
    """How a work goes when nothing breaks it off."""

    states: tuple[str, ...]
    """The state before it and after each commit, preparation included."""
    prepared: int
    """The number of the state that the preparation leaves."""
    passages: tuple[tuple[str, int], ...]
    """Every seam that it passes after its preparation, with the number of the state that lasts from there on."""

    @property
    def last(self) -> str:
        """The state once it has returned."""
        return self.states[-1]


@cache
def course(name: str) -> Course:
    """The course of a work, by running it once."""
    states: list[str] = []
    passages: list[tuple[str, int]] = []
    with tempfile.TemporaryDirectory() as folder, small_files():
        path = Path(folder) / "store.db"
        with Sessions(path, durability="normal") as sessions, Sessions(path, read_only=True) as other:

            def look(seam: str) -> None:
                if seam == "committed":
                    states.append(state_of(other, "x"))
                passages.append((seam, len(states) - 1))

            states.append(state_of(other, "x"))
            seams.hook = look
            try:
                session = prepare(sessions.session("x"))
                prepared = len(states) - 1
                passages.clear()
                WORKS[name].perform(session)
            finally:
                seams.hook = None
    return Course(tuple(states), prepared, tuple(passages))
