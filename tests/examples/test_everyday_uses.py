"""Everyday uses that the examples leave out: an answer streamed in its own request's response, by Starlette.

(An agent with tools, a screen in its own thread, a worker with a cursor and a projection of one's own run in the how-to
pages; the worker that is killed in tests/processes.)
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from eventstore import UNCHECKED, AsyncSession, AsyncSessions, LeafChanged, Message, Sessions
from tests.examples.asgi import Client, running
from tests.examples.slow import Slow
from tests.unit.talk import message, reply


def streaming_app(sessions: AsyncSessions, words: Callable[[list[Message]], AsyncIterator[str]]) -> Starlette:
    """POST a message, or `{"regenerate": id}`, and read the answer as it is made. Whoever leaves, stops it."""

    async def answer(session: AsyncSession, parent_id: str) -> AsyncGenerator[bytes, None]:
        message_id, text, state = str(uuid4()), "", "aborted"
        context = await session.get_history(leaf_id=parent_id)
        await session.append_message(reply(message_id, ""), parent_id=parent_id)
        try:
            async for word in words(context):
                text += word
                if await session.update_message(reply(message_id, text)) is None:
                    return
                yield f"data: {json.dumps({'id': message_id, 'delta': word})}\n\n".encode()
            state = "done"
        finally:
            await asyncio.shield(session.update_message(reply(message_id, text, state)))

    async def post(request: Request) -> Response:
        session, body = sessions.session("talk"), await request.json()
        try:
            if "regenerate" in body:
                parent_id = body["regenerate"]
            else:
                expected = body.get("after", UNCHECKED)
                result = await session.append_message(body["message"], expected_leaf=expected, source="client")
                parent_id = result.message["id"]
        except LeafChanged as error:
            return Response(json.dumps({"leaf": error.actual}), 409)
        return StreamingResponse(answer(session, parent_id), media_type="text/event-stream")

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with sessions:
            yield

    return Starlette(routes=[Route("/", post, methods=["POST"])], lifespan=lifespan)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chat.db"


def serve(path: Path, use: Callable[[Client, Slow], Awaitable[None]]) -> None:
    async def main() -> None:
        model = Slow()
        async with asyncio.timeout(30), running(streaming_app(AsyncSessions(path), model)) as client:
            await use(client, model)

    asyncio.run(main())


def answers(path: Path) -> list[tuple[str, str]]:
    """(text, state) of all answers to u1, oldest first."""
    with Sessions(path) as store:
        found = store.session("talk").get_branches("u1")
        return [(each["parts"][0]["text"], each["parts"][0]["state"]) for each in found]


ASKED = {"message": message("u1", "Count"), "after": None}


def test_an_answer_is_read_as_it_is_stored(path: Path) -> None:
    async def use(client: Client, model: Slow) -> None:
        model.speak(6)
        for body in (ASKED, {"regenerate": "u1"}):
            answer = await client.post("/", body)
            assert answer.body.count(b"data: ") == 3
        assert model.asked == [["u1"], ["u1"]]
        assert (await client.post("/", {"message": message("u2"), "after": "u1"})).status == 409

    serve(path, use)
    assert answers(path) == [("one two three", "done")] * 2


def test_what_was_said_when_the_reader_left_is_stored(path: Path) -> None:
    async def use(client: Client, model: Slow) -> None:
        model.speak(2)
        assert len(await client.events("/", 2, value=ASKED)) == 2

    serve(path, use)
    assert answers(path) == [("one two ", "aborted")]


def test_an_answer_that_was_deleted_ends(path: Path) -> None:
    async def use(client: Client, model: Slow) -> None:
        asking = asyncio.create_task(client.post("/", ASKED))
        with Sessions(path) as other:
            session = other.session("talk")
            while not any(info.parent_id for info in session.tree()):
                await asyncio.sleep(0.005)
            session.delete_messages([session.get_branches("u1")[0]["id"]])
        model.speak(1)
        assert (await asking).body == b""

    serve(path, use)
    assert answers(path) == []
