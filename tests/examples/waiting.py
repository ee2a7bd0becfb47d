"""Waiting for what another process, or a browser, is about to do."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Any

LONG = 20.0


def connected(port: int) -> bool:
    """Whether somebody listens there."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def eventually(holds: Callable[[], object]) -> None:
    """Waits until it holds, and fails with the assertion of the last try when that takes too long."""
    limit = time.monotonic() + LONG
    while True:
        try:
            assert holds()
        except AssertionError:
            if time.monotonic() > limit:
                raise
            time.sleep(0.02)
        else:
            return


def shows(seen: Callable[[], Any], expected: Any) -> None:
    """Waits until what is seen is what is expected."""

    def holds() -> bool:
        found = seen()
        assert found == expected
        return True

    eventually(holds)
