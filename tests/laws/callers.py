"""A caller's code in every form that a call can be given: functions, generators, mappings, lists, files."""

from __future__ import annotations

import io
from collections import UserList
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from eventstore import (
    Event,
    ImportRow,
    Session,
    Sessions,
)
from eventstore.exchange import jsonl
from tests.laws.verbs import WHEN, message, prepare


class World:
    """A store with a prepared session, and a caller's code in it: `here`, which does `act` at its call number `at`."""

    def __init__(self, folder: Path, options: Callable[[World], dict[str, Any]] = lambda _: {}) -> None:
        self.folder = folder
        self.path = folder / "store.db"
        self.act: Callable[[], object] | None = None
        self.at = 1
        self.calls = 0
        self.heard: list[Event] = []
        self._number = 0
        self._options = options
        self.open()

    def open(self) -> None:
        """Opens the store, and listens to what is written from now on."""
        self.sessions = Sessions(self.path, durability="normal", **self._options(self))
        self.first = self.sessions.latest_seq
        self.heard.clear()
        self.sessions.subscribe(self._hear)
        self.begin_anew()

    def begin_anew(self) -> None:
        """Another session like the first one: the others stay, and what may be wrong in them."""
        self.arm(None)
        self.session = prepare(self.other())
        self.session.append_messages([message(f"n{n}") for n in range(8)])
        self.arm(None)

    def _hear(self, event: Event) -> None:
        self.heard.append(event)

    def arm(self, act: Callable[[], object] | None, at: int = 1) -> None:
        """From now on, the call number `at` of `here` does `act`."""
        self.act, self.at, self.calls = act, at, 0

    def here(self, *_: object) -> None:
        """The caller's code. It may be called in the midst of what it does."""
        self.calls += 1
        if self.act is not None and self.calls == self.at:
            self.act()

    def new(self, kind: str = "new") -> str:
        """A name that wasn't used before."""
        self._number += 1
        return f"{kind}{self._number}"

    def new_path(self) -> Path:
        """A file that isn't there."""
        return self.folder / self.new("file")

    def other(self) -> Session:
        """A session that is empty."""
        return self.sessions.session(self.new("session"))

    # ---- what a caller gives

    def giving(self, answer: Any) -> Callable[..., Any]:
        """A function that gives always the same."""

        def function(*_: object) -> Any:
            self.here()
            return answer

        return function

    def same(self, given: Any) -> Any:
        """A function that gives what it is given."""
        self.here()
        return given

    def each(self, given: Iterable[Any]) -> Iterator[Any]:
        """A generator: its code runs before each thing, and behind the last."""
        for one in given:
            self.here()
            yield one
        self.here()

    def mapping(self, message_id: str | None = None, **fields: Any) -> Mapping[str, Any]:
        """A message whose class is the caller's."""
        return CallersMapping(self, {**message(message_id or self.new(), "another"), **fields})

    def rows(self) -> list[ImportRow]:
        """Five rows of three batches, the first of which waits for the second."""
        ids = [self.new() for _ in range(5)]
        parents = [ids[1], None, *ids[1:4]]
        return [ImportRow(message(id), parent_id=up, created_at=WHEN) for id, up in zip(ids, parents, strict=True)]

    def exported(self) -> Path:
        """A file of our own, with one session that isn't there."""
        path = self.new_path()
        with Sessions() as aside:
            prepare(aside.session(self.new("session")))
            with path.open("wb") as file:
                jsonl.export(aside, None, file)
        return path


class CallersMapping(Mapping[str, Any]):
    """Runs the caller's code at every look at it."""

    def __init__(self, world: World, given: Mapping[str, Any]) -> None:
        self._world, self._given = world, given

    def _look(self) -> Mapping[str, Any]:
        self._world.here()
        return self._given

    def __getitem__(self, key: str) -> Any:
        return self._look()[key]

    def get(self, key: str, default: Any = None) -> Any:
        return self._look().get(key, default)

    def __contains__(self, key: object) -> bool:
        return key in self._look()

    def __iter__(self) -> Iterator[str]:
        return iter(self._look())

    def __len__(self) -> int:
        return len(self._look())


class CallersList(UserList[Any]):
    """Runs the caller's code at every change."""

    def __init__(self, world: World, entries: Iterable[Any] = ()) -> None:
        super().__init__(entries)
        self._world = world

    def append(self, item: Any) -> None:
        self._world.here()
        super().append(item)

    def __setitem__(self, place: Any, item: Any) -> None:
        self._world.here()
        super().__setitem__(place, item)

    def __delitem__(self, place: Any) -> None:
        self._world.here()
        super().__delitem__(place)

    def clear(self) -> None:
        self._world.here()
        super().clear()


class CallersFile(io.BytesIO):
    """Runs the caller's code at every write."""

    world: World

    def write(self, data: Any) -> int:
        self.world.here()
        return super().write(data)
