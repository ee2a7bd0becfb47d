"""What holds on an event loop alone: whose transaction it is, what is cancelled when, where listeners run."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from eventstore import (
    AsyncSession,
    AsyncSessions,
    CannotOpen,
    CompactResult,
    Event,
    ImportRow,
    InvalidArgument,
    Message,
    Sessions,
    StoreClosed,
    StoreForked,
    UnknownMessage,
)
from tests.aio.cancelled_blocks import can_be_written
from tests.aio.face import LOOPS, run_on
from tests.aio.kit import Kit, Test
from tests.unit.talk import Heard, ids, message

on_both = pytest.mark.parametrize("loop", LOOPS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@asynccontextmanager
async def two_stores(path: Path) -> AsyncIterator[tuple[AsyncSessions, AsyncSessions]]:
    async with AsyncSessions(path) as one, AsyncSessions(path) as other:
        yield one, other


# ---- opening and closing


@on_both
def test_nothing_is_opened_before_it_is_asked_for(loop: str, path: Path) -> None:
    sessions = AsyncSessions(path)
    session = sessions.session("early")
    assert not path.exists()

    async def use() -> None:
        with pytest.raises(StoreClosed):
            await session.append_message(message("a"))
        for _ in range(2):  # again and again, and on one loop after the other
            async with sessions:
                assert await sessions.open() is sessions
                await session.append_message(message("a"))
                assert ids(await session.get_history()) == ["a"]
            await sessions.close()
        with pytest.raises(StoreClosed):
            await session.get_history()

    for each in LOOPS:
        run_on(each, use)


@on_both
def test_opened_again_it_keeps_the_same_keys_from_clients(loop: str, path: Path) -> None:
    sessions = AsyncSessions(path, reserved_metadata_keys=iter(["kept"]))

    async def write(message_id: str) -> Any:
        async with sessions:
            given = message(message_id, metadata={"kept": 1, "mine": 2})
            return (await sessions.session().append_message(given, source="client")).message["metadata"]

    for message_id in ("a", "b"):
        assert run_on(loop, partial(write, message_id)) == {"mine": 2}


@on_both
def test_two_tasks_may_open_it_at_once(loop: str, path: Path) -> None:
    kit = Kit(loop)

    async def main() -> None:
        sessions = AsyncSessions(path)
        heard = Heard()
        sessions.subscribe(heard)

        def opener(name: str) -> Test:
            async def work() -> None:
                await sessions.open()
                result = await sessions.session().append_message(message(name))
                assert result.seq in heard.seqs

            return work

        await kit.together(*(opener(name) for name in "abc"))
        await sessions.close()
        broken = AsyncSessions(path.parent)  # a folder is no store

        async def refused() -> None:
            with pytest.raises(CannotOpen):
                await broken.open()

        await kit.together(refused, refused)

    run_on(loop, main)


@on_both
def test_what_is_about_to_be_open_is_not_written_to(loop: str, path: Path) -> None:
    """Its feed would begin behind what was written then."""
    kit = Kit(loop)

    async def main() -> None:
        sessions = AsyncSessions(path)
        heard = Heard()
        sessions.subscribe(heard)
        open_it, is_open, may_go_on = sessions._store._open, threading.Event(), threading.Event()

        def opens() -> None:
            open_it()
            is_open.set()
            may_go_on.wait(30)

        sessions._store._open = opens  # type: ignore[method-assign]

        async def write() -> None:
            while not is_open.is_set():
                await kit.sleep(0)
            with pytest.raises(StoreClosed, match="isn't open"):
                await sessions.session().append_message(message("early"))
            may_go_on.set()

        async with kit.tasks() as begin:
            begin(sessions.open)
            begin(write)
        await sessions.session().append_message(message("a"))
        assert heard.seqs == [1]
        await sessions.close()

    run_on(loop, main)


@pytest.mark.parametrize(("first", "second"), [(a, b) for a in LOOPS for b in LOOPS])
def test_left_open_by_a_loop_that_is_over_it_is_used_on_the_next(first: str, second: str, path: Path) -> None:
    sessions = AsyncSessions(path)
    heard = Heard()
    sessions.subscribe(heard)
    before = threading.active_count()

    async def leave_open() -> None:
        await sessions.open()
        await sessions.session().append_message(message("a"))
        block = sessions.transaction()
        await block.__aenter__()
        await sessions.session().append_message(message("never"))

    async def go_on() -> None:
        with pytest.raises(StoreClosed, match="another event loop"):
            await sessions.session().get_history()
        async with sessions:
            assert ids(await sessions.session().get_history()) == ["a"]
            await sessions.session().append_message(message("b"))

    async def close() -> None:
        await sessions.close()

    run_on(first, leave_open)
    run_on(second, go_on)
    run_on(first, leave_open)
    run_on(second, close)
    assert threading.active_count() == before
    with Sessions(path) as stored:
        assert ids(stored.session().get_history()) == ["a", "b"]
        assert heard.seqs == [1, 2, 2]  # the last is the append that was repeated


@pytest.mark.parametrize("stuck", ["a listener", "a compaction"])
def test_a_loop_that_is_closed_in_the_midst_of_something_leaves_nobody_waiting(stuck: str, path: Path) -> None:
    """Its tasks are neither cancelled nor over."""
    sessions = AsyncSessions(path)
    session = sessions.session()
    heard: list[int] = []
    before = threading.active_count()
    waits = True

    async def listener(event: Event) -> None:
        heard.append(event.seq)
        if waits and stuck == "a listener":
            await asyncio.Event().wait()

    async def compact(messages: list[Message]) -> CompactResult:
        if waits:
            await asyncio.Event().wait()
        return CompactResult("m0", "m9", "S")

    async def begin() -> asyncio.Task[Any]:
        await sessions.open()
        sessions.subscribe(listener)
        await asyncio.wait([task := asyncio.create_task(work())], timeout=0.1)
        return task

    async def work() -> None:
        await session.append_messages([message(f"m{number}") for number in range(10)])
        await session.on_compaction(compact).compact()

    async def go_on() -> None:
        async with asyncio.timeout(5), sessions:
            await session.append_message(message("after"))
            assert await session.on_compaction(compact).compact() is not None

    loop = asyncio.new_event_loop()
    task: asyncio.Task[Any] | None = loop.run_until_complete(begin())
    loop.close()
    waits = False
    asyncio.run(go_on())
    del task
    gc.collect()  # what was left in the midst ends here, and disturbs nothing
    asyncio.run(go_on())
    assert threading.active_count() == before
    assert heard[-4:] == [11, 12, 12, 13]  # an append, its summary, and each once more


@on_both
def test_on_another_loop_every_call_is_refused(loop: str, path: Path) -> None:
    async def main() -> None:
        async with AsyncSessions(path) as sessions:
            await sessions.session().append_message(message("a"))

            async def elsewhere() -> None:
                for call in (sessions.open, sessions.close, sessions.poll, sessions.session().get_history):
                    with pytest.raises(StoreClosed, match="another event loop"):
                        await call()
                with pytest.raises(StoreClosed, match="another event loop"):
                    await anext(sessions.session().history())

            thread = threading.Thread(target=run_on, args=(loop, elsewhere))
            thread.start()
            thread.join()
            assert ids(await sessions.session().get_history()) == ["a"]

    run_on(loop, main)


def leftovers() -> tuple[int, int]:
    gc.collect()
    return threading.active_count(), len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("what", ["opening", "writing"])
def test_a_loop_that_is_closed_while_a_thread_works_for_it_is_no_trouble(
    what: str, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = leftovers()
    sessions = AsyncSessions(path, retain="all")  # to set that, it waits for who writes

    async def work() -> None:
        async with sessions:
            await sessions.session().append_message(message("a"))

    async def begin() -> asyncio.Task[Any]:
        if what == "writing":
            await sessions.open()
        other._store.begin()
        await asyncio.wait([task := asyncio.create_task(work())], timeout=0.1)
        return task

    loop = asyncio.new_event_loop()
    with Sessions(path) as other:
        task: asyncio.Task[Any] | None = loop.run_until_complete(begin())
        loop.close()
        other._store.end(None)
    asyncio.run(work())
    assert not [record for record in caplog.records if record.name != "asyncio"]  # which tells of the task
    with Sessions(path) as stored:
        assert ids(stored.session().get_history()) == ["a"]
    del task
    assert leftovers() == before


@on_both
def test_cancelled_while_it_opens_it_leaves_no_thread_and_no_file(loop: str, path: Path) -> None:
    kit = Kit(loop)
    Sessions(path).close()

    async def open_and_close() -> None:
        sessions = AsyncSessions(path)
        if not await kit.cancelled_after(random.random() * 0.006, sessions.open):
            await sessions.close()

    async def main() -> None:
        await open_and_close()
        before = leftovers()
        for _ in range(50):
            await open_and_close()
        assert leftovers() <= before

    run_on(loop, main)
    Sessions(path).close()


@on_both
def test_closing_waits_for_a_transaction_that_begins_meanwhile(loop: str, path: Path) -> None:
    kit = Kit(loop)

    async def main() -> None:
        sessions = await AsyncSessions(path).open()
        session = sessions.session()
        heard, begun = kit.event(), kit.event()
        told: list[int] = []

        async def listener(event: Event) -> None:
            heard.set()
            await begun.wait()
            told.append(event.seq)

        async def close() -> None:
            await heard.wait()  # it waits for the listener, too
            await sessions.close()

        async def transact() -> None:
            await heard.wait()
            await kit.sleep(0.05)
            async with sessions.transaction():
                begun.set()
                await kit.sleep(0.05)
                await session.append_message(message("b"))

        sessions.subscribe(listener)
        await kit.together(lambda: session.append_message(message("a")), close, transact)
        assert told == [1, 2]
        with Sessions(path) as stored:
            assert ids(stored.session().get_history()) == ["a", "b"]

    run_on(loop, main)


@on_both
def test_opened_again_while_another_task_closes_it_listeners_hear(loop: str, path: Path) -> None:
    kit = Kit(loop)

    async def main() -> None:
        sessions = await AsyncSessions(path).open()
        await sessions.session().append_message(message("a"))
        heard, reads, closes = Heard(), kit.event(), kit.event()
        sessions.subscribe(heard)

        async def progress(_done: int, _total: int | None) -> None:
            reads.set()
            await closes.wait()
            await kit.sleep(0.1)  # what is read keeps it from closing

        async def read() -> None:
            await sessions.verify(progress=progress)

        async def close() -> None:
            await reads.wait()
            await sessions.close()

        async def open() -> None:
            await reads.wait()
            for _ in range(20):
                await kit.sleep(0.001)
                await sessions.open()
            closes.set()

        await kit.together(read, close, open)
        await sessions.session().append_message(message("b"))
        assert heard.seqs == [2]
        await sessions.close()

    run_on(loop, main)


@on_both
def test_closing_ends_those_who_wait(loop: str, path: Path) -> None:
    kit = Kit(loop)

    async def main() -> None:
        sessions = await AsyncSessions(path).open()

        async def tail() -> None:
            with pytest.raises(StoreClosed):
                async for _ in sessions.tail(interval=30):
                    pass

        async def close() -> None:
            await kit.sleep(0.05)
            sessions.watch(interval=30)
            await sessions.close()

        before = threading.active_count()
        await kit.together(tail, close)
        assert threading.active_count() < before
        with pytest.raises(StoreClosed):
            await sessions.session().append_message(message("a"))

    run_on(loop, main)


@on_both
def test_what_was_called_before_the_close_is_written(loop: str, path: Path) -> None:
    """Writes run in the order in which they were called, and so does the close."""
    kit = Kit(loop)

    def slow(_: object) -> int:
        time.sleep(0.01)
        return 1

    async def main() -> None:
        sessions = await AsyncSessions(path, count_tokens=slow).open()

        async def close() -> None:
            await kit.sleep(0.005)
            await sessions.close()

        calls = [partial(sessions.session().append_message, message(f"m{number}")) for number in range(5)]
        await kit.together(*calls, close, close)

    run_on(loop, main)
    with Sessions(path) as stored:
        assert len(stored.session().get_history()) == 5


@on_both
def test_what_was_cancelled_as_it_was_written_is_heard_before_the_close(loop: str, path: Path) -> None:
    kit = Kit(loop)

    async def main() -> None:
        heard = Heard()

        async def slow(event: Event) -> None:
            await kit.sleep(0.001)
            heard.append(event)

        sessions = AsyncSessions(path)
        sessions.subscribe(slow)
        async with sessions:
            both = [message("a"), message("b")]
            await kit.cancelled_after(0.002, lambda: sessions.session().append_messages(both))
        with Sessions(path) as stored:
            assert [event.seq for event in stored.events()] == heard.seqs

    for _ in range(20):
        run_on(loop, main)
        path.unlink()


def test_in_a_forked_child_every_call_is_refused(path: Path) -> None:
    async def main() -> None:
        async with AsyncSessions(path) as sessions:
            child = os.fork()
            if child == 0:
                try:
                    await sessions.session().info()
                except StoreForked:
                    await sessions.close()  # quietly: the parent has it open
                    os._exit(7)
                os._exit(1)
            _, status = os.waitpid(child, 0)
            assert os.waitstatus_to_exitcode(status) == 7

    run_on("asyncio", main)


# ---- transactions


@on_both
@pytest.mark.parametrize("place", ["file", ":memory:"])
def test_a_transaction_belongs_to_its_task_and_others_wait(loop: str, path: Path, place: str) -> None:
    kit = Kit(loop)

    async def main() -> None:
        async with AsyncSessions(path if place == "file" else place) as sessions:
            session = sessions.session()
            order: list[str] = []
            begun, looked = kit.event(), kit.event()

            async def mine() -> None:
                async with sessions.transaction():
                    await session.append_message(message("a"))
                    begun.set()
                    await looked.wait()
                    await kit.sleep(0.02)  # both of them wait by now, or soon
                    order.append("mine")
                    assert ids(await session.get_history()) == ["a"]
                    async with sessions.transaction():
                        await session.append_message(message("b"))

            async def theirs() -> None:
                await begun.wait()
                if place == "file":
                    assert await session.get_history() == []
                    assert await sessions.poll() == 0
                looked.set()
                await session.append_message(message("c"))
                order.append("theirs")

            async def theirs_too() -> None:
                await begun.wait()
                async with sessions.transaction():
                    order.append("theirs")
                    assert ids(await session.get_history())[:2] == ["a", "b"]

            await kit.together(mine, theirs, theirs_too)
            assert order == ["mine", "theirs", "theirs"]
            assert ids(await session.get_history()) == ["a", "b", "c"]

    run_on(loop, main)


@on_both
def test_a_transaction_that_is_cancelled_leaves_nothing_and_keeps_nobody_waiting(loop: str, path: Path) -> None:
    kit = Kit(loop)

    async def main() -> None:
        async with AsyncSessions(path) as sessions:
            heard = Heard()
            sessions.subscribe(heard)

            async def block() -> None:
                async with sessions.transaction():
                    await sessions.session().append_messages([message("a"), message("b")])
                    await kit.sleep(30)

            assert await kit.cancelled_after(0.05, block)
            can_be_written(path)
            await sessions.session().append_message(message("c"))
            assert ids(await sessions.session().get_history()) == ["c"]
            assert heard.types == ["append"]

    run_on(loop, main)


# ---- listeners


@on_both
def test_listeners_run_on_the_loop_and_are_awaited(loop: str, path: Path) -> None:
    kit = Kit(loop)

    async def main() -> None:
        async with AsyncSessions(path) as sessions:
            here = threading.get_ident()
            heard: list[Any] = []

            async def slow(event: Event) -> None:
                assert threading.get_ident() == here
                heard.append(("begins", event.seq))
                await kit.sleep(0.01)
                heard.append(("ends", event.seq))

            async def receiver(sender: AsyncSession, *, event: Event) -> None:
                assert sender is sessions.session()
                heard.append(("signal", event.seq))

            sessions.subscribe(slow)
            sessions.changed.connect(receiver, sender=sessions.session())
            await sessions.session().append_messages([message("a"), message("b")])
            assert heard == [
                ("begins", 1), ("ends", 1), ("signal", 1), ("begins", 2), ("ends", 2), ("signal", 2),
            ]  # fmt: skip

    run_on(loop, main)


@on_both
def test_a_task_that_a_listener_began_is_like_any_other_once_it_has_returned(loop: str, path: Path) -> None:
    kit = Kit(loop)

    async def main() -> None:
        async with AsyncSessions(path) as sessions:
            heard = Heard()
            returned = kit.event()

            async def reply() -> None:
                await returned.wait()
                result = await session.append_message(message("reply"))
                assert result.seq in heard.seqs  # the slow listener has heard it too
                assert len(await session.get_compactions()) == 1

            async def begins(event: Event) -> None:
                if event.seq == 1:
                    begin(reply)

            async def slow(event: Event) -> None:
                await kit.sleep(0.01)
                heard.append(event)

            sessions.subscribe(begins)
            sessions.subscribe(slow)
            session = sessions.session().compact_after(5)
            session.on_compaction(lambda shown: CompactResult(shown[0]["id"], shown[-1]["id"], "they met"))
            async with kit.tasks() as begin:
                await session.append_message(message("question"))
                returned.set()

    run_on(loop, main)


@on_both
def test_what_an_import_committed_before_it_was_refused_is_heard_when_it_raises(loop: str, path: Path) -> None:
    kit = Kit(loop)

    async def main() -> None:
        async with AsyncSessions(path) as sessions:
            heard = Heard()

            async def slow(event: Event) -> None:
                await kit.sleep(0.01)
                heard.append(event)

            sessions.subscribe(slow)
            rows = [
                ImportRow(message("a"), parent_id=None, created_at=datetime.now(UTC)),
                ImportRow(message("orphan"), parent_id="nobody", created_at=datetime.now(UTC)),
            ]
            with pytest.raises(UnknownMessage):
                await sessions.session().import_messages(rows)
            assert heard.types == ["import"]

    run_on(loop, main)


@on_both
def test_a_listener_may_write_and_its_event_comes_behind(loop: str, path: Path) -> None:
    async def main() -> None:
        async with AsyncSessions(path, durability="normal") as sessions:
            session = sessions.session()
            order: list[str] = []

            async def answer(event: Any) -> None:
                number = int(event.message["id"])
                if number < 300:
                    async with sessions.transaction():
                        await session.append_message(message(str(number + 1)))
                    assert len(await session.get_history()) == number + 2

            sessions.subscribe(answer)
            sessions.subscribe(lambda event: order.append(event.message["id"]))
            await session.append_message(message("0"))
            assert order == [str(number) for number in range(301)]

    run_on(loop, main)


@on_both
def test_a_listener_that_fails_is_logged_and_the_others_hear(
    loop: str, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with AsyncSessions(path) as sessions:
            heard = Heard()

            async def fail(_event: Event) -> None:
                raise asyncio.CancelledError if loop == "asyncio" else ValueError

            sessions.subscribe(fail)
            sessions.subscribe(heard)
            await sessions.session().append_messages([message("a"), message("b")])
            assert heard.seqs == [1, 2]

    run_on(loop, main)
    assert len(caplog.records) == 2


@on_both
@pytest.mark.parametrize("place", ["file", ":memory:"])
def test_a_listener_may_close_the_store(loop: str, path: Path, place: str) -> None:
    async def main() -> None:
        sessions = await AsyncSessions(path if place == "file" else place).open()
        heard = Heard()

        async def close(event: Event) -> None:
            heard.append(event)
            await sessions.close()

        sessions.subscribe(close)
        await sessions.session().append_messages([message("a"), message("b")])
        assert heard.seqs == [1]
        with pytest.raises(StoreClosed):
            await sessions.session().append_message(message("c"))
        sessions.subscribe(heard)
        async with sessions:
            await sessions.session("again").append_message(message("d"))
        assert len(heard) == 2 + 1  # by the first of them too, before it closes

    run_on(loop, main)


@on_both
def test_where_nobody_listens_no_event_is_made(loop: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with AsyncSessions(path) as sessions:
            made: list[Event | int] = []
            store = sessions._store.sessions._store
            emit = store.emit

            def noted(event: Event | int) -> None:
                made.append(event)
                emit(event)

            monkeypatch.setattr(store, "emit", noted)
            session = sessions.session()
            await session.append_message(message("a"))
            assert made == []
            heard = Heard()
            with sessions.subscribe(heard):
                await session.append_message(message("b"))
            await session.append_message(message("c"))
            assert [event.seq for event in made if not isinstance(event, int)] == heard.seqs == [2]
            tail = sessions.tail(timeout=0)
            await session.append_message(message("d"))
            assert [event.seq async for event in tail] == [4]

    run_on(loop, main)


@on_both
def test_what_listeners_are_behind_with_is_not_kept_in_memory(loop: str, path: Path) -> None:
    kit = Kit(loop)

    async def main() -> None:
        async with AsyncSessions(path, durability="normal") as sessions:
            heard = Heard()
            waiting: list[int] = []

            async def listener(event: Event) -> None:
                waiting.append(len(sessions._store.feed._queue))
                await kit.sleep(0)
                heard.append(event)

            rows = [ImportRow(message(f"m{n}"), parent_id=None, created_at=datetime.now(UTC)) for n in range(2_000)]
            sessions.subscribe(listener)
            await sessions.session().import_messages(rows)
            await sessions.session().append_message(message("m0"))
            await sessions.session().append_message(message("last"))
            assert heard.seqs == [*range(1, 2_001), 2_000, 2_001]
            assert max(waiting) < 300

    run_on(loop, main)


@on_both
def test_listeners_may_subscribe_and_leave_others_as_they_hear(loop: str, path: Path) -> None:
    kit = Kit(loop)

    async def main() -> None:
        async with AsyncSessions(path) as sessions:
            heard: dict[str, Heard] = {name: Heard() for name in ("mine", "left", "live", "all")}

            async def first(event: Event) -> None:
                await kit.sleep(0)
                if event.seq == 2:
                    left.close()
                    mine.close()
                    sessions.subscribe(heard["live"])
                    sessions.subscribe(heard["all"], after=0)
                heard["mine"](event)

            mine = sessions.subscribe(first)
            left = sessions.subscribe(heard["left"])
            await sessions.session().append_messages([message(name) for name in "abcd"])
            assert {name: each.seqs for name, each in heard.items()} == {
                "mine": [1, 2], "left": [1], "live": [3, 4], "all": [1, 2, 3, 4]
            }  # fmt: skip

    run_on(loop, main)


@on_both
def test_from_a_cursor_none_is_lost_and_none_comes_twice(loop: str, path: Path) -> None:
    kit = Kit(loop)

    async def main() -> None:
        async with AsyncSessions(path, durability="normal") as sessions:
            session = sessions.session()
            await session.append_messages([message(str(number)) for number in range(600)])
            heard: list[Heard] = []

            async def writes() -> None:
                for number in range(600, 700):
                    await session.append_message(message(str(number)))

            async def subscribes() -> None:
                for after in (0, 599, 300):
                    await kit.sleep(0.01)
                    heard.append(Heard())
                    sessions.subscribe(heard[-1], after=after)

            await kit.together(writes, subscribes)
            await session.append_message(message("last"))
            assert [each.seqs for each in heard] == [list(range(after + 1, 702)) for after in (0, 599, 300)]
            closed = Heard()
            sessions.subscribe(closed, after=0).close()
            await session.append_message(message("none"))
            assert closed == []

    run_on(loop, main)


@on_both
def test_a_watch_and_a_tail_show_what_other_stores_write(loop: str, path: Path) -> None:
    kit = Kit(loop)

    async def main() -> None:
        async with two_stores(path) as (one, other):
            heard = Heard()
            one.subscribe(heard)
            seen: list[int] = []

            async def reads() -> None:
                async for event in one.session().tail(interval=0.005):
                    seen.append(event.seq)
                    if event.seq == 60:
                        break

            async def writes() -> None:
                for number in range(30):
                    await other.session().append_message(message(f"o{number}"))
                    await one.session().append_message(message(f"m{number}"))

            with one.watch(interval=0.005):
                await kit.together(reads, writes)
            assert await one.poll() == 0
            assert seen == heard.seqs == list(range(1, 61))

    run_on(loop, main)


@on_both
def test_copies_go_between_stores(loop: str, path: Path) -> None:
    async def main() -> None:
        async with AsyncSessions(path) as one, AsyncSessions() as other:
            heard = Heard()
            other.subscribe(heard)
            await one.session().append_messages([message("a"), message("b")])
            await one.session().copy_to(other.session())
            assert heard.types == ["import", "import"]
            async with one.transaction():
                await one.session().append_message(message("c"))
                await one.session().copy_to(other.session("more"))
            assert ids(await other.session("more").get_history()) == ["a", "b", "c"]
            assert len(heard) == 5

    run_on(loop, main)


@on_both
def test_an_iterator_checks_at_its_first_step_and_keeps_nothing_open(loop: str, path: Path) -> None:
    async def main() -> None:
        async with AsyncSessions(path) as sessions:
            session = sessions.session()
            await session.append_messages([message(str(number)) for number in range(120)])
            wrong = session.history(leaf_id="none")
            with pytest.raises(UnknownMessage):
                await anext(wrong)
            seen: list[str] = []
            async for each in session.history():
                seen.append(each["id"])
                if each["id"] == "10":
                    await session.delete_messages(["70"])
                    can_be_written(path)
            assert seen == [str(number) for number in range(120) if number != 70]
            async with sessions.transaction():
                await session.append_message(message("new"))
                newest = await anext(session.history(newest_first=True))
                assert newest["id"] == "new"
                with pytest.raises(InvalidArgument):
                    await sessions.at(1)

    run_on(loop, main)


@on_both
def test_many_tasks_write_at_once(loop: str, path: Path) -> None:
    kit = Kit(loop)

    async def main() -> None:
        async with AsyncSessions(path, durability="normal") as sessions:
            heard = Heard()
            sessions.subscribe(heard)

            def writer(number: int) -> Test:
                async def work() -> None:
                    for part in range(5):
                        result = await sessions.session(f"s{number % 7}").append_message(message(f"{number}.{part}"))
                        assert result.seq in heard.seqs  # it has been heard when the write returns

                return work

            await kit.together(*(writer(number) for number in range(60)))
            assert heard.seqs == list(range(1, 301))

    run_on(loop, main)
