"""`mirror` and `follow` of an async session: the same lists, with hooks on the loop."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from eventstore import AsyncSession, AsyncSessions, Event, InvalidArgument, Message, Sessions, UnknownMessage
from eventstore.testing import Write, json_text, writes
from projections import AsyncFollowing, Change, follow, mirror
from tests.aio.face import LOOPS, open_faced, run_on
from tests.aio.kit import Kit
from tests.unit.talk import chain, ids, message

on_both = pytest.mark.parametrize("loop", LOOPS)


@on_both
def test_a_list_follows_with_hooks_that_are_awaited(loop: str, tmp_path: Path) -> None:
    kit = Kit(loop)

    async def main() -> None:
        async with AsyncSessions(tmp_path / "s.db") as sessions:
            session = sessions.session()
            await session.append_messages([message("a"), message("b"), message("c")])
            rows: list[str] = []
            told: list[Change[str]] = []

            async def transform(made: Message) -> str:
                await kit.sleep(0)
                return made["id"].upper()

            async def on_change(change: Change[str]) -> None:
                assert rows[change.start : change.start + len(change.removed)] == change.removed
                await kit.sleep(0)
                told.append(change)

            following = await follow(session, rows, transform=transform, on_change=on_change)
            assert isinstance(following, AsyncFollowing)
            await session.append_message(message("d"), parent_id="b")
            await session.select_leaf("c")
            await session.delete_messages(["b"])
            assert rows == ["A", "C"]
            rows[0] = "mine"
            await following.refresh()
            with Sessions(tmp_path / "s.db") as other:
                chain(other.session(), "x", "y", parent_id="a")
                assert rows == ["A", "C"]
                await sessions.poll()
            assert rows == ["A", "X", "Y"]
            assert told == [
                Change(0, [], ["A", "B", "C"]), Change(2, ["C"], ["D"]), Change(2, ["D"], ["C"]),
                Change(1, ["B"], []), Change(0, ["mine"], ["A"]), Change(1, ["C"], ["X", "Y"]),
            ]  # fmt: skip
            following.close()
            await session.clear_messages()
            await following.refresh()
            assert rows == ["A", "X", "Y"]
            with pytest.raises(UnknownMessage):
                await follow(session, [], leaf_id="none")
            with pytest.raises(InvalidArgument):
                follow(session, ("a",))  # type: ignore[call-overload]

    run_on(loop, main)


@on_both
def test_a_list_mirrors_with_hooks_that_are_awaited(loop: str, tmp_path: Path) -> None:
    kit = Kit(loop)

    async def main() -> None:
        async with AsyncSessions(tmp_path / "s.db") as sessions:
            session = sessions.session()
            await session.append_messages([message("a"), message("b")])
            rows: list[Any] = []
            applied: list[Any] = []

            async def transform(made: Message) -> str:
                await kit.sleep(0)
                return str(made["id"] + made["parts"][0]["text"])

            async def intercept(event: Event) -> bool:
                await kit.sleep(0)
                return event.type == "clear"

            async def on_applied(event: Event, entry: str, previous: str | None) -> None:
                await kit.sleep(0)
                applied.append((event.seq, entry, previous))

            with await mirror(session, rows, after=1, transform=transform, intercept=intercept, on_applied=on_applied):
                assert rows == ["b"]
                await session.update_message(message("b", "!"))
                await session.update_message(message("a", "!"))
                await session.clear_messages()
            await session.append_message(message("c"))
            assert rows == ["b!"]
            assert applied == [(2, "b", None), (3, "b!", "b")]
            kept: list[list[Message]] = [[]]
            await mirror(session, get=lambda: kept[-1], set=kept.append)
            await session.append_message(message("d"))
            assert [ids(each) for each in kept] == [[], ["d"]]

    run_on(loop, main)


@on_both
def test_a_list_that_is_being_put_right_is_not_changed_from_two_sides(loop: str, tmp_path: Path) -> None:
    kit = Kit(loop)

    async def main() -> None:
        async with AsyncSessions(tmp_path / "s.db") as sessions:
            session = sessions.session()
            rows: list[Any] = []

            async def slow(change: Change[Any]) -> None:
                await kit.sleep(0 if change.added else 0.05)

            following = await follow(session, rows, on_change=slow)
            for number in range(3):  # the first time the store is empty
                rows.append("mine")

                async def write(number: int = number) -> None:
                    await kit.sleep(0.02)
                    await session.append_message(message(f"m{number}"))

                await kit.together(following.refresh, write, following.refresh)
                assert rows == await session.get_history()

    run_on(loop, main)


@on_both
def test_cancelled_while_they_begin_lists_are_not_kept_in_step(loop: str, tmp_path: Path) -> None:
    kit = Kit(loop)
    dice = random.Random(3)

    async def main() -> None:
        async with AsyncSessions(tmp_path / "s.db", durability="normal") as sessions:
            session = sessions.session()
            await session.append_messages([message(f"m{number}") for number in range(50)])

            async def begin_and_end() -> None:
                (await follow(session, [])).close()
                (await mirror(session, [], after=0)).close()

            cancelled = 0
            for _ in range(40):
                cancelled += await kit.cancelled_after(dice.random() * 0.004, begin_and_end)
            assert cancelled
            await session.append_message(message("last"))
            assert not sessions.changed.receivers

    run_on(loop, main)


@on_both
def test_a_follow_inside_a_listener_is_refreshed_there(loop: str) -> None:
    async def main() -> None:
        async with AsyncSessions() as sessions:
            session: AsyncSession = sessions.session()
            rows: list[Message] = []
            following = await follow(session, rows)
            seen: list[list[str]] = []

            async def listener(_event: Event) -> None:
                rows.clear()
                await following.refresh()
                seen.append(ids(rows))

            session.subscribe(listener)
            await session.append_message(message("a"))
            assert seen == [["a"]]
            await session.append_message(message("b"))
            assert ids(rows) == ["a", "b"]

    run_on(loop, main)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_followed_list_is_the_history_after_every_write(loop: str) -> None:
    @settings(max_examples=10)
    @given(writes())
    def check(history: list[Write]) -> None:
        portal, store = open_faced(loop)
        try:
            inner = store._inner.session()
            rows: list[Message] = []
            flat: list[Message] = []
            portal.call(lambda: follow(inner, rows))
            portal.call(lambda: follow(inner, flat, compacted=False))
            for write in history:
                write.apply(store.session())
                assert json_text(rows) == json_text(store.session().get_history())
                assert json_text(flat) == json_text(store.session().get_history(compacted=False))
        finally:
            store.close()
            portal.close()

    check()
