"""A chat's server: messages come in by POST, pages read and listen, answers are stored as they grow.

    uvicorn --factory docs.examples.chat_server:echo_app --timeout-graceful-shutdown 1

An answer is written by a task of its own, into the store and nowhere else; pages hear of it as of everything: from the
log. So a client that goes away loses nothing, and several see the same. The page at `/` is one such client.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route

from eventstore import (
    UNCHECKED,
    AsyncSession,
    AsyncSessions,
    EventStoreError,
    LeafChanged,
    Message,
    UnknownMessage,
)

Model = Callable[[list[Message]], AsyncIterator[str]]
"""Given a conversation, gives the next answer, piece by piece."""

PAGE = Path(__file__).with_name("chat_page.html")
PAGE_BYTES = 64 * 1024
SAVE_SECONDS = 0.25  # how often a growing answer is stored
QUIET_SECONDS = 15  # after which a stream says that it is still there
RETRY_MILLISECONDS = 500  # after which a browser that lost its stream asks for it again


def as_json(value: object, status: int = 200) -> Response:
    """JSON in ASCII: half an emoji, which streams do cut, has no UTF-8."""
    return Response(json.dumps(value), status, media_type="application/json")


def answer_of(message_id: str, text: str, state: str) -> Message:
    """An assistant's message."""
    return {"id": message_id, "role": "assistant", "parts": [{"type": "text", "text": text, "state": state}]}


async def finish(session: AsyncSession, message: Message) -> None:
    """An answer that nobody writes any more: an empty one is none, since models refuse conversations with such."""
    if not any(part.get("text", part["type"] != "text") for part in message["parts"]):
        await session.delete_messages([message["id"]])
        return
    ended = [{**part, "state": "aborted"} if part.get("state") == "streaming" else part for part in message["parts"]]
    await session.update_message({**message, "parts": ended})


class Chat:
    """The server's calls, one for each route."""

    def __init__(self, sessions: AsyncSessions, model: Model) -> None:
        self.sessions = sessions
        self.model = model
        self.answering: dict[str, asyncio.Task[None]] = {}

    def session(self, request: Request) -> AsyncSession:
        return self.sessions.session(request.path_params["chat"])

    async def post(self, request: Request) -> Response:
        """Stores a message: 201 when it is new, 200 when it was there.

        `?after=` names the leaf that the client shows, and is empty when it shows an empty conversation: 409 when that
        isn't so any more.
        """
        session = self.session(request)
        after = request.query_params.get("after")
        result = await session.append_message(
            await request.json(), expected_leaf=UNCHECKED if after is None else after or None, source="client"
        )
        if result.inserted and result.message["role"] == "user":
            self.answer(session, result.message["id"])
        return as_json(result.to_dict(), 201 if result.inserted else 200)

    async def recent(self, request: Request) -> Response:
        """The newest messages, their versions, and the cursor to listen from; `?before=` pages back."""
        session, before = self.session(request), request.query_params.get("before")
        page = await session.get_recent_history(PAGE_BYTES, before=before, compacted=False)
        return as_json({**page.to_dict(), "versions": await self.versions(session, page.messages)})

    async def versions(self, session: AsyncSession, messages: list[Message]) -> dict[str, list[str]]:
        """Of each message that has siblings, their ids and its own, oldest first: for "< 2 / 2 >"."""
        first = await session.get_message_info(messages[0]["id"]) if messages else None
        if first is None:
            return {}
        parents = [first.parent_id, *(message["id"] for message in messages[:-1])]
        found = await asyncio.gather(*map(session.get_branches, parents), return_exceptions=True)
        return {
            message["id"]: [each["id"] for each in siblings]
            for message, siblings in zip(messages, found, strict=True)
            if isinstance(siblings, list) and len(siblings) > 1  # else it was deleted meanwhile: clients hear of it
        }

    async def regenerate(self, request: Request) -> Response:
        """Another answer beside the one that is there."""
        session, message_id = self.session(request), request.path_params["message"]
        if await session.get_message_info(message_id) is None:
            return as_json({"error": "no such message"}, 404)
        self.answer(session, message_id)
        return Response(status_code=202)

    async def stop(self, request: Request) -> Response:
        """Ends an answer that is being written: what it has stays."""
        task = self.answering.get(request.path_params["message"])
        if task is not None:
            task.cancel()
        return Response(status_code=204)

    async def branches(self, request: Request) -> Response:
        """What follows a message."""
        found = await self.session(request).get_branches(request.path_params["message"])
        return as_json([message["id"] for message in found])

    async def select(self, request: Request) -> Response:
        """Shows the most recent path through a message."""
        session = self.session(request)
        leaf = await session.get_latest_leaf(below=request.path_params["message"])
        if leaf is not None:
            await session.select_leaf(leaf["id"])
        return Response(status_code=204)

    async def events(self, request: Request) -> Response:
        """Server-sent events from a cursor on. A browser that reconnects says itself what it has seen.

        409 for a cursor that the log hasn't reached: it is another file's, so the client has to read anew.
        """
        given = request.headers.get("last-event-id") or request.query_params.get("after") or "0"
        if not (given.isascii() and given.isdecimal()):
            return as_json({"error": f"after must be an event's seq, not {given!r}"}, 400)
        cursor = int(given)
        latest = await self.sessions.latest_seq()
        if cursor > latest:
            return as_json({"latest": latest}, 409)
        lines = self.lines(self.session(request), cursor)
        return StreamingResponse(lines, media_type="text/event-stream", headers={"cache-control": "no-store"})

    async def lines(self, session: AsyncSession, cursor: int) -> AsyncIterator[str]:
        yield f"retry: {RETRY_MILLISECONDS}\n\n"
        while True:
            async for event in session.tail(after=cursor, timeout=QUIET_SECONDS):
                cursor = event.seq
                yield f"id: {cursor}\ndata: {json.dumps(event.to_dict())}\n\n"
            yield ": nothing new\n\n"  # so that nobody between takes the connection for dead

    # ---- answers

    def answer(self, session: AsyncSession, parent_id: str) -> None:
        """Begins an answer, whoever waits for it."""
        message_id = str(uuid4())
        task = asyncio.create_task(self.write_answer(session, parent_id, message_id))
        self.answering[message_id] = task
        task.add_done_callback(lambda _: self.answering.pop(message_id))

    async def write_answer(self, session: AsyncSession, parent_id: str, message_id: str) -> None:
        context = await session.get_history(leaf_id=parent_id)
        text, state = "", "streaming"
        try:
            await session.append_message(answer_of(message_id, "", "streaming"), parent_id=parent_id)
            saved = time.monotonic()
            async for piece in self.model(context):
                text += piece
                if time.monotonic() - saved > SAVE_SECONDS:
                    if await session.update_message(answer_of(message_id, text, "streaming")) is None:
                        return  # somebody deleted it meanwhile
                    saved = time.monotonic()
            state = "done"
        finally:
            await asyncio.shield(finish(session, answer_of(message_id, text, state)))

    async def begin(self) -> None:
        """Closes the answers that a crash left open."""
        for info in [each async for each in self.sessions.list_sessions()]:
            session = self.sessions.session(info.session_id)
            for leaf in await session.get_leaves():  # what is being written has nothing below it
                message = await session.get_message(leaf.id)
                if message is not None and "streaming" in [part.get("state") for part in message["parts"]]:
                    await finish(session, message)

    async def end(self) -> None:
        """Ends the answers that are being written: what they have is stored."""
        tasks = list(self.answering.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def page(_request: Request) -> Response:
    """The page, a client of these calls."""
    return FileResponse(PAGE)


async def refused(_request: Request, error: Exception) -> Response:
    """What the store refuses is the client's fault, and says what is wrong."""
    if isinstance(error, LeafChanged):
        return as_json({"leaf": error.actual}, 409)
    return as_json({"error": str(error)}, 404 if isinstance(error, UnknownMessage) else 400)


def create_app(path: Path, model: Model) -> Starlette:
    """The application, on one file."""
    sessions = AsyncSessions(path, reserved_metadata_keys=["model"])
    chat = Chat(sessions, model)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with sessions:
            await chat.begin()
            yield
            await chat.end()

    return Starlette(
        routes=[
            Route("/", page),
            Route("/{chat}", chat.recent, methods=["GET"]),
            Route("/{chat}", chat.post, methods=["POST"]),
            Route("/{chat}/events", chat.events),
            Route("/{chat}/{message:path}/regenerate", chat.regenerate, methods=["POST"]),
            Route("/{chat}/{message:path}/stop", chat.stop, methods=["POST"]),
            Route("/{chat}/{message:path}/branches", chat.branches),
            Route("/{chat}/{message:path}/select", chat.select, methods=["POST"]),
        ],
        lifespan=lifespan,
        exception_handlers={EventStoreError: refused, json.JSONDecodeError: refused},
    )


async def echo(messages: list[Message]) -> AsyncIterator[str]:
    """A model that repeats the question, slowly."""
    for word in " ".join(str(part.get("text", part["type"])) for part in messages[-1]["parts"]).split():
        await asyncio.sleep(0.1)
        yield word + " "


def echo_app() -> Starlette:
    """The application with a model that needs no key."""
    return create_app(Path("chat.db"), echo)
