"""Writes of several tasks in one transaction: one commit, and each gets what it would have got alone."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventstore import (
    AppendResult,
    AsyncSessions,
    CannotOpen,
    CompactResult,
    Event,
    InvalidMessage,
    LeafChanged,
    Message,
    Sessions,
    StoreBusy,
    UnknownMessage,
)
from eventstore.aio import groups
from tests.aio.at_once import Call, at_once, commits, slow_groups  # noqa: F401 - a fixture
from tests.aio.cancelled_blocks import can_be_written
from tests.aio.face import LOOPS, run_on
from tests.aio.kit import Kit
from tests.crash.disk import Disk, failing_syncs
from tests.crash.test_failed_commits import what_a_crash_leaves
from tests.laws.support import reads
from tests.processes.running import running
from tests.unit.talk import Heard, ids, message

on_both = pytest.mark.parametrize("loop", LOOPS)
pytestmark = pytest.mark.usefixtures("slow_groups")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def appends(sessions: AsyncSessions, count: int, text: str = "") -> list[Call]:
    """Appends to one session, m0 and so on."""
    return [partial(sessions.session().append_message, message(f"m{number}", text)) for number in range(count)]


# ---- one commit


@on_both
def test_writes_that_wait_together_are_committed_once_and_before_any_returns(loop: str, path: Path) -> None:
    kit = Kit(loop)

    async def main() -> None:
        async with AsyncSessions(path) as sessions:
            with Sessions(path) as others:
                heard = Heard()
                sessions.subscribe(heard)
                await sessions.session().append_messages([message("a"), message("b")])

                async def checked(call: Call, seq: int) -> None:
                    await call()
                    assert others.latest_seq == 6, "it returned before its commit"
                    assert seq in heard.seqs, "it returned before its event was delivered"

                session = sessions.session()
                calls: list[Call] = [
                    partial(session.append_message, message("c")),
                    partial(sessions.session("other").append_message, message("c")),
                    partial(session.update_message, message("a", "new")),
                    partial(session.upsert_message, message("b", "new")),
                ]
                with commits() as committed:
                    await at_once(kit, sessions, [partial(checked, call, 3 + n) for n, call in enumerate(calls)])
                assert len(committed) == 1
                assert heard.seqs == [1, 2, 3, 4, 5, 6]
                assert ids(others.session("other").get_history()) == ["c"]

    run_on(loop, main)


@on_both
def test_a_group_is_no_larger_and_no_longer_than_allowed(
    loop: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit = Kit(loop)

    async def main() -> None:
        async with AsyncSessions(path) as sessions:
            with commits() as committed:
                results = await at_once(kit, sessions, appends(sessions, groups.MOST + 2))
            assert len(committed) == 2
            assert [result.seq for result in results] == list(range(1, groups.MOST + 3))
            monkeypatch.setattr(groups, "SECONDS", 0)
            with commits() as committed:
                await at_once(kit, sessions, appends(sessions, 1) * 3 + appends(sessions.session("x").sessions, 3))
            assert len(committed) == 3

    run_on(loop, main)


@on_both
def test_whatever_is_more_than_one_transaction_or_long_is_in_no_group(loop: str, path: Path) -> None:
    kit = Kit(loop)

    async def main() -> None:
        async with AsyncSessions(path) as sessions:
            session = sessions.session()

            async def transact() -> None:
                async with sessions.transaction():
                    await session.append_message(message("t1"))
                    await session.append_message(message("t2"))

            calls: list[Call] = [
                *appends(sessions, 2),
                partial(session.append_messages, [message("b1"), message("b2")]),
                transact,
                partial(session.delete_messages, ["m0"]),
                partial(session.append_message, message("last")),
            ]
            with commits() as committed:
                await at_once(kit, sessions, calls)
            assert len(committed) == 5  # the first two are one
            assert ids(await session.get_history()) in (
                ["m1", "b1", "b2", "t1", "t2", "last"],
                ["m1", "b1", "b2", "last", "t1", "t2"],  # a transaction has a way to go before it waits
            )

    run_on(loop, main)


# ---- what fails


@on_both
def test_one_that_is_refused_is_rolled_back_alone(loop: str, path: Path) -> None:
    kit = Kit(loop)

    async def main() -> None:
        async with AsyncSessions(path, reserved_metadata_keys=["kept"]) as sessions:
            session, heard = sessions.session(), Heard()
            sessions.subscribe(heard)
            broken: Any = {"id": "no role"}
            calls: list[Call] = [
                partial(session.append_message, message("a")),
                partial(session.append_message, broken),
                partial(session.append_message, message("b"), expected_leaf="a"),
                partial(session.append_message, message("c"), expected_leaf="a"),
                partial(session.append_message, message("d"), parent_id="nobody"),
                partial(session.update_message, message("nobody")),
                partial(session.append_message, message("a")),
                partial(session.append_message, message("e"), expected_leaf="b"),
            ]
            with commits() as committed:
                results = await at_once(kit, sessions, calls)
            assert len(committed) == 1
            kinds = [AppendResult, InvalidMessage, AppendResult, LeafChanged, UnknownMessage]
            assert [type(each) for each in results] == [*kinds, type(None), AppendResult, AppendResult]
            assert [each.seq for each in results if isinstance(each, AppendResult)] == [1, 2, None, 3]
            assert (results[3].expected, results[3].actual) == ("a", "b")
            assert heard.seqs == [1, 2, 2, 3]  # one of them was repeated
            assert ids(await session.get_history()) == ["a", "b", "e"]
            assert (await sessions.verify()).ok

    run_on(loop, main)


@on_both
@pytest.mark.parametrize("fails", ["an error", "the interpreter"])
def test_where_a_hook_fails_each_is_run_alone(loop: str, path: Path, fails: str) -> None:
    kit = Kit(loop)
    raised = ValueError if fails == "an error" else SystemExit

    def count_tokens(each: Message) -> int:
        if each["id"] == "m1":
            raise raised("no")
        return 1

    async def main() -> None:
        async with AsyncSessions(path, count_tokens=count_tokens) as sessions:
            heard = Heard()
            sessions.subscribe(heard)
            told: list[BaseException] = []

            async def caught(call: Call) -> None:
                try:
                    await call()
                except (ValueError, SystemExit) as error:
                    told.append(error)

            with commits() as committed:
                await at_once(kit, sessions, [partial(caught, call) for call in appends(sessions, 4)])
            assert len(committed) == 2  # the first, alone, and the last two
            assert [type(each) for each in told] == [raised]
            assert heard.seqs == [1, 2, 3]
            assert ids(await sessions.session().get_history()) == ["m0", "m2", "m3"]

    run_on(loop, main)


@on_both
@pytest.mark.parametrize(("failures", "lost"), [(1, 0), (3, 1), (99, 4)])  # of the commit, and of what undoes it
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_group_whose_commit_fails_is_undone_and_each_is_tried_alone(
    loop: str, path: Path, failures: int, lost: int
) -> None:
    kit = Kit(loop)

    async def main(disk: Disk) -> None:
        async with AsyncSessions(path) as sessions:
            heard = Heard()
            sessions.subscribe(heard)
            await sessions.session().append_message(message("a"))
            disk.before = failing_syncs(failures)
            results = await at_once(kit, sessions, appends(sessions, 4, "x" * 3_000))
            disk.before = None
            assert [type(each) for each in results] == [CannotOpen] * lost + [AppendResult] * (4 - lost)
            stored = ["a", *(f"m{number}" for number in range(lost, 4))]
            assert ids(await sessions.session().get_history()) == what_a_crash_leaves(path) == stored
            assert heard.seqs == list(range(1, len(stored) + 1))
            await sessions.session().append_message(message("b"))
            assert what_a_crash_leaves(path) == [*stored, "b"]

    with Disk() as disk:
        run_on(loop, partial(main, disk))


@on_both
def test_a_store_that_is_full_is_full_for_who_has_no_room(loop: str, path: Path) -> None:
    kit = Kit(loop)

    async def main() -> None:
        async with AsyncSessions(path) as sessions:
            heard = Heard()
            sessions.subscribe(heard)
            await sessions.session().append_message(message("a"))
            writer = sessions._store.sessions._store.database._writer
            assert writer is not None
            pages = writer.pragma("page_count")
            writer.pragma("max_page_count", pages + 8)
            calls = [
                partial(sessions.session().append_message, message(name, text))
                for name, text in (("small", ""), ("large", "x" * 60_000), ("last", ""))
            ]
            results = await at_once(kit, sessions, calls)
            assert [type(each).__name__ for each in results] == ["AppendResult", "StoreFull", "AppendResult"]
            assert ids(await sessions.session().get_history()) == ["a", "small", "last"]
            assert heard.seqs == [1, 2, 3]

    run_on(loop, main)


@on_both
def test_where_another_writer_keeps_the_store_all_wait_together(loop: str, path: Path) -> None:
    kit = Kit(loop)
    timeout = 0.3

    async def main() -> None:
        async with AsyncSessions(path, busy_timeout=timeout) as sessions:
            other = apsw.Connection(str(path))
            other.execute("BEGIN IMMEDIATE")
            broken: Any = {"id": "no role"}
            calls: list[Call] = [*appends(sessions, 8), partial(sessions.session().append_message, broken)]
            begin = time.monotonic()
            results = await at_once(kit, sessions, calls)
            assert timeout <= time.monotonic() - begin < timeout * 8  # what each alone takes
            other.execute("ROLLBACK")
            assert [type(each) for each in results] == [StoreBusy] * 8 + [InvalidMessage]
            assert len(set(map(id, results))) == 9  # each has its own, with the lines where it was raised
            other.execute("BEGIN IMMEDIATE")
            begin = time.monotonic()
            with pytest.raises(StoreBusy):
                await sessions.session().append_message(message("b"))
            assert time.monotonic() - begin >= timeout  # and the next waits as ever
            other.execute("ROLLBACK")
            await at_once(kit, sessions, appends(sessions, 3))
            assert ids(await sessions.session().get_history()) == ["m0", "m1", "m2"]

    run_on(loop, main)


@on_both
def test_who_comes_while_others_wait_for_another_writer_waits_as_long_as_they(loop: str, path: Path) -> None:
    kit = Kit(loop)

    async def main() -> None:
        async with AsyncSessions(path, busy_timeout=1.0) as sessions:
            other = apsw.Connection(str(path))
            other.execute("BEGIN IMMEDIATE")

            async def late() -> None:
                await kit.sleep(0.5)
                assert (await sessions.session().append_message(message("late"))).inserted

            async def early() -> None:
                results = await at_once(kit, sessions, appends(sessions, 4))
                assert [type(each) for each in results] == [StoreBusy] * 4
                other.execute("ROLLBACK")

            await kit.together(early, late)
            assert ids(await sessions.session().get_history()) == ["late"]

    run_on(loop, main)


@on_both
def test_where_another_writer_comes_before_the_second_try_all_wait_together(loop: str, path: Path) -> None:
    kit = Kit(loop)
    timeout = 0.3
    others: list[apsw.Connection] = []

    def count_tokens(each: Message) -> int:
        if each["id"] == "m5" and not others:
            raise ValueError
        return 1

    def rolled_back(rolls_back: Callable[[int, BaseException], None], outer: int, error: BaseException) -> None:
        rolls_back(outer, error)
        if not others and not outer:
            others.append(apsw.Connection(str(path)))
            others[0].execute("BEGIN IMMEDIATE")

    async def main() -> None:
        async with AsyncSessions(path, busy_timeout=timeout, count_tokens=count_tokens) as sessions:
            store = sessions._store.sessions._store
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(store, "end_all", partial(rolled_back, store.end_all))
                begin = time.monotonic()
                results = await at_once(kit, sessions, appends(sessions, 8))
            assert timeout <= time.monotonic() - begin < timeout * 8  # what each alone takes
            assert [type(each) for each in results] == [StoreBusy] * 8
            others[0].close()
            results = await at_once(kit, sessions, appends(sessions, 8))
            assert [each.seq for each in results] == list(range(1, 9))

    run_on(loop, main)


KILLED = """
import asyncio, signal, threading
from eventstore import seams
from eventstore.aio import groups

groups.SECONDS = 60
left = {"applied": 5}

def die(name):
    if name == sys.argv[2]:
        left[name] = left.get(name, 1) - 1
        if not left[name]:
            os.kill(os.getpid(), signal.SIGKILL)

async def main():
    async with AsyncSessions(sys.argv[1]) as sessions:
        gate = threading.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(sessions._store.run_write(gate.wait))
            for number in range(5):
                group.create_task(sessions.session().append_message(message(f"m{number}")))
            await asyncio.sleep(0.05)
            seams.hook = die
            gate.set()

asyncio.run(main())
"""


@pytest.mark.parametrize(("seam", "stored"), [("applied", 0), ("committed", 5)])
def test_a_group_that_is_killed_is_there_whole_or_not_at_all(path: Path, seam: str, stored: int) -> None:
    with running(KILLED, path, seam) as process:
        assert process.wait(60) == -9
    with Sessions(path) as sessions:
        assert ids(sessions.session().get_history()) == [f"m{number}" for number in range(5)][:stored]
        assert sessions.verify().ok


# ---- who is cancelled


@on_both
@pytest.mark.parametrize("who", [0, 1, 2])
def test_cancelled_in_a_group_it_is_whole_and_heard_or_never_begun(loop: str, path: Path, who: int) -> None:
    """The second of three is at work: the first and it are in the group, the third is not yet."""
    kit = Kit(loop)
    at_work, go_on = threading.Event(), threading.Event()

    def count_tokens(each: Message) -> int:
        if each["id"] == "m1":
            at_work.set()
            assert go_on.wait(30)
        return 1

    async def main() -> None:
        async with AsyncSessions(path, count_tokens=count_tokens) as sessions:
            heard: list[str] = []
            sessions.subscribe(lambda event: heard.append(event.message["id"]))
            cancelled: list[int] = []

            async def cancel(call: Call) -> None:
                async def wait() -> None:
                    while not at_work.is_set():
                        await kit.sleep(0.001)
                    await kit.sleep(0.01)

                async def release() -> None:
                    await wait()
                    await kit.sleep(0.05)
                    go_on.set()

                async with kit.tasks() as begin:
                    begin(release)
                    if await kit.cancelled_when(wait, call):
                        cancelled.append(who)

            calls = appends(sessions, 3)
            calls[who] = partial(cancel, calls[who])
            await at_once(kit, sessions, calls)
            await sessions.poll()  # what was committed is delivered by now
            stored = ids(await sessions.session().get_history())
            assert cancelled == [who]
            assert stored == heard == (["m0", "m1"] if who == 2 else ["m0", "m1", "m2"])

    run_on(loop, main)


# ---- what is as ever


@on_both
def test_prepare_never_runs_while_others_are_kept_from_writing(loop: str, path: Path) -> None:
    kit = Kit(loop)

    prepared = 0

    def prepare(each: Message) -> Message:
        nonlocal prepared
        prepared += 1
        can_be_written(path)
        return each

    async def main() -> None:
        async with AsyncSessions(path, prepare=prepare) as sessions:
            with commits() as committed:
                results = await at_once(kit, sessions, appends(sessions, 5))
            assert [each.seq for each in results] == [1, 2, 3, 4, 5]
            assert len(committed) == prepared == 5

    run_on(loop, main)


@on_both
@pytest.mark.parametrize("told_late", [False, True])
def test_each_task_compacts_its_own_session(loop: str, told_late: bool, path: Path) -> None:
    """Also beside a write that may have made anything grow, and ends first."""
    kit = Kit(loop)

    async def main() -> None:
        async with AsyncSessions(path) as sessions:
            names = [f"s{number}" for number in range(6)]
            running: list[str] = []
            all_run = kit.event()

            def compact_for(name: str) -> Callable[[list[Message]], Any]:
                async def compact(shown: list[Message]) -> CompactResult:
                    running.append(name)
                    if len(running) == len(names):
                        all_run.set()
                    await kit.sleep(30) if name == "s0" else await all_run.wait()
                    return CompactResult(shown[0]["id"], shown[-1]["id"], "short")

                return compact

            async def write(name: str) -> None:
                session = sessions.session(name)
                await session.append_message(message("a", "word " * 20))
                assert len(await session.get_compactions()) == 1, "it returned before it was compacted"

            async def impatient() -> None:
                assert await kit.cancelled_when(all_run.wait, partial(write, "s0"))

            for name in names:
                sessions.session(name).on_compaction(compact_for(name)).compact_after(5)
            with commits() as committed:
                await at_once(
                    kit, sessions, [impatient, *(partial(write, name) for name in names[1:])], told_late=told_late
                )
            assert len(committed) == 1 + 5
            assert ids(await sessions.session("s0").get_history()) == ["a"]
            assert await sessions.session("s0").get_compactions() == []

    run_on(loop, main)


@on_both
def test_a_listener_that_writes_hears_it_behind_the_group(loop: str, path: Path) -> None:
    kit = Kit(loop)

    async def main() -> None:
        async with AsyncSessions(path) as sessions:
            order: list[str] = []

            async def answer(event: Any) -> None:
                name = event.message["id"]
                order.append(name)
                if name.startswith("m"):
                    await sessions.session().append_message(message(f"answer to {name}"))

            sessions.subscribe(answer)
            await at_once(kit, sessions, appends(sessions, 3))
            assert order == ["m0", "m1", "m2", "answer to m0", "answer to m1", "answer to m2"]

    run_on(loop, main)


VERBS = st.sampled_from(["append_message", "update_message", "upsert_message"])
WRITES = st.lists(
    st.tuples(
        VERBS,
        st.sampled_from(["", "other"]),
        st.integers(0, 4),
        st.sampled_from(["", "text", "x" * 3_000]),
        st.sampled_from(["", "0", "3", "?"]),
        st.sampled_from(["server", "client"]),
    ),
    max_size=12,
)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_group_gives_what_its_writes_give_one_after_the_other(loop: str) -> None:
    """Errors, results, events and all that can be read."""
    kit = Kit(loop)

    def calls(store: Any, history: list[Any]) -> list[Callable[[], Any]]:
        made: list[Callable[[], Any]] = []
        for verb, name, number, text, other, source in history:
            given = {**message(f"{number}", text), "metadata": {"kept": text, "free": source}}
            options: dict[str, Any] = {"source": source}
            if other and verb != "update_message":
                options["parent_id"] = other
            elif verb == "append_message" and text:
                options["expected_leaf"] = "3"
            made.append(partial(getattr(store.session(name), verb), given, **options))
        return made

    def outcome(call: Callable[[], Any]) -> Any:
        try:
            return call()
        except (LeafChanged, UnknownMessage) as error:
            return error

    def told(results: list[Any]) -> list[Any]:
        return [(type(each), each.args) if isinstance(each, Exception) else each for each in results]

    @settings(max_examples=30)  # on each loop
    @given(WRITES, WRITES)
    def check(first: list[Any], second: list[Any]) -> None:
        heard: list[Event] = []
        expected: list[Event] = []

        async def main() -> tuple[list[Any], str]:
            async with AsyncSessions(reserved_metadata_keys=["kept"]) as store:
                store.subscribe(heard.append)
                results = [told(await at_once(kit, store, calls(store, each))) for each in (first, second)]
                inner = store._store.sessions
                return results, await store._store.run_read(lambda: timeless(reads(inner)))

        with Sessions(reserved_metadata_keys=["kept"]) as plain:
            plain.subscribe(expected.append)
            results = [told([outcome(call) for call in calls(plain, each)]) for each in (first, second)]
            assert run_on(loop, main) == (results, timeless(reads(plain)))
        assert [(each.type, each.seq, each.session_id) for each in heard] == [
            (each.type, each.seq, each.session_id) for each in expected
        ]

    check()


def timeless(text: str) -> str:
    """Without the times, which differ."""
    return re.sub(r'_at": ?"[^"]*"', "", text)
