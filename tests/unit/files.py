"""Files as opening finds them: read whole, damaged on purpose, refused without a trace."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from eventstore import Sessions


def everything(folder: Path) -> dict[str, bytes]:
    """The files of a folder, byte for byte."""
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


def patch(path: Path, offset: int, data: bytes) -> None:
    """Overwrites bytes of a file."""
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def put_back(older: Path, path: Path) -> None:
    """SQLite's own way to put an older state in the place of a newer one, which is a commit."""
    with (
        closing(apsw.Connection(str(older))) as source,
        closing(apsw.Connection(str(path))) as target,
        target.backup("main", source, "main") as backup,
    ):
        backup.step()


def refused(path: Any, error: type[Exception], **options: Any) -> str:
    """How opening is refused, and that it leaves the folder as it is."""
    folder = Path(os.fsdecode(path)).parent
    before = everything(folder) if os.path.isdir(folder) else None
    with pytest.raises(error) as caught:
        Sessions(path, **options)
    assert type(caught.value) is error
    assert isinstance(caught.value, OSError)
    if before is not None:
        assert everything(folder) == before
    return str(caught.value)
