"""What is replaced or deleted is gone: no 12 bytes in a row of it are in the file, in its index or in its WAL."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st

from eventstore import ImportRow, Message, Session, Sessions
from tests.property.secrets import Secrets, left, split

WHEN = datetime(2020, 1, 2, tzinfo=UTC)


@attrs.define
class World:
    """A store, one of its sessions in turn, and every secret that was ever written to it."""

    sessions: Sessions
    secrets: Secrets
    session: Session
    where: int = 0  # chooses among what there is
    size: int = 0
    numbers: int = 0

    def ids(self) -> list[str]:
        return [info.id for info in self.session.tree()]

    def one(self) -> str:
        ids = self.ids()
        return ids[self.where % len(ids)]

    def some(self) -> list[str]:
        return self.ids()[self.where % 3 :: 1 + self.size % 3]

    def new(self, *parts: dict[str, Any]) -> Message:
        self.numbers += 1
        return self.made(f"m{self.numbers}", *parts)

    def made(self, message_id: str, *parts: dict[str, Any]) -> Message:
        text = {"type": "text", "text": self.secrets.text((1, 3, 40, 300)[self.size % 4])}
        return {"id": message_id, "role": "user", "parts": [text, *parts]}

    def grow(self) -> None:
        for _ in range(5):
            message = self.session.get_message(self.one())
            assert message is not None
            message["parts"][0]["text"] += " " + self.secrets.text((1, 40)[self.size % 2])
            self.session.update_message(message)

    def summarize(self) -> None:
        path = self.session.get_history_row_stats()
        first, last = path[self.where % len(path)], path[-1 - self.size % len(path)]
        if first.seq <= last.seq:
            self.session.add_compaction(self.secrets.word(), first.id, last.id)


STEPS: dict[str, Callable[[World], object]] = {
    "append": lambda w: w.session.append_message(w.new()),
    "append many": lambda w: w.session.append_messages([w.new() for _ in range(20)]),
    "append a branch": lambda w: w.session.append_message(w.new(), parent_id=w.one()),
    "append an image": lambda w: w.session.append_message(w.new(w.secrets.image())),
    "import": lambda w: w.session.import_messages(
        [ImportRow(w.new(w.secrets.image()), parent_id=w.one(), created_at=WHEN)]
    ),
    "update": lambda w: w.session.update_message(w.made(w.one())),
    "update many": lambda w: [w.session.update_message(w.made(each)) for each in w.some()[:10]],
    "update an image": lambda w: w.session.update_message(w.made(w.one(), w.secrets.image())),
    "upsert": lambda w: w.session.upsert_message(w.made(w.one())),
    "grow": World.grow,
    "delete": lambda w: w.session.delete_messages([w.one()]),
    "delete many": lambda w: w.session.delete_messages(w.some()),
    "delete a branch": lambda w: w.session.delete_branch(w.one()),
    "clear": lambda w: w.session.clear_messages(),
    "delete the session": lambda w: w.sessions.delete_session(w.session.session_id),
    "metadata": lambda w: w.session.set_metadata({"title": w.secrets.word()}),
    "summarize": World.summarize,
    "select": lambda w: w.session.select_leaf(w.one()),
    "copy": lambda w: w.session.copy_to(w.sessions.session(f"copy {w.sessions.latest_seq}")),
    "search": lambda w: w.sessions.search("and so on"),
    "rebuild": lambda w: w.sessions.rebuild(),
    "scavenge": lambda w: w.sessions.scavenge(vacuum=bool(w.size % 2)),
}
NEED_NOTHING = {"append", "append many", "append an image", "metadata", "search", "rebuild", "scavenge"}
OFTEN = [name for name in STEPS if name not in ("clear", "delete the session", "delete a branch", "scavenge", "copy")]
_KINDS = st.one_of(st.sampled_from(OFTEN), st.sampled_from(OFTEN), st.sampled_from(list(STEPS)))
_STEPS = st.lists(st.tuples(_KINDS, st.integers(0, 1), st.integers(0, 99), st.integers(0, 11)), max_size=25)


@settings(max_examples=12)
@given(_STEPS, st.sampled_from(("current", "all")), st.booleans(), st.integers(0, 1_000))
def test_nothing_of_it_is_left(
    steps: list[tuple[str, int, int, int]], retain: Literal["current", "all"], close: bool, seed: int
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        files = [path, Path(folder) / "store.db-wal"]
        secrets = Secrets(seed)
        with Sessions(path, retain=retain, durability="normal") as sessions:
            world = World(sessions, secrets, sessions.session())
            for name, session, where, size in [("append many", 0, 0, 1), ("search", 0, 0, 0), *steps]:
                world.session = sessions.session(("a", "b")[session])
                world.where, world.size = where, size
                if name in NEED_NOTHING or world.session.info().messages:
                    STEPS[name](world)
            if retain == "all" or not close:
                sessions.scavenge()
            kept, gone = split(sessions, secrets.given)
            assert close or left(files, gone) == []
            assert sessions.verify().problems == ()
        assert left(files, gone) == []
        assert set(left(files, kept)) == set(kept), "the looking itself is at fault"
