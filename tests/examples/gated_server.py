"""The chat's server in a process of its own, for the page's tests: its model says a word when a file allows it.

    python -m tests.examples.gated_server FILE PORT GATE

The model repeats the question. As long as the file GATE is there, it says no more words than that has bytes. Pages of
the history are small, so that few messages fill several.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import uvicorn

from docs.examples import chat_server
from eventstore import Message


class Gated:
    """A model that waits for its words to be allowed."""

    def __init__(self, gate: Path) -> None:
        self.gate = gate

    def allowed(self) -> float:
        return self.gate.stat().st_size if self.gate.exists() else float("inf")

    async def __call__(self, messages: list[Message]) -> AsyncIterator[str]:
        for number, word in enumerate(messages[-1]["parts"][0]["text"].split(" ")):
            while number >= self.allowed():
                await asyncio.sleep(0.01)
            yield f"{word} "


def main(path: str, port: str, gate: str) -> None:
    chat_server.SAVE_SECONDS = 0
    chat_server.PAGE_BYTES = 2_000
    chat_server.RETRY_MILLISECONDS = 50
    app = chat_server.create_app(Path(path), Gated(Path(gate)))
    uvicorn.run(app, port=int(port), log_level="warning", timeout_graceful_shutdown=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
