"""Several stores on one file, in several threads: whoever wrote, who polls has heard all of it, and lists agree."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from eventstore import Appended, Cleared, Deleted, Event, Message, SessionDeleted, Sessions, Updated
from eventstore.testing import Write, json_text, writes
from projections import follow, mirror

STORES = 3  # the last one only reads
NAMES = ("", "other")


class RolledBack(Exception):
    """Ends a transaction that leaves nothing."""


def reduced(events: list[Event]) -> list[Message]:
    """What a mirror makes of a log, the plain way."""
    rows: list[Message] = []
    for event in events:
        match event:
            case Appended(erased=False, message=message) | Updated(erased=False, message=message):
                places = [place for place, row in enumerate(rows) if row["id"] == message["id"]]
                if places:
                    rows[places[0]] = message
                elif isinstance(event, Appended):
                    rows.append(message)
            case Deleted(message_ids=message_ids):
                rows = [row for row in rows if row["id"] not in message_ids]
            case Cleared() | SessionDeleted():
                rows = []
            case _:
                pass
    return rows


class Hearing:
    """A store with a listener, and with two lists for each session."""

    def __init__(self, path: Path, *, read_only: bool) -> None:
        self.store = Sessions(path, read_only=read_only, durability="normal")
        self.heard: list[Event] = []
        self.store.subscribe(self.heard.append)
        self.followed: dict[str, list[Message]] = {name: [] for name in NAMES}
        self.mirrored: dict[str, list[Message]] = {name: [] for name in NAMES}
        self._last = 0
        for name in NAMES:
            mirror(self.store.session(name), self.mirrored[name])
            follow(self.store.session(name), self.followed[name])

    def check(self, kept: Callable[[int], bool]) -> None:
        """That it has heard the log, and that its lists are right. `kept`: whether an event's own body is kept."""
        new = [event for event in self.heard if not (isinstance(event, Appended) and not event.inserted)]
        del self.heard[:]
        log = list(self.store.events(after=self._last))
        self._last = self.store.latest_seq
        assert [(event.seq, event.type, event.session_id) for event in new] == [
            (event.seq, event.type, event.session_id) for event in log
        ]
        for heard, logged in zip(new, log, strict=True):
            if kept(logged.seq):
                assert json_text(heard.to_dict()) == json_text(logged.to_dict())
        for name in NAMES:
            session = self.store.session(name)
            assert json_text(self.followed[name]) == json_text(session.get_history())
            assert json_text(self.mirrored[name]) == json_text(reduced(list(session.events())))


class SharedFileMachine(RuleBasedStateMachine):
    """Any store writes, in any thread; any polls, whenever it likes."""

    @initialize(keeps_all=st.booleans())
    def open(self, keeps_all: bool) -> None:
        self.keeps_all = keeps_all
        self.copied: set[int] = set()  # events that copies logged: a version that was replaced is copied without body
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "store.db"
        Sessions(path, retain="all" if keeps_all else "current").close()
        self.stores = [Hearing(path, read_only=number == STORES - 1) for number in range(STORES)]

    def teardown(self) -> None:
        for each in self.stores:
            each.store.close()
        self.folder.cleanup()

    def kept(self, seq: int) -> bool:
        """Whether the body of an event was stored and stays."""
        return self.keeps_all and seq not in self.copied

    writers = st.integers(0, STORES - 2)
    names = st.sampled_from(NAMES)

    @rule(number=writers, name=names, history=writes(max_size=4), in_thread=st.booleans())
    def write(self, number: int, name: str, history: list[Write], in_thread: bool) -> None:
        hearing = self.stores[number]

        def work() -> None:
            for write in history:
                write.apply(hearing.store.session(name))

        if in_thread:
            _in_thread(work)
        else:
            work()

    @rule(number=writers, name=names, history=writes(min_size=1, max_size=4), kept=st.booleans())
    def transaction(self, number: int, name: str, history: list[Write], kept: bool) -> None:
        store = self.stores[number].store
        with suppress(RolledBack), store.transaction():
            for write in history:
                write.apply(store.session(name))
            assert store.poll() == 0
            if not kept:
                raise RolledBack

    @rule(number=writers, name=names)
    def delete_session(self, number: int, name: str) -> None:
        self.stores[number].store.delete_session(name)

    @rule(number=writers, name=names)
    def copy(self, number: int, name: str) -> None:
        store = self.stores[number].store
        before = store.latest_seq
        store.session(name).copy_to(store.session("copy"))
        store.delete_session(name)
        store.session("copy").copy_to(store.session(name))
        store.delete_session("copy")
        self.copied.update(range(before + 1, store.latest_seq + 1))

    @rule(number=writers)
    def rebuild(self, number: int) -> None:
        self.stores[number].store.rebuild()

    @rule(number=st.integers(0, STORES - 1), in_thread=st.booleans())
    def poll(self, number: int, in_thread: bool) -> None:
        hearing = self.stores[number]
        if in_thread:
            _in_thread(hearing.store.poll)
        else:
            hearing.store.poll()
        hearing.check(self.kept)
        assert hearing.store.poll() == 0

    @rule()
    def write_at_once(self) -> None:
        """Both writers in threads, while the reader is watched for."""
        reader = self.stores[-1].store
        with reader.watch(interval=0.001):
            threads = [
                threading.Thread(target=_appends, args=(each.store, n)) for n, each in enumerate(self.stores[:-1])
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        reader.poll()
        self.stores[-1].check(self.kept)


def _appends(store: Sessions, number: int) -> None:
    for turn in range(3):
        message: Any = {"id": f"{number}.{turn}.{store.latest_seq}", "role": "user", "parts": []}
        store.session().append_message(message)
        store.session().delete_messages([message["id"]][turn:])


def _in_thread(work: Callable[[], object]) -> None:
    errors: list[BaseException] = []

    def noted() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)
            raise

    thread = threading.Thread(target=noted)
    thread.start()
    thread.join()
    assert not errors


TestSharedFile = SharedFileMachine.TestCase
TestSharedFile.settings = settings(max_examples=20, stateful_step_count=25)
