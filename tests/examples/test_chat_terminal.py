"""The chat in the terminal: its rows are the history, whoever writes, and stay where they are."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from textual.pilot import Pilot
from textual.widgets import Input

from docs.examples import chat_terminal
from docs.examples.chat_terminal import Chat, Row, row_of
from eventstore import Session, Sessions
from eventstore.testing import Write, writes
from tests.examples.commands import command_of
from tests.examples.waiting import eventually
from tests.processes.running import environment, run
from tests.unit.talk import message, reply

Using = Callable[[Chat, "Pilot[None]", Session], Awaitable[None]]


def use(path: Path, using: Using) -> None:
    """Runs the application on a screen of 80 by 24, beside a store that writes to its file."""

    async def main() -> None:
        with Sessions(path, durability="normal") as store:
            app = Chat(path, "talk")
            async with app.run_test(size=(80, 24)) as pilot:
                await using(app, pilot, store.session("talk"))

    asyncio.run(main())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chat.db"


async def until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    """Waits until it holds, and then until it is drawn."""
    limit = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < limit, "it never came to be so"
        await pilot.pause(0.01)
    await pilot.pause()


def rows(app: Chat) -> list[Row]:
    return [view.row for view in app.conversation.views]


def texts(app: Chat) -> list[str]:
    return [row.text for row in rows(app)]


def top(app: Chat, number: int) -> int:
    """The line of the conversation's window in which a row begins."""
    conversation = app.conversation
    return conversation.views[number].virtual_region.y - conversation.scroll_offset.y


def test_it_starts_by_the_command_that_is_given(tmp_path: Path) -> None:
    """In a process of its own, on a terminal: a line is written, and Escape ends it."""
    _, *arguments = command_of(chat_terminal, "python")
    mine, its = os.openpty()
    command = [sys.executable, *arguments]
    process = subprocess.Popen(command, stdin=its, stdout=its, stderr=its, cwd=tmp_path, env=environment())
    os.close(its)
    drawn = bytearray()
    reading = threading.Thread(target=read_all, args=(mine, drawn))
    reading.start()
    try:
        eventually(lambda: b"Write a message" in drawn)
        os.write(mine, b"Hello\r")
        with Sessions(tmp_path / "chat.db") as store:
            session = store.session("SESSION")
            eventually(session.get_latest_leaf)
            assert session.get_history()[0]["parts"][0]["text"] == "Hello"
        os.write(mine, b"\x1b")
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
        reading.join()
        os.close(mine)


def read_all(terminal: int, into: bytearray) -> None:
    """All that is drawn, until nobody has the other side open."""
    with suppress(OSError):  # so it ends on Linux
        while drawn := os.read(terminal, 65_536):
            into.extend(drawn)


def test_what_is_sent_is_stored_and_shown(path: Path) -> None:
    async def using(app: Chat, pilot: Pilot[None], session: Session) -> None:
        await pilot.press(*"Hello", "enter")
        await until(pilot, lambda: texts(app) == ["Hello"])
        assert [each["role"] for each in session.get_history()] == ["user"]
        assert app.query_one(Input).value == ""

    use(path, using)


def test_what_could_not_be_sent_is_told_and_kept(path: Path) -> None:
    async def using(app: Chat, pilot: Pilot[None], _session: Session) -> None:
        app.writer.close()
        await pilot.press(*"Hello", "enter")
        await until(pilot, lambda: app.query_one(Input).value == "Hello")
        assert texts(app) == []

    use(path, using)


REFUSED = """
import contextlib, io, json, runpy
os.chdir(sys.argv[2])
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["chat_terminal", *arguments]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            runpy.run_module("docs.examples.chat_terminal", run_name="__main__")
        except SystemExit as ended:
            said = ended.code
    assert printed.getvalue() == ""
    print(json.dumps(said))
"""


def refused(folder: Path, *calls: list[str]) -> list[str]:
    """With what each call ends. All in one process, since loading Textual takes longest."""
    said = [json.loads(line) for line in run(REFUSED, json.dumps(calls), folder).splitlines()]
    assert all(isinstance(each, str) for each in said)  # told on standard error, with status 1
    return said


def test_a_call_without_its_arguments_says_how_it_is_called(tmp_path: Path) -> None:
    for said in refused(tmp_path, [], ["chat.db"], ["chat.db", "talk", "more"]):
        assert said.startswith("usage: python -m docs.examples.chat_terminal chat.db SESSION")


def test_what_it_cannot_open_is_told_in_one_line(tmp_path: Path) -> None:
    no_folder, no_name = refused(tmp_path, ["\x1b\n/chat.db", "talk"], ["chat.db", os.fsdecode(b"\xff")])
    assert "/\ufffd /chat.db: its folder doesn't exist" in no_folder
    assert "a session's name must not hold half a surrogate pair" in no_name
    for said in (no_folder, no_name):
        assert said.startswith("chat_terminal: ")
        assert "\n" not in said


def test_what_another_process_writes_appears(path: Path) -> None:
    async def using(app: Chat, pilot: Pilot[None], _session: Session) -> None:
        script = """
            with Sessions(sys.argv[1]) as store:
                store.session("talk").append_messages([message(f"m{n}", f"number {n}") for n in range(3)])
        """
        await asyncio.to_thread(run, script, path)
        await until(pilot, lambda: texts(app) == ["number 0", "number 1", "number 2"])

    use(path, using)


def test_rows_keep_their_widgets(path: Path) -> None:
    async def using(app: Chat, pilot: Pilot[None], session: Session) -> None:
        session.append_messages([message("u1", "A question"), reply("a1", "An")])
        await until(pilot, lambda: len(rows(app)) == 2)
        before = list(app.conversation.views)
        session.update_message(reply("a1", "An answer", "done"))
        await until(pilot, lambda: texts(app) == ["A question", "An answer"])
        assert app.conversation.views == before
        session.append_message(reply("a2", "Another", "done"), parent_id="u1")
        await until(pilot, lambda: texts(app) == ["A question", "Another"])
        assert app.conversation.views[0] is before[0]
        assert list(app.conversation.children) == app.conversation.views

    use(path, using)


def test_what_is_read_stays_where_it_is(path: Path) -> None:
    async def using(app: Chat, pilot: Pilot[None], session: Session) -> None:
        session.append_messages([message(f"m{number}", f"number {number}") for number in range(40)])
        await until(pilot, lambda: len(rows(app)) == 40)
        await until(pilot, lambda: app.conversation.is_vertical_scroll_end)
        session.append_message(message("m40", "one more"))
        await until(pilot, lambda: len(rows(app)) == 41)
        await until(pilot, lambda: app.conversation.is_vertical_scroll_end)

        app.conversation.scroll_to(y=30, animate=False, immediate=True)
        await pilot.pause()
        before = top(app, 20)
        session.update_message(message("m0", "a row above\n" + "grows\n" * 9))
        session.append_message(message("m41", "a row below"))
        await until(pilot, lambda: len(rows(app)) == 42)
        await until(pilot, lambda: app.conversation.scroll_offset.y == 40)
        assert top(app, 20) == before
        session.delete_messages(["m1", "m2"])
        await until(pilot, lambda: len(rows(app)) == 40)
        await until(pilot, lambda: app.conversation.scroll_offset.y == 36)
        assert top(app, 18) == before

    use(path, using)


def test_no_text_can_harm_the_screen(path: Path) -> None:
    async def using(app: Chat, pilot: Pilot[None], session: Session) -> None:
        odd: list[dict[str, object]] = [{"type": "text", "text": 5}, {"type": "file"}]
        session.append_message({**message("m0"), "parts": odd})
        await until(pilot, lambda: texts(app) == ["[text][file]"])
        session.append_message(message("m1", "[red]not markup[/red] \x1b[2J \ud83d [/"))
        await until(pilot, lambda: len(rows(app)) == 2)
        drawn = app.export_screenshot(simplify=True)
        assert "[red]not" in drawn.replace("&#160;", " ")
        assert "\x1b" not in drawn

    use(path, using)


@given(history=writes())
@settings(max_examples=5)
def test_the_rows_are_the_history_whatever_is_written(
    tmp_path_factory: pytest.TempPathFactory, history: list[Write]
) -> None:
    async def using(app: Chat, pilot: Pilot[None], session: Session) -> None:
        for write in history:
            write.apply(session)
        session.append_message(message("the last"))
        expected = [row_of(each) for each in session.get_history(compacted=False)]
        await until(pilot, lambda: rows(app) == expected)
        assert list(app.conversation.children) == app.conversation.views

    use(tmp_path_factory.mktemp("drawn") / "chat.db", using)
