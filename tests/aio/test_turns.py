"""Tasks take turns: in the order of their calls, beside transactions, and until the store is closed."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from eventstore import AsyncSessions, Event, StoreClosed
from tests.aio.face import LOOPS, run_on
from tests.aio.kit import Kit
from tests.unit.talk import Heard, ids, message

on_both = pytest.mark.parametrize("loop", LOOPS)
MANY = 1_000  # far more than are done beside what should not have to wait for them


@pytest.fixture(params=["a file", "in memory"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    return tmp_path / "store.db" if request.param == "a file" else ":memory:"


@on_both
def test_a_task_with_one_transaction_behind_the_other_lets_others_write_and_transact(
    loop: str, path: Path | str
) -> None:
    kit = Kit(loop)

    async def main() -> None:
        async with AsyncSessions(path, durability="normal") as sessions:
            session = sessions.session()
            done: list[str] = []

            async def transact(name: str, count: int) -> None:
                for number in range(count):
                    if len(done) == 4:
                        break
                    async with sessions.transaction():
                        await session.append_message(message(f"{name}.{number}"))
                else:
                    done.append(name)

            async def write(name: str) -> None:
                for number in range(5):
                    await session.append_message(message(f"{name}.{number}"))
                done.append(name)

            await kit.together(
                partial(transact, "always", MANY),
                partial(transact, "t1", 5),
                partial(write, "w1"),
                partial(transact, "t2", 5),
                partial(write, "w2"),
            )
            assert sorted(done) == ["t1", "t2", "w1", "w2"]

    run_on(loop, main)


@on_both
@pytest.mark.parametrize("cancelled", [[], [0], [1, 2], [4], [0, 2, 4], [0, 1, 2, 3, 4]])
@pytest.mark.parametrize("when", ["before", "as its turn comes"])
def test_who_waited_for_a_transaction_writes_in_the_order_of_the_calls(
    loop: str, path: Path | str, cancelled: list[int], when: str
) -> None:
    kit = Kit(loop)

    async def main() -> None:
        async with AsyncSessions(path, durability="normal") as sessions:
            session = sessions.session()
            stop = kit.event()
            called: list[str] = []

            async def write(number: int) -> None:
                called.append(name := f"m{number}")
                await session.append_message(message(name))

            async def given_up(number: int) -> None:
                await kit.cancelled_when(stop.wait, partial(write, number))

            async with kit.tasks() as begin:
                async with sessions.transaction():
                    for number in range(5):
                        begin(partial(given_up if number in cancelled else write, number))
                        await kit.sleep(0.002)
                    if when == "before":
                        stop.set()
                        await kit.sleep(0.002)
                stop.set()
                await write(5)
            stored = ids(await session.get_history())
            kept = [f"m{number}" for number in range(6) if number not in cancelled]
            assert [each for each in stored if each in kept] == kept
            assert stored == [each for each in called if each in stored]
            assert when != "before" or stored == kept

    run_on(loop, main)


@on_both
@pytest.mark.parametrize("gives_up", [False, True])
def test_what_returned_was_heard_also_while_others_close_it_and_open_it(
    loop: str, tmp_path: Path, gives_up: bool
) -> None:
    kit = Kit(loop)

    async def main() -> None:
        sessions = await AsyncSessions(tmp_path / "store.db", durability="normal").open()
        heard = Heard()
        finished = False

        async def listener(event: Event) -> None:
            await kit.sleep(0)
            heard(event)
            if event.session_id == "t":
                await sessions.session("l").append_message(message(str(event.seq)))

        async def write(name: str, *, transacts: bool) -> None:
            number = 0
            while not finished:
                number += 1
                each = message(f"{name}.{number}")
                try:
                    if transacts:
                        async with sessions.transaction():
                            result = await sessions.session("t").append_message(each)
                    else:
                        result = await sessions.session("w").append_message(each)
                except StoreClosed:
                    await kit.sleep(0.001)
                else:
                    assert result.seq in heard.seqs

        async def close() -> None:
            nonlocal finished
            for number in range(10):
                await kit.sleep(0.003)
                if gives_up:
                    await kit.cancelled_after(number * 0.0003, sessions.close)
                else:
                    await sessions.close()
                await sessions.open()
            finished = True

        sessions.subscribe(listener)
        writers = [partial(write, str(number), transacts=number < 2) for number in range(6)]
        await kit.together(*writers, close)
        assert heard.seqs == [event.seq async for event in sessions.events()]
        await sessions.close()

    run_on(loop, main)
