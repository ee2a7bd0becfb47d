"""Many processes for little: an interpreter that has loaded the packages, and forks for each script that it is given.

It opens no store itself: each script has an SQLite of its own, as in an interpreter of its own, and ends as one does.
`python -m tests.processes.nursery FD` reads from a socket a line for each: {"script", "arguments", "environment"} as
JSON, with four descriptors: the script's three streams, and a pipe on which its number is told, and at its end its
status.
"""

from __future__ import annotations

import array
import gc
import json
import os
import signal
import socket
import sys
from collections.abc import Sequence
from typing import Any

LARGEST = 65_536  # bytes that are read at once


def ask(asking: socket.socket, request: dict[str, Any], files: Sequence[int]) -> None:
    """Has a script run with these streams, and its status told on the last of the files."""
    socket.send_fds(asking, [json.dumps(request).encode() + b"\n"], files)


def _asked(asking: socket.socket) -> tuple[dict[str, Any] | None, array.array[int] | list[int]]:
    """The next request and its files. `None` when nobody asks any more."""
    line, files, _, _ = socket.recv_fds(asking, LARGEST, 4)
    while line and not line.endswith(b"\n"):
        line += asking.recv(LARGEST)
    return (json.loads(line) if line else None), files


def _fork_watched(files: Sequence[int]) -> bool:
    """Whether this is the script's process. Its number and its status are told by its parent, which is a fork too, so
    that the nursery waits for nobody."""
    *streams, told = files
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    number = os.fork()
    if number:
        for each in streams:
            os.close(each)
        os.write(told, f"{number}\n".encode())
        status = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
        os.write(told, f"{status}\n".encode())
        os._exit(0)
    os.close(told)
    for target, each in enumerate(streams):
        os.dup2(each, target)
        os.close(each)
    return True


def main() -> str:
    """Answers requests. In a script's process it returns that script, for the interpreter to end with it."""
    import eventstore

    for name in eventstore.__all__:
        getattr(eventstore, name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.collect()
    gc.freeze()  # no fork goes through what they share
    with socket.socket(fileno=int(sys.argv[1])) as asking:
        while True:
            request, files = _asked(asking)
            if request is None:
                sys.exit()
            if not os.fork() and _fork_watched(files):
                break
            for each in files:
                os.close(each)
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["-c", *request["arguments"]]
    assert sys.stdout is not None
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    return str(request["script"])


if __name__ == "__main__":
    exec(compile(main(), "<script>", "exec"), {"__name__": "__main__"})
