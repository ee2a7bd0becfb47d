"""What a reply that grows by updates costs on disk: bytes are counted where SQLite writes them, in its VFS."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw
import attrs

from eventstore import Message
from tests.benchmarks.bench import Bench
from tests.benchmarks.material import opened
from tests.benchmarks.measure import Line, compare_bytes

MOST_WRITTEN = 60_000_000
LINEAR = 3  # times as much for twice the updates: linear is 2 give or take a step, quadratic 4
_WORD = "word "


class CountingVFS(apsw.VFS):
    """SQLite's own VFS, with every byte counted that goes through it, into whichever file."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.written = 0
        self.read = 0
        super().__init__("counting", base, makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return _CountingFile(self, name, flags)


class _CountingFile(apsw.VFSFile):
    def __init__(self, vfs: CountingVFS, name: Any, flags: list[int]) -> None:
        super().__init__(vfs.base, name, flags)
        self._vfs = vfs

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self._vfs.read += amount
        return super().xRead(amount, offset)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        self._vfs.written += len(data)
        super().xWrite(data, offset)


@contextmanager
def counting() -> Iterator[CountingVFS]:
    """Counts what all connections write that are opened in the block."""
    vfs = CountingVFS(apsw.vfs_names()[0])
    try:
        yield vfs
    finally:
        vfs.unregister()


@attrs.frozen
class Cost:
    """What a grown reply cost, in bytes: all that was written, and the file that is left."""

    written: int
    file: int


def grow(bench: Bench, updates: int, size: int, retain: str) -> Cost:
    """Grows a reply to `size` bytes by so many updates, closes the store and weighs it."""
    path = bench.folder.new_file()
    text = (_WORD * (size // len(_WORD) + 1))[:size]
    with counting() as vfs:
        with opened(path, retain=retain) as sessions:
            session = sessions.session()
            session.append_message(_reply(""))
            for number in range(1, updates + 1):
                session.update_message(_reply(text[: size * number // updates]))
        return Cost(vfs.written, path.stat().st_size)


def _reply(text: str) -> Message:
    return {"id": "reply", "role": "assistant", "parts": [{"type": "text", "text": text}]}


def grow_reply(bench: Bench) -> list[Line]:
    """The text of a streamed reply, kept after every piece of it."""
    updates, size = bench.sizes.updates, bench.sizes.reply
    cost = grow(bench, updates, size, "current")
    every = grow(bench, updates, size, "all")
    half = grow(bench, updates // 2, size // 2, "all")
    what = f"reply of {size // 1000:,} KB, {updates:,} updates"
    return [
        compare_bytes(f"{what}: written", "the reply", cost.written, size, MOST_WRITTEN, "ours"),
        compare_bytes(f"{what}: file", "the reply", cost.file, size, 3),
        compare_bytes(f'{what}, retain="all": written', "half as many", every.written, half.written, LINEAR),
        compare_bytes(f'{what}, retain="all": file', "half as many", every.file, half.file, LINEAR),
    ]
