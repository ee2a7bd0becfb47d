"""SQLite's calls into the operating system, made to fail: below every file layer, shared memory and checkpoints too.

An error that a Python file layer raises goes on to whoever called SQLite, also where SQLite passes it over (at a
checkpoint behind a commit, say). Here SQLite sees what it would see of a failing disk: -1 and an errno.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import gc
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import apsw

_LONG, _INT, _POINTER = ctypes.c_long, ctypes.c_int, ctypes.c_void_p
CALLS: dict[str, tuple[Any, ...]] = {
    "open": (_INT, ctypes.c_char_p, _INT, _INT),
    "access": (_INT, ctypes.c_char_p, _INT),
    "fstat": (_INT, _INT, _POINTER),
    "ftruncate": (_INT, _INT, _LONG),
    "fcntl": (_INT, _INT, _INT, _POINTER),
    "pread": (_LONG, _INT, _POINTER, ctypes.c_size_t, _LONG),
    "pread64": (_LONG, _INT, _POINTER, ctypes.c_size_t, _LONG),
    "read": (_LONG, _INT, _POINTER, ctypes.c_size_t),
    "pwrite": (_LONG, _INT, _POINTER, ctypes.c_size_t, _LONG),
    "pwrite64": (_LONG, _INT, _POINTER, ctypes.c_size_t, _LONG),
    "write": (_LONG, _INT, _POINTER, ctypes.c_size_t),
    "unlink": (_INT, ctypes.c_char_p),
    "mmap": (_POINTER, _POINTER, ctypes.c_size_t, _INT, _INT, _INT, _LONG),
}
"""What SQLite calls, with the types of its result and arguments. It doesn't let its fsync be replaced."""
ERRORS = (errno.EIO, errno.ENOSPC)
SUPPORTED = sys.platform == "linux" and ctypes.sizeof(ctypes.c_void_p) == 8


def _lets_go(_file: int, command: int, argument: int | None) -> bool:
    """Whether a call of fcntl gives a lock back."""
    return command == fcntl.F_SETLK and ctypes.c_short.from_address(argument or 0).value == fcntl.F_UNLCK


class Syscalls:
    """Replaces the calls as long as it is entered, for the whole process. As `Failing` in `faults`.

    SQLite calls while it holds a mutex of its file layer. Garbage that Python collects inside a call may be an open
    connection, and the end of that waits for the same mutex in the same thread, for ever: so none is collected.
    """

    def __init__(self) -> None:
        self._vfs = apsw.VFS("calls", "unix")
        self._kept: list[Any] = []
        self._left = 0
        self._lasting = False
        self._armed = self._hit = False
        self._error = errno.EIO

    def fail(self, number: int, way: int, *, lasting: bool) -> None:
        """The call of that number fails from now on; with `lasting` all after it too."""
        self._left, self._error, self._lasting, self._armed = number, ERRORS[way % len(ERRORS)], lasting, True

    def mend(self) -> bool:
        """Nothing fails any more. Whether anything did."""
        hit, self._hit, self._armed = self._hit, False, False
        return hit

    def _fails(self) -> bool:
        if not self._armed:
            return False
        self._left -= 1
        if self._left == 0 or (self._lasting and self._left < 0):
            self._hit = True
            ctypes.set_errno(self._error)
            return True
        return False

    def _replacement(self, name: str, address: int) -> Any:
        kind = ctypes.CFUNCTYPE(*CALLS[name], use_errno=True)
        original: Callable[..., Any] = kind(address)

        def call(*arguments: Any) -> Any:
            if name == "fcntl" and _lets_go(*arguments):  # no system refuses that
                return original(*arguments)
            return -1 if self._fails() else original(*arguments)

        return kind(call)

    def __enter__(self) -> Self:
        self._collects = gc.isenabled()
        gc.disable()
        for name in CALLS:
            address = self._vfs.xGetSystemCall(name)
            if address:
                replacement = self._replacement(name, address)
                self._kept.append(replacement)
                assert self._vfs.xSetSystemCall(name, ctypes.cast(replacement, _POINTER).value or 0)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._armed = False
        self._vfs.xSetSystemCall(None, 0)
        self._vfs.unregister()
        if self._collects:
            gc.enable()
