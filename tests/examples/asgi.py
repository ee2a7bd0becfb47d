"""A client of an ASGI application in the same loop: requests, streams that it leaves, the application's lifespan."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import attrs


@attrs.frozen
class Answer:
    status: int
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """Speaks to an application that is running."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def request(self, method: str, url: str, value: object = None, *, raw: bytes | None = None) -> Answer:
        body = raw if raw is not None else b"" if value is None else json.dumps(value).encode()
        parts = [part async for part in self._parts(method, url, body, {})]
        return Answer(parts[0], b"".join(parts[1:]))

    async def get(self, url: str) -> Answer:
        return await self.request("GET", url)

    async def post(self, url: str, value: object = None) -> Answer:
        return await self.request("POST", url, value)

    async def events(
        self, url: str, count: int, headers: dict[str, str] | None = None, value: object = None
    ) -> list[Any]:
        """The first so many server-sent events, of a GET or of the POST of a value. Then the client is gone."""
        found: list[Any] = []
        text = ""
        method, body = ("GET", b"") if value is None else ("POST", json.dumps(value).encode())
        parts = self._parts(method, url, body, headers or {})
        try:
            async for part in parts:
                text += part.decode() if isinstance(part, bytes) else ""
                *whole, text = text.split("\n\n")
                found += [json.loads(each.partition("data: ")[2]) for each in whole if "data: " in each]
                if len(found) >= count:
                    return found[:count]
        finally:
            await parts.aclose()
        return found

    async def _parts(self, method: str, url: str, body: bytes, headers: dict[str, str]) -> Any:
        """The status, then the body's pieces."""
        path, _, query = url.partition("?")
        gone = asyncio.Event()
        sent = [{"type": "http.request", "body": body, "more_body": False}]
        answers: asyncio.Queue[Any] = asyncio.Queue()

        async def receive() -> Any:
            if sent:
                return sent.pop()
            await gone.wait()
            return {"type": "http.disconnect"}

        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "path": path,
            "raw_path": path.encode(), "query_string": query.encode(), "root_path": "", "scheme": "http",
            "headers": [(key.encode(), text.encode()) for key, text in headers.items()],
        }  # fmt: skip
        task = asyncio.create_task(self.app(scope, receive, answers.put))
        task.add_done_callback(lambda _: answers.put_nowait(None))
        try:
            while (message := await answers.get()) is not None:
                if message["type"] == "http.response.start":
                    yield message["status"]
                elif message.get("body"):
                    yield message["body"]
                if message["type"] == "http.response.body" and not message.get("more_body"):
                    break
        finally:
            gone.set()
            await task


@asynccontextmanager
async def running(app: Any) -> AsyncIterator[Client]:
    """The application between its startup and its shutdown."""
    to_app: asyncio.Queue[Any] = asyncio.Queue()
    from_app: asyncio.Queue[Any] = asyncio.Queue()
    task = asyncio.create_task(app({"type": "lifespan", "asgi": {"version": "3.0"}}, to_app.get, from_app.put))
    to_app.put_nowait({"type": "lifespan.startup"})
    assert (await from_app.get())["type"] == "lifespan.startup.complete"
    yield Client(app)
    to_app.put_nowait({"type": "lifespan.shutdown"})
    assert (await from_app.get())["type"] == "lifespan.shutdown.complete"
    await task
