"""A caller's code inside the calls of an `AsyncSessions`: what it raises comes out, and what it does ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from eventstore import AsyncSessions, DamagedStore, EventStoreError, ImportRow, InvalidArgument, importing
from tests.aio.face import LOOPS, run_on
from tests.aio.kit import Kit
from tests.unit.talk import message

SECONDS = 10
on_both = pytest.mark.parametrize("loop", LOOPS)


WRONG: tuple[Any, ...] = ("x", 0, [])


class Struck(BaseException):
    """As a caller's framework stops a task with."""


def rows() -> list[ImportRow]:
    return [ImportRow(message(f"i{n}"), parent_id=None, created_at=datetime(2026, 1, 1, tzinfo=UTC)) for n in range(4)]


Told = Callable[[AsyncSessions, Path, Any], Awaitable[object]]
TOLD: dict[str, Told] = {
    "verify": lambda store, _, progress: store.verify(progress=progress),
    "rebuild": lambda store, _, progress: store.rebuild(progress=progress),
    "backup": lambda store, folder, progress: store.backup(folder / "backup", progress=progress),
    "scavenge": lambda store, _, progress: store.scavenge(vacuum=True, progress=progress),
    "import_messages": lambda store, _, progress: store.session("new").import_messages(rows(), progress=progress),
    "copy_to": lambda store, _, progress: store.session().copy_to(store.session("copy"), progress=progress),
}


async def in_transaction(store: AsyncSessions) -> None:
    async with store.transaction():
        await store.session().append_message(message("in"))


ACTS: dict[str, Callable[[AsyncSessions], Awaitable[object]]] = {
    "reads": lambda store: store.session().get_history(),
    "verifies": lambda store: store.verify(),
    "appends": lambda store: store.session().append_message(message("new")),
    "appends elsewhere": lambda store: store.session("else").append_message(message("new")),
    "imports": lambda store: store.session("else").import_messages(rows()),
    "transaction": in_transaction,
    "rebuilds": lambda store: store.rebuild(),
    "polls": lambda store: store.poll(),
    "closes": lambda store: store.close(),
}


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "BATCH_ROWS", 2)
    monkeypatch.setattr("eventstore.copying.REPORT_EVERY", 2)
    monkeypatch.setattr("eventstore.scavenging.EMPTYINGS", 2)


@on_both
@pytest.mark.parametrize("place", ["file", "memory"])
@pytest.mark.parametrize("told", TOLD.values(), ids=TOLD)
def test_progress_that_awaits_the_same_store_ends(loop: str, place: str, tmp_path: Path, told: Told) -> None:
    kit = Kit(loop)

    async def one(act: Callable[[AsyncSessions], Awaitable[object]], folder: Path) -> None:
        folder.mkdir()
        store = await AsyncSessions(":memory:" if place == "memory" else folder / "store.db").open()
        await store.session().append_messages([message(f"m{n}") for n in range(4)])
        calls = 0

        async def progress(_done: int, _total: int | None) -> None:
            nonlocal calls
            calls += 1
            if calls == 1:
                await act(store)

        async def call() -> None:
            try:
                await told(store, folder, progress)
            except EventStoreError as error:
                assert not isinstance(error, DamagedStore)  # noqa: PT017

        assert not await kit.cancelled_after(SECONDS, call), "it waits for itself"
        assert calls
        if place == "file":
            await store.open()
        if act is not ACTS["closes"] or place == "file":
            await store.session("after").append_message(message("after"))
            assert (await store.verify()).ok
        await store.close()

    async def main() -> None:
        for number, act in enumerate(ACTS.values()):
            await one(act, tmp_path / str(number))

    run_on(loop, main)


@on_both
@pytest.mark.parametrize("told", [TOLD["rebuild"], TOLD["import_messages"]], ids=["rebuild", "import_messages"])
def test_progress_inside_that_of_another_store_ends(loop: str, tmp_path: Path, told: Told) -> None:
    """Through any number of stores: the innermost can't wait for the first, and the first goes on."""
    kit = Kit(loop)

    async def one(depth: int) -> None:
        stores = [await AsyncSessions(":memory:").open() for _ in range(depth)]
        for store in stores:
            await store.session().append_messages([message(f"m{n}") for n in range(4)])
        refused = 0

        async def progress_of(number: int) -> None:
            nonlocal refused
            if number < depth:
                await told(stores[number], tmp_path, lambda *_: progress_of(number + 1))
                return
            for store in stores:
                with pytest.raises(InvalidArgument, match="has returned"):
                    await store.session("deep").append_message(message("deep"))
                refused += 1

        assert not await kit.cancelled_after(SECONDS, lambda: progress_of(0)), "they wait for each other"
        assert refused >= depth
        for store in stores:
            await store.session("after").append_message(message("after"))
            await store.close()

    async def main() -> None:
        for depth in (2, 3):
            await one(depth)

    run_on(loop, main)


@on_both
@pytest.mark.parametrize("told", TOLD.values(), ids=TOLD)
def test_a_progress_that_is_none_is_refused(loop: str, tmp_path: Path, told: Told) -> None:
    async def main() -> None:
        async with AsyncSessions(tmp_path / "store.db") as store:
            await store.session().append_message(message("a"))
            for wrong in WRONG:
                with pytest.raises(InvalidArgument, match="progress must be a function"):
                    await told(store, tmp_path, wrong)
            assert await store.latest_seq() == 1

    run_on(loop, main)


PLACES: dict[str, Callable[[AsyncSessions, Path, Callable[..., Any]], Awaitable[object]]] = {
    **TOLD,
    "count_tokens": lambda store, *_: store.session("c").append_message(message("counted")),
    "messages": lambda store, _, here: store.session("c").append_messages(here() for _ in range(2)),
    "rows": lambda store, _, here: store.session("c").import_messages(here() for _ in range(2)),
    "ids": lambda store, _, here: store.session().delete_messages(here() for _ in range(2)),
}


@on_both
@pytest.mark.parametrize("name", PLACES)
def test_what_a_callers_code_raises_comes_out_as_it_is(loop: str, tmp_path: Path, name: str) -> None:
    raising: list[BaseException] = []

    def here(*_: object) -> int:
        if raising:
            raise raising[0]
        return 1

    async def main() -> None:
        async with AsyncSessions(tmp_path / "store.db", count_tokens=here) as store:
            await store.session().append_messages([message(f"m{n}") for n in range(4)])
            for kind in (ValueError, TypeError, KeyError, AttributeError, AssertionError, RecursionError, Struck):
                raised = kind("by the caller")
                raising[:] = [raised]
                with pytest.raises(kind) as caught:
                    await PLACES[name](store, tmp_path, here)
                assert caught.value is raised
                raising.clear()
                await store.session().append_message(message(f"after {kind}"))
            assert (await store.verify()).ok

    run_on(loop, main)
