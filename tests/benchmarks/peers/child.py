"""`python -m tests.benchmarks.peers.child TASK MODULE:CLASS PATH …`: what a peer does in a process of its own.

It imports the adapter and nothing else before the work, so that the time to start is the peer's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.benchmarks.peers.contract import Store


def _open(adapter: str, path: str, conversation: str = "one") -> Store:
    module, _, name = adapter.partition(":")
    opened: Store = getattr(import_module(f"tests.benchmarks.peers.{module}"), name)(Path(path), "full", conversation)
    return opened


def start(adapter: str, path: str) -> None:
    """Reads the newest messages and says so; where only all can be had, all."""
    store = _open(adapter, path)
    found = store.everything() if "newest" in store.cannot else store.newest(50)
    assert found
    print("read", flush=True)
    store.close()


def append(adapter: str, path: str, conversation: str, number: str) -> None:
    """Says that it is ready, waits for a line, appends so many messages, and says that it has."""
    from tests.benchmarks.peers.field import fresh

    store = _open(adapter, path, conversation)
    items: list[Any] = fresh(store, int(number))
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        for item in items:
            store.append(item)
    except Exception as error:  # noqa: BLE001 - whatever a peer raises is its answer
        print(f"{type(error).__name__}: {error}".splitlines()[0], flush=True)
    else:
        print("done", flush=True)
    store.close()


def memory(adapter: str, path: str, way: str) -> None:
    """The peak of resident memory while all is read, above the start."""
    from tests.benchmarks.memory import peak_of

    store = _open(adapter, path)
    print(peak_of(store.everything if way == "everything" else store.stream))
    store.close()


_TASKS: dict[str, Callable[..., None]] = {"start": start, "append": append, "memory": memory}

if __name__ == "__main__":
    _TASKS[sys.argv[1]](*sys.argv[2:])
