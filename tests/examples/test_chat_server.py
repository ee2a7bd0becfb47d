"""The chat's server, as its clients see it."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from docs.examples import chat_server
from docs.examples.chat_server import create_app
from eventstore import AppendResult, AsyncSession, MessageLike, Sessions
from tests.examples.asgi import Client, running
from tests.examples.commands import command_of
from tests.examples.slow import Slow
from tests.examples.waiting import connected, eventually
from tests.processes.running import environment
from tests.unit.talk import ids, message, reply


def serve(path: Path, use: Callable[[Client, Slow], Awaitable[None]]) -> None:
    async def main() -> None:
        model = Slow()
        async with asyncio.timeout(30), running(create_app(path, model)) as client:
            await use(client, model)

    asyncio.run(main())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chat.db"


def text_of(made: Any) -> str:
    text: str = made["parts"][0]["text"]
    return text


def test_a_message_is_created_once_and_read_back(path: Path) -> None:
    async def use(client: Client, _model: Slow) -> None:
        first = await client.post("/talk", message("u1", "Hello"))
        again = await client.post("/talk", message("u1", "Hello"))
        assert (first.status, again.status) == (201, 200)
        assert again.json()["message"] == message("u1", "Hello")
        page = (await client.get("/talk")).json()
        assert page["messages"][0] == message("u1", "Hello")
        assert page["seq"] >= 1

    serve(path, use)


def test_half_an_emoji_is_answered(path: Path) -> None:
    async def use(client: Client, _model: Slow) -> None:
        assert (await client.post("/talk", message("u1", "cut \ud83d"))).status == 201
        answer = await client.get("/talk")
        assert answer.status == 200
        assert text_of(answer.json()["messages"][0]) == "cut \ud83d"

    serve(path, use)


def test_what_is_wrong_is_said(path: Path) -> None:
    async def use(client: Client, _model: Slow) -> None:
        await client.post("/talk", {**message("s1"), "role": "system"})
        assert (await client.post("/talk", {"id": "x"})).status == 400
        assert (await client.request("POST", "/talk", raw=b"{")).status == 400
        assert (await client.get("/talk?before=none")).status == 404
        assert (await client.post("/talk/none/select")).status == 404
        assert (await client.post("/talk/none/regenerate")).status == 404
        for seen in ("other", ""):
            conflict = await client.post(f"/talk?after={seen}", message("u1"))
            assert (conflict.status, conflict.json()) == (409, {"leaf": "s1"})
        assert (await client.post("/empty?after=", message("u1"))).status == 201
        assert (await client.get("/talk/events?after=100")).status == 409
        for wrong in ("abc", "-1", "1.5", "%C2%B2"):
            assert (await client.get(f"/talk/events?after={wrong}")).status == 400

    serve(path, use)


def test_an_answer_is_stored_as_it_grows_though_its_client_is_gone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docs.examples.chat_server.SAVE_SECONDS", 0)

    async def use(client: Client, model: Slow) -> None:
        await client.post("/talk", message("u1", "Count"))
        model.let.release()
        seen = await client.events("/talk/events", 3)  # then it leaves
        assert [event["type"] for event in seen] == ["append", "append", "update"]
        assert text_of(seen[-1]["message"]) == "one "
        model.let.release()
        model.let.release()
        rest = await client.events("/talk/events", 3, {"last-event-id": str(seen[-1]["seq"])})
        assert text_of(rest[-1]["message"]) == "one two three"
        assert rest[-1]["message"]["parts"][0]["state"] == "done"
        assert [event["seq"] for event in seen + rest] == list(range(1, 7))
        assert model.asked == [["u1"]]

    serve(path, use)


def test_what_an_answer_has_is_kept_when_the_server_stops(path: Path) -> None:
    async def use(client: Client, model: Slow) -> None:
        await client.post("/talk", message("u1", "Count"))
        model.let.release()
        await client.events("/talk/events", 2)
        await asyncio.sleep(0.05)  # it has its first word, and waits

    serve(path, use)
    with Sessions(path) as store:
        _, answer = store.session("talk").get_history()
        assert (text_of(answer), answer["parts"][0]["state"]) == ("one ", "aborted")


def test_another_answer_stands_beside_the_first(path: Path) -> None:
    async def use(client: Client, model: Slow) -> None:
        await client.post("/talk", message("u1", "Count"))
        for number in (1, 2):
            for _ in range(3):
                model.let.release()
            await client.events("/talk/events", 3 if number == 1 else 5)
            if number == 1:
                assert (await client.post("/talk/u1/regenerate")).status == 202
        both = (await client.get("/talk/u1/branches")).json()
        assert len(both) == 2
        page = (await client.get("/talk")).json()
        assert ids(page["messages"]) == ["u1", both[1]]
        assert page["versions"] == {both[1]: both}
        assert (await client.post(f"/talk/{both[0]}/select")).status == 204
        assert ids((await client.get("/talk")).json()["messages"]) == ["u1", both[0]]
        assert model.asked == [["u1"], ["u1"]]

    serve(path, use)


def test_older_messages_are_paged_back_to(path: Path) -> None:
    with Sessions(path) as store:
        store.session("talk").append_messages([message(f"m{number:02}", "x" * 4_000) for number in range(40)])

    async def use(client: Client, _model: Slow) -> None:
        page = (await client.get("/talk")).json()
        seen: list[str] = ids(page["messages"])
        while page["truncated"]:
            page = (await client.get(f"/talk?before={seen[0]}")).json()
            seen = ids(page["messages"]) + seen
        assert seen == [f"m{number:02}" for number in range(40)]

    serve(path, use)


def test_an_answer_is_stopped(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docs.examples.chat_server.SAVE_SECONDS", 0)

    async def use(client: Client, model: Slow) -> None:
        await client.post("/talk", message("u1", "Count"))
        model.let.release()
        answer = (await client.events("/talk/events", 3))[-1]["message"]["id"]
        assert (await client.post(f"/talk/{answer}/stop")).status == 204
        stopped = (await client.events("/talk/events", 4))[-1]
        assert (stopped["type"], text_of(stopped["message"])) == ("update", "one ")
        assert stopped["message"]["parts"][0]["state"] == "aborted"
        assert (await client.post(f"/talk/{answer}/stop")).status == 204

    serve(path, use)


def test_an_answer_that_is_stopped_before_its_first_word_is_none(path: Path) -> None:
    async def use(client: Client, _model: Slow) -> None:
        await client.post("/talk", message("u1", "Count"))
        answer = (await client.events("/talk/events", 2))[-1]["message"]["id"]
        await client.post(f"/talk/{answer}/stop")
        assert (await client.events("/talk/events", 3))[-1]["type"] == "delete"
        assert ids((await client.get("/talk")).json()["messages"]) == ["u1"]

    serve(path, use)


def test_an_answer_that_is_stopped_as_it_is_stored_is_none(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that has begun is done, also where who waits for it is cancelled."""
    append = AsyncSession.append_message

    async def append_and_stop(session: AsyncSession, given: MessageLike, **options: Any) -> AppendResult:
        result = await append(session, given, **options)
        task = asyncio.current_task()
        if given["role"] == "assistant" and task is not None:
            task.cancel()
            await asyncio.sleep(0)
        return result

    monkeypatch.setattr(AsyncSession, "append_message", append_and_stop)

    async def use(client: Client, _model: Slow) -> None:
        await client.post("/talk", message("u1", "Count"))
        assert (await client.events("/talk/events", 3))[-1]["type"] == "delete"
        assert ids((await client.get("/talk")).json()["messages"]) == ["u1"]

    serve(path, use)


def test_an_answer_that_is_deleted_does_not_come_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docs.examples.chat_server.SAVE_SECONDS", 0)

    async def use(client: Client, model: Slow) -> None:
        await client.post("/talk", message("u1", "Count"))
        model.let.release()
        answer = (await client.events("/talk/events", 3))[-1]["message"]["id"]
        with Sessions(path) as other:
            other.session("talk").delete_messages([answer])
        model.let.release()
        model.let.release()
        await client.post("/talk", {**message("s1"), "role": "system"})
        events = await client.events("/talk/events", 5)
        assert [event["type"] for event in events] == ["append", "append", "update", "delete", "append"]
        assert ids((await client.get("/talk")).json()["messages"]) == ["u1", "s1"]

    serve(path, use)
    with Sessions(path) as store:
        assert ids(store.session("talk").tree()) == ["u1", "s1"]


def test_answers_that_a_crash_left_open_are_closed_at_the_start(path: Path) -> None:
    tool = {"type": "tool-x", "state": "input-available"}
    with Sessions(path) as store:
        store.session("empty").append_messages([message("u1", "Hello"), reply("a1", "", "streaming")])
        for name in ("talk", "other"):
            store.session(name).append_messages([message("u1", "Hello"), reply("a1", "Half a", "streaming")])
            store.session(name).update_message(
                {**reply("a1", "Half a"), "parts": [tool, *reply("a1", "Half a")["parts"]]}
            )

    async def use(client: Client, _model: Slow) -> None:
        assert ids((await client.get("/empty")).json()["messages"]) == ["u1"]
        for name in ("talk", "other"):
            parts = (await client.get(f"/{name}")).json()["messages"][-1]["parts"]
            assert [part["state"] for part in parts] == ["input-available", "aborted"]

    serve(path, use)


def test_it_starts_by_the_command_that_is_given(tmp_path: Path) -> None:
    """In a process of its own, with its own model, and ends when it is asked to, though a page listens."""
    command = command_of(chat_server, "uvicorn")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    module = [sys.executable, "-m", *command, "--port", str(port), "--log-level", "critical"]
    process = subprocess.Popen(module, cwd=tmp_path, env=environment())
    try:
        eventually(lambda: connected(port))
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/talk/events") as events:
            assert events.readline() == b"retry: 500\n"
            body = json.dumps(message("u1", "Hello")).encode()
            urllib.request.urlopen(f"http://127.0.0.1:{port}/talk", body).close()
            while not (line := events.readline()).startswith(b"data"):
                pass
            assert json.loads(line[6:])["message"] == message("u1", "Hello")
            process.terminate()
            process.wait(20)
    finally:
        process.kill()
        process.wait()
    with Sessions(tmp_path / "chat.db") as store:
        assert store.session("talk").get_message("u1") is not None


def test_the_page_is_served(path: Path) -> None:
    async def use(client: Client, _model: Slow) -> None:
        answer = await client.get("/")
        assert answer.status == 200
        assert answer.body.startswith(b"<!doctype html>")

    serve(path, use)
