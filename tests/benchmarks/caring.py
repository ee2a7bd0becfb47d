"""Calls that go over a whole file: checked against one read of it, made anew against writing it, put in order."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import apsw

from eventstore import Sessions
from tests.benchmarks.bench import Bench
from tests.benchmarks.material import messages, opened, raw
from tests.benchmarks.measure import Line, interleave, seconds

MOST = 5  # times the floor
_REPLACED = 2  # every second message


def verify(bench: Bench) -> list[Line]:
    """`verify()` against the same messages read once by `get_history`."""
    number = bench.sizes.history
    with opened(bench.conversations.store(number)) as sessions:
        return [
            interleave(
                f"verify(), {number:,} messages",
                "get_history of them",
                lambda: seconds(sessions.verify),
                lambda: seconds(sessions.session().get_history),
                runs=bench.sizes.few_runs,
                target=MOST,
            )
        ]


def rebuild(bench: Bench) -> list[Line]:
    """`rebuild()` against the same messages appended in one transaction."""
    number = bench.sizes.history
    given = messages(number)

    def write() -> float:
        with opened(bench.folder.new_file()) as sessions:
            return seconds(lambda: sessions.session().append_messages(given))

    with opened(bench.conversations.store(number)) as sessions:
        return [
            interleave(
                f"rebuild(), {number:,} messages",
                "append_messages of them",
                lambda: seconds(sessions.rebuild),
                write,
                runs=bench.sizes.few_runs,
                target=MOST,
            )
        ]


def scavenge(bench: Bench) -> list[Line]:
    """A file with every second message replaced once: what was kept goes, and the file is packed."""
    number = bench.sizes.history
    made = bench.folder.new_file()
    given = messages(number)
    with opened(made, retain="all") as sessions, sessions.transaction():
        session = sessions.session()
        session.append_messages(given)
        for message in given[::_REPLACED]:
            session.update_message({**message, "metadata": {"replaced": True}})
    floor = bench.conversations.raw(number)

    def ours(vacuum: bool) -> float:
        path = _copy(bench, made)
        with opened(path) as sessions:
            return seconds(lambda: sessions.scavenge(vacuum=vacuum))

    def theirs(vacuum: bool) -> float:
        with raw(_copy(bench, floor)) as connection:
            return seconds(lambda: _delete(connection, vacuum))

    return [
        interleave(
            f"scavenge({'vacuum=True' if vacuum else ''}), {number:,} messages, every second one replaced",
            f"DELETE of every second{' and VACUUM' if vacuum else ''}",
            partial(ours, vacuum),
            partial(theirs, vacuum),
            runs=bench.sizes.few_runs,
        )
        for vacuum in (False, True)
    ]


def _copy(bench: Bench, file: Path) -> Path:
    copy = bench.folder.new_file()
    copy.write_bytes(file.read_bytes())
    return copy


def _delete(connection: apsw.Connection, vacuum: bool) -> None:
    connection.pragma("secure_delete", "on")
    connection.execute("DELETE FROM body WHERE seq % 2 = 0")
    if vacuum:
        connection.execute("VACUUM")


def backup(bench: Bench) -> list[Line]:
    """A copy of a store against one of the raw file, both by SQLite's own backup."""
    number = bench.sizes.history
    with (
        opened(bench.conversations.store(number)) as sessions,
        raw(bench.conversations.raw(number)) as connection,
    ):

        def theirs() -> None:
            with (
                apsw.Connection(str(bench.folder.new_file())) as copy,
                copy.backup("main", connection, "main") as all_of,
            ):
                all_of.step()

        def ours(store: Sessions = sessions) -> None:
            store.backup(bench.folder.new_file())

        return [
            interleave(
                f"backup(), {number:,} messages",
                "SQLite's backup of the raw file",
                lambda: seconds(ours),
                lambda: seconds(theirs),
                runs=bench.sizes.few_runs,
            )
        ]
