"""A store keeps the heads of the sessions that it wrote last. What another connection commits, a rebuild, and what is
rolled back must each make it look again: every way to change a head behind a store's back is one case here."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import apsw
import pytest

from eventstore import (
    EventStoreError,
    LeafChanged,
    Session,
    Sessions,
    StoreFull,
    UnknownMessage,
    driver,
    schema,
    seams,
    totals,
)
from eventstore.heads import KeptHeads
from tests.keeping import Stale, Uses, watch, watched_places
from tests.processes.kept import SHORT_TAIL, Keeper, interrupts
from tests.unit.files import put_back
from tests.unit.talk import ids, message

Change = Callable[[Sessions, Path], object]


class Stopped(BaseException):
    """Raised in the midst of a write."""


@contextmanager
def undone(store: Sessions) -> Iterator[None]:
    """A transaction, or a part of one, that is rolled back."""
    with suppress(Stopped), store.transaction():
        yield
        raise Stopped


def append_two(session: Session) -> None:
    for _ in range(2):
        session.append_message(message(f"{session.sessions.latest_seq} of {id(session)}"))


# ---- what others commit


def elsewhere(write: Callable[[Session], object]) -> Change:
    """Something that another store on the file does to the session."""

    def change(store: Sessions, path: Path) -> None:
        with Sessions(path) as other:
            write(other.session())

    return change


def by_connection(write: Callable[[apsw.Connection], object]) -> Change:
    """Something that a connection does to the file that is no store's."""

    def change(store: Sessions, path: Path) -> None:
        with closing(driver.open_writer(str(path), 1.0)) as connection:
            write(connection)

    return change


def _branch(session: Session) -> None:
    session.append_message(message("theirs"), parent_id="first")
    session.select_leaf("first")


def _begin_the_wal_anew(store: Sessions, path: Path) -> None:
    with Sessions(path) as other:
        append_two(other.session())
        assert other._store.database._writer is not None
        other._store.database._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
        append_two(other.session())


def _put_back(store: Sessions, path: Path) -> None:
    older = path.with_name("older.db")
    store.backup(older)
    append_two(store.session())
    put_back(older, path)


def _write_attached(store: Sessions, path: Path) -> None:
    with closing(apsw.Connection(":memory:")) as connection:
        connection.execute("ATTACH ? AS theirs", (str(path),))
        connection.execute("UPDATE theirs.head SET updated_at = 1")  # the next write puts it right


def _migrate(connection: apsw.Connection) -> None:
    with connection:
        connection.execute("UPDATE head SET updated_at = 1")
        schema.migrate(connection, schema.VERSION)  # type: ignore[arg-type]


def _damage(path: Path) -> None:
    by_connection(lambda connection: connection.execute("UPDATE head SET messages = 1000"))(None, path)  # type: ignore[arg-type]


def _damage_and_rebuild(store: Sessions, path: Path) -> None:
    _damage(path)
    store.session().append_message(message("on damage"))
    store.rebuild()


def _damage_and_rebuild_elsewhere(store: Sessions, path: Path) -> None:
    _damage(path)
    store.session().append_message(message("on damage"))
    with Sessions(path) as other:
        other.rebuild()


def _while_one_reads(store: Sessions, path: Path) -> None:
    with closing(driver.open_reader(str(path), 1.0)) as reader:
        driver.fetch(reader, "BEGIN")
        driver.fetch(reader, "SELECT * FROM head")
        append_two(store.session())
        elsewhere(append_two)(store, path)
        append_two(store.session())


OF_A_FILE: dict[str, Change] = {
    "an append": elsewhere(append_two),
    "a branch": elsewhere(_branch),
    "a delete": elsewhere(lambda s: s.delete_messages(["first"])),
    "a delete of the leaf": elsewhere(lambda s: s.delete_messages(["second"])),
    "a clear": elsewhere(lambda s: s.clear_messages()),
    "a deleted session": elsewhere(lambda s: s.sessions.delete_session(s.session_id)),
    "metadata": elsewhere(lambda s: s.set_metadata({"title": "theirs"})),
    "another session": elsewhere(lambda s: append_two(s.sessions.session("theirs"))),
    "a scavenge": elsewhere(lambda s: s.sessions.scavenge(vacuum=True)),
    "a search": elsewhere(lambda s: s.search("anything")),
    "a WAL that begins anew": _begin_the_wal_anew,
    "an emptied WAL": by_connection(lambda c: c.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)),
    "a VACUUM": by_connection(lambda c: c.execute("VACUUM")),
    "a migration": by_connection(_migrate),
    "an attached file": _write_attached,
    "an older state": _put_back,
    "a reader": _while_one_reads,
    "a rebuild of damage": _damage_and_rebuild,
    "a rebuild of damage elsewhere": _damage_and_rebuild_elsewhere,
    "a backup": lambda store, path: store.backup(path.with_name("backup.db")),
}


# ---- what the store itself does


def _undo(store: Sessions, path: Path) -> None:
    with undone(store):
        store.session().delete_messages(["first"])
        append_two(store.session())


def _undo_a_part(store: Sessions, path: Path) -> None:
    with store.transaction():
        append_two(store.session())
        with undone(store):
            append_two(store.session())
        append_two(store.session())


def _undo_what_was_released(store: Sessions, path: Path) -> None:
    with store.transaction():
        append_two(store.session())
        with undone(store):
            with store.transaction():
                append_two(store.session())
            append_two(store.session("other"))
        append_two(store.session())


def _refuse(store: Sessions, path: Path) -> None:
    with pytest.raises(LeafChanged):
        store.session().append_messages([message("lost"), message("lost too")], expected_leaf="first")


def _release_fails(depth: int) -> Change:
    """A commit, or a savepoint's end, that fails."""

    def change(store: Sessions, path: Path) -> None:
        release = driver.release

        def fail(connection: driver.Connection, at: int) -> None:
            if at == depth:
                raise apsw.FullError("it was full")
            release(connection, at)

        with patch.object(driver, "release", fail), pytest.raises(StoreFull), store.transaction():
            append_two(store.session())

    return change


def _release_fails_in_part(store: Sessions, path: Path) -> None:
    """The end of a savepoint fails, and the transaction goes on."""
    with store.transaction():
        append_two(store.session())
        _release_fails(1)(store, path)
        append_two(store.session())
    assert store.session().info().messages == 6


def _stop_at(seam: str, *, in_transaction: bool) -> Change:
    def stop(passed: str) -> None:
        if passed == seam:
            raise Stopped

    def write(store: Sessions) -> None:
        seams.hook = stop
        try:
            with suppress(Stopped):
                store.session().append_messages([message("stopped"), message("stopped too")])
        finally:
            seams.hook = None

    def change(store: Sessions, path: Path) -> None:
        if not in_transaction:
            write(store)
            return
        with store.transaction():
            append_two(store.session())
            write(store)
            append_two(store.session())

    return change


def _lose(store: Sessions, path: Path) -> None:
    """SQLite rolls a transaction back by itself, as when the disk fails at a read in it."""
    with pytest.raises(StoreFull), store.transaction():  # noqa: PT012
        append_two(store.session())
        assert store._store.database._writer is not None
        store._store.database._writer.execute("ROLLBACK")
        with pytest.raises(StoreFull):
            append_two(store.session())
        with pytest.raises(StoreFull):
            store.session().get_history()


def _rollback_fails(store: Sessions, path: Path) -> None:
    """The disk fails as a savepoint is rolled back, and SQLite rolls the whole transaction back."""

    def fail(connection: driver.Connection, depth: int) -> None:
        connection.execute("ROLLBACK")
        raise apsw.IOError("it was torn")

    with pytest.raises(StoreFull), store.transaction():  # noqa: PT012
        append_two(store.session())
        with patch.object(driver, "roll_back", fail), pytest.raises(EventStoreError):
            _refuse(store, path)
        append_two(store.session())


OF_ANY: dict[str, Change] = {
    "undone": _undo,
    "undone in part": _undo_a_part,
    "undone behind a release": _undo_what_was_released,
    "refused": _refuse,
    "a commit that fails": _release_fails(0),
    "a savepoint's end that fails": _release_fails_in_part,
    "lost": _lose,
    "a rollback that fails": _rollback_fails,
    "rebuilt": lambda store, path: store.rebuild(),
    "scavenged": lambda store, path: store.scavenge(vacuum=True),
    "searched": lambda store, path: store.session().search("anything"),
    "verified": lambda store, path: store.verify(),
    "looked back": lambda store, path: store.at(1).close(),
    **{f"stopped at {seam}": _stop_at(seam, in_transaction=False) for seam in seams.SEAMS},
    **{f"stopped at {seam}, in a transaction": _stop_at(seam, in_transaction=True) for seam in seams.SEAMS},
}


def check(store: Sessions, path: Path, change: Change) -> Uses:
    """Writes, and goes on behind the change."""
    uses = watch(store)
    session = store.session()
    session.append_message(message("first"))
    session.append_message(message("second"))
    change(store, path)
    before = store.latest_seq
    assert session.append_message(message("third")).seq == before + 1
    session.append_messages([message("fourth"), message("fifth")])
    with store.transaction():
        session.append_message(message("sixth"))
        session.update_message(message("third", "changed"))
    assert session.append_message(message("seventh")).seq == before + 6
    assert store.verify().problems == ()
    return uses


@pytest.mark.parametrize("name", [*OF_A_FILE, *OF_ANY])
def test_a_write_begins_with_the_head_that_is_there(name: str, tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Sessions(path, durability="normal") as store:
        assert check(store, path, {**OF_A_FILE, **OF_ANY}[name]).heads >= 3


@pytest.mark.parametrize("name", OF_ANY)
def test_so_it_does_in_memory(name: str, tmp_path: Path) -> None:
    with Sessions(":memory:") as store:
        assert check(store, tmp_path, OF_ANY[name]).heads >= 3


def test_a_write_that_waited_for_another_begins_with_what_that_one_left(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Sessions(path, durability="normal") as store, Sessions(path, durability="normal") as other:
        watch(store)
        append_two(store.session())
        wrong: list[Exception] = []

        def write() -> None:
            try:
                append_two(store.session())
            except Exception as error:  # noqa: BLE001
                wrong.append(error)

        waiting = threading.Thread(target=write)
        with other.transaction():
            append_two(other.session())
            waiting.start()
            time.sleep(0.05)
            assert waiting.is_alive()
        waiting.join()
        assert wrong == []
        assert store.verify().problems == ()


def test_many_sessions_in_turn(tmp_path: Path) -> None:
    with Sessions(tmp_path / "store.db", durability="normal") as store:
        for turn in range(3):
            for number in range(150):  # more than are kept
                store.session(f"{number}").append_message(message(f"{turn}"))
        assert {told.messages for told in store.list_sessions()} == {3}
        assert store.verify().problems == ()


@pytest.mark.parametrize("stores", [1, 3])
def test_nothing_that_is_kept_is_stale(stores: int, tmp_path: Path) -> None:
    """All verbs, undone, refused and interrupted, on a store in memory and on three that share a file."""
    place: Any = ":memory:" if stores == 1 else tmp_path / "store.db"
    opened = [Sessions(place, durability="normal") for _ in range(stores)]
    uses = [watch(each) for each in opened]
    keepers = [Keeper(each, f"{n}", 0, None if stores == 1 else place) for n, each in enumerate(opened)]
    with patch.object(totals, "TAIL", SHORT_TAIL), watched_places(), interrupts(0, 0.01) as struck:
        for step in range(240):
            keepers[step // 3 % stores].step()
    assert len(struck) == len(seams.SEAMS)
    for each, kept in zip(opened, uses, strict=True):
        assert min(kept.heads, kept.totals, kept.texts) > 0, kept
        assert each.verify().problems == ()
        each.close()


STEPS: dict[str, Callable[[Session], object]] = {
    "append": lambda session: session.append_message(message(f"{session.sessions.latest_seq}")),
    "branch": lambda session: session.append_message(message(f"{session.sessions.latest_seq}"), parent_id="first"),
    "select": lambda session: session.select_leaf("first"),
    "delete": lambda session: session.delete_messages([leaf["id"] for leaf in [session.get_latest_leaf()] if leaf]),
}


@pytest.mark.parametrize("together", [False, True], ids=["one by one", "in a transaction"])
def test_an_append_comes_right_behind_the_active_leaf_however_that_became_it(together: bool) -> None:
    """Every course of three steps. Where something follows that leaf, it opens a branch."""
    with Sessions() as store:
        for steps in product(STEPS, repeat=3):
            session = store.session(" ".join(steps))
            with store.transaction() if together else nullcontext():
                session.append_messages([message("first"), message("second")])
                for name in steps:
                    with suppress(UnknownMessage):
                        STEPS[name](session)
                before = ids(session.get_history())
                session.append_message(message("last"))
                assert ids(session.get_history()) == [*before, "last"], steps
        assert store.verify().problems == ()


def test_what_is_stale_is_found(tmp_path: Path) -> None:
    """The comparison itself: of a store that never forgets, it finds what a rollback left."""
    with (
        Sessions(tmp_path / "store.db", durability="normal") as store,
        patch.object(KeptHeads, "forget", lambda _heads: None),
        pytest.raises(Stale),
    ):
        check(store, tmp_path, _undo)


def test_a_leaf_taken_for_the_last_of_its_chain_is_found(tmp_path: Path) -> None:
    """The comparison in the midst of a write itself."""
    with Sessions(tmp_path / "store.db", durability="normal") as store:
        session = store.session()
        append_two(session)
        session.select_leaf(session.get_history()[0]["id"])
        (head,) = store._store.heads._heads.values()
        head.ends_chain = True
        with watched_places(), pytest.raises(Stale):
            session.append_message(message("third"))
