"""A store with a listener and with lists that follow and mirror its sessions: what a machine drives.

Every command returns what the listener heard in it. `Here` is such a store in this process, whichever of the three
faces it has; `elsewhere` has it in another process, behind the same calls.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from eventstore import Event, Message, Session, Sessions
from eventstore.testing import Write, json_text
from projections import follow, mirror
from tests.aio.at_once import at_once
from tests.aio.face import LOOPS, open_faced
from tests.aio.kit import Kit
from tests.processes.races import EXPECTED
from tests.property.steps import NAMES, RESERVED, Nested
from tests.property.test_follow import Followed, follow_all
from tests.unit.talk import message

Lists: TypeAlias = dict[str, list[str]]
"""By session the JSON text of the list that follows it, of the one that shows no summary, and of the mirror."""

Small: TypeAlias = tuple[str, str, tuple[str, str]]
"""(session, verb, (id, text)): an append, an update or an upsert."""

FACES = ("sync", *LOOPS)


class RolledBack(Exception):
    """Ends a transaction that leaves nothing."""


class Hearing:
    """An open store, its listener and its lists, from the event after `after` on. The mirrors are of the whole log."""

    def __init__(self, path: Path, *, read_only: bool, face: str = "sync", after: int = 0) -> None:
        self._stack = ExitStack()
        self._options: dict[str, Any] = {"read_only": read_only, "durability": "normal"}
        self._options["reserved_metadata_keys"] = RESERVED
        self._path = path
        self._face = face
        self._heard: list[Event] = []
        self._open(after)

    def _open(self, after: int) -> None:
        if self._face == "sync":
            self._store: Any = self._stack.enter_context(Sessions(self._path, **self._options))
            self._inner: Callable[[Any], Any] = lambda session: session
            self._on_loop: Callable[[Callable[[], Any]], Any] = lambda call: call()
        else:
            portal, self._store = open_faced(self._face, self._path, **self._options)
            self._stack.callback(portal.close)
            self._stack.callback(self._store.close)
            self._inner = lambda session: session._inner
            self._on_loop = portal.call
        self._store.subscribe(self._heard.append, after=after)
        self.mirrored: dict[str, list[Message]] = {name: [] for name in NAMES}
        self.followed: dict[str, list[Followed]] = {}
        for name in NAMES:
            inner, rows = self._inner(self._store.session(name)), self.mirrored[name]
            self._on_loop(lambda inner=inner, rows=rows: mirror(inner, rows, after=0))  # type: ignore[misc]
            session = self._store.session(name)
            self.followed[name] = [Followed(session, how=self._follow), self._flat(session)]
        self._store.poll()  # a subscription of the async face hears the past in a task of its own

    def _flat(self, session: Session) -> Followed:
        return Followed(session, how=self._follow, compacted=False)

    def _follow(self, session: Any, rows: Any, **options: Any) -> Any:
        inner = self._inner(session)
        following = self._on_loop(lambda: follow(inner, rows, **options))
        return _Refreshed(lambda: self._on_loop(following.refresh), following.close)

    def heard(self) -> list[Event]:
        """What came since this was last asked."""
        heard, self._heard[:] = list(self._heard), []
        return heard

    # -- commands

    def write(self, name: str, history: Sequence[Write]) -> None:
        """Writes to a session, one after the other."""
        for write in history:
            with suppress(*EXPECTED):
                write.apply(self._store.session(name))

    def write_in_tasks(self, small: Sequence[Small]) -> None:
        """Small writes: on a loop a task makes each, while the others wait too."""
        store = self._store if self._face == "sync" else self._store._inner
        calls = [partial(getattr(store.session(name), verb), message(*given)) for name, verb, given in small]
        if self._face == "sync":
            for call in calls:
                call()
        else:
            self._on_loop(lambda: at_once(Kit(self._face), store, calls))

    def transaction(self, tree: Nested) -> None:
        """Several as one, kept or rolled back. Nothing is heard in it."""
        before = len(self._heard)
        with suppress(RolledBack), self._store.transaction():
            for step in tree.steps:
                if isinstance(step, Nested):
                    self.transaction(step)
                else:
                    self.write(step[0], [step[1]])
                assert self._store.poll() == 0
                assert len(self._heard) == before, "an event went out before the commit"
            if not tree.kept:
                raise RolledBack

    def delete_session(self, name: str) -> None:
        self._store.delete_session(name)

    def prune(self) -> None:
        self._store.prune(timedelta())

    def copy_over(self, name: str) -> None:
        """A session is copied, deleted, and copied back."""
        self._store.delete_session("copy")
        self._store.session(name).copy_to(self._store.session("copy"))
        self._store.delete_session(name)
        self._store.session("copy").copy_to(self._store.session(name))

    def copy_path(self, name: str, number: int) -> None:
        """The other session becomes a copy of one path of this one."""
        infos = list(self._store.session(name).tree())
        if infos:
            other = NAMES[1 - NAMES.index(name)]
            self._store.delete_session(other)
            self._store.session(name).copy_to(self._store.session(other), leaf_id=infos[number % len(infos)].id)

    def rebuild(self) -> None:
        self._store.rebuild()

    def scavenge(self) -> None:
        self._store.scavenge()

    def poll(self) -> None:
        """Hears all that is there."""
        self._store.poll()
        assert self._store.poll() == 0

    def watch(self) -> None:
        """As long as something comes, and a little longer."""
        with self._store.watch(interval=0.001):
            seen = -1
            while len(self._heard) > seen:
                seen = len(self._heard)
                time.sleep(0.01)

    def follow_more(self, name: str) -> None:
        """Further lists begin, in every way; of those that began before some end."""
        followed = self.followed[name]
        for each in followed[2:-3]:
            each.following.close()
        followed[2:] = followed[2:][-3:] + follow_all(self._store.session(name), self._follow)

    def spoil_and_refresh(self, name: str, place: int) -> None:
        """The owner writes into followed lists, and has them put right."""
        for each in self.followed[name]:
            each.told[place : place + 2] = each.rows[place : place + 2] = [["mine"]]
            each.following.refresh()

    def reopen(self, after: int) -> None:
        """Ends, and begins anew behind the last event that was heard."""
        self._stack.close()
        self._open(after)

    # -- what is looked at

    def lists(self) -> Lists:
        """The lists, once each is what this store itself reads, and what its changes said."""
        for followed in self.followed.values():
            for each in followed:
                each.check()
        return {
            name: [*(json_text(each.rows) for each in self.followed[name][:2]), json_text(self.mirrored[name])]
            for name in NAMES
        }

    def close(self) -> None:
        self._stack.close()


class _Refreshed:
    def __init__(self, refresh: Callable[[], None], close: Callable[[], None]) -> None:
        self.refresh = refresh
        self.close = close


class Here:
    """The commands by name: called in this thread, or begun in another."""

    def __init__(self, path: Path, **options: Any) -> None:
        self._hearing = Hearing(path, **options)

    def call(self, command: str, *arguments: Any) -> list[Event]:
        """Gives a command, and returns what was heard in it."""
        getattr(self._hearing, command)(*arguments)
        return self._hearing.heard()

    def begin(self, command: str, *arguments: Any) -> Callable[[], list[Event]]:
        """Gives a command in a thread. What it returns waits for the end and returns what was heard."""
        pool = ThreadPoolExecutor(1)
        done = pool.submit(self.call, command, *arguments)
        pool.shutdown(wait=False)
        return lambda: done.result(60)

    def lists(self) -> Lists:
        return self._hearing.lists()

    def close(self) -> None:
        self._hearing.close()
