"""Compaction on an event loop: by a function that is awaited, in the append that makes it due, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from eventstore import AsyncSessions, CompactResult, InvalidArgument, Message
from projections import follow
from tests.aio.face import LOOPS, run_on
from tests.aio.kit import Kit
from tests.unit.talk import Heard, ids, message

on_both = pytest.mark.parametrize("loop", LOOPS)


@on_both
def test_an_append_compacts_with_an_awaited_function(loop: str, tmp_path: Path) -> None:
    kit = Kit(loop)

    async def main() -> None:
        async with AsyncSessions(tmp_path / "s.db") as sessions:
            given: list[list[str]] = []

            async def compact(shown: list[Message]) -> CompactResult:
                given.append(ids(shown))
                await kit.sleep(0.01)
                await sessions.session("other").append_message(message(f"meanwhile {len(given)}"))
                return CompactResult("a", shown[-2]["id"], "short")

            session = sessions.session().on_compaction(compact).compact_after(50)
            heard = Heard()
            rows: list[Message] = []
            session.subscribe(heard)
            await follow(session, rows)
            await session.append_messages([message(each, "word " * 20) for each in ("a", "b")])
            async with sessions.transaction():
                await session.append_message(message("c", "word " * 20))
                assert len(given) == 1
            assert given[0] == ["a", "b"]
            assert heard.types[2] == "compact"
            assert rows == await session.get_history()
            stored = await session.get_compactions()
            assert stored[0].summary == "short"
            with pytest.raises(InvalidArgument):
                async with sessions.transaction():
                    await session.compact()
            session.on_compaction(None)
            with pytest.raises(InvalidArgument):
                await session.compact()

    run_on(loop, main)


@on_both
def test_cancelled_while_it_compacts_an_append_stays_and_no_overlay(loop: str, tmp_path: Path) -> None:
    kit = Kit(loop)

    async def main() -> None:
        async with AsyncSessions(tmp_path / "s.db") as sessions:
            compacts = kit.event()

            async def compact(shown: list[Message]) -> CompactResult:
                compacts.set()
                await kit.sleep(30)
                return CompactResult(shown[0]["id"], shown[-1]["id"], "never")

            session = sessions.session().on_compaction(compact).compact_after(1)
            assert await kit.cancelled_when(compacts.wait, lambda: session.append_message(message("a")))
            assert ids(await session.get_history()) == ["a"]
            assert await session.get_compactions() == []
            session.on_compaction(lambda shown: CompactResult("a", "a", "now"))
            assert (await session.compact()) is not None

    run_on(loop, main)
