"""A store in another process, driven like one that is `Here`. The process serves one store after the other.

It is told what to do, and tells what came of it, as pickled values over a pipe. What fails there fails here, with the
lines of there.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from subprocess import Popen
from typing import Any

from eventstore import Event
from tests.processes.running import ROOT, TIMEOUT, environment
from tests.property.hearing import Here, Lists
from tests.property.limits import small_limits


class Process:
    """A process that waits for its work. Close it when done."""

    def __init__(self) -> None:
        self._pipe, other = Pipe()
        self._process = Popen(
            [sys.executable, "-m", "tests.property.elsewhere", str(other.fileno())],
            pass_fds=[other.fileno()],
            env=environment(),
            cwd=ROOT,
        )
        other.close()
        self._asked = 0

    def begin(self, *request: Any) -> Callable[[], Any]:
        """Asks, and gives what waits for the answer. Raises there `AssertionError` with what went wrong."""
        self._asked += 1
        number = self._asked
        self._pipe.send((number, request))

        def answered() -> Any:
            answers = None
            while answers != number:  # one that nobody waited for, since a test failed, is passed over
                assert self._pipe.poll(TIMEOUT), f"{request}: no answer"
                answers, done, answer = self._pipe.recv()
            assert done, f"in another process: {answer}"
            return answer

        return answered

    def close(self) -> None:
        self._pipe.close()
        self._process.kill()
        self._process.wait(TIMEOUT)


class Elsewhere:
    """A store of a process. It takes the place of the one that the process had before."""

    def __init__(self, process: Process, path: Path, *, small: bool, **options: Any) -> None:
        self._process = process
        process.begin("open", path, small, options)()

    def call(self, command: str, *arguments: Any) -> list[Event]:
        """As `Here.call`."""
        return self.begin(command, *arguments)()

    def begin(self, command: str, *arguments: Any) -> Callable[[], list[Event]]:
        """As `Here.begin`."""
        return self._process.begin("call", command, *arguments)

    def lists(self) -> Lists:
        found: Lists = self._process.begin("lists")()
        return found

    def close(self) -> None:
        self._process.begin("close")()


class Server:
    """The other end of the pipe."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._here: Here | None = None

    def open(self, path: Path, small: bool, options: dict[str, Any]) -> None:
        self.close()
        if small:
            self._stack.enter_context(small_limits())
        self._here = Here(path, **options)
        self._stack.callback(self._here.close)

    def close(self) -> None:
        self._stack.close()

    def answer(self, what: str, *arguments: Any) -> Any:
        """Does what it is asked for."""
        return getattr(self if what in ("open", "close") else self._here, what)(*arguments)


def serve(pipe: Connection) -> None:
    """Answers until nobody asks any more."""
    server = Server()
    while True:
        try:
            number, request = pipe.recv()
        except (EOFError, ConnectionError):
            return
        try:
            pipe.send((number, True, server.answer(*request)))
        except Exception:  # noqa: BLE001 - it is raised where it was asked for
            pipe.send((number, False, traceback.format_exc()))


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
