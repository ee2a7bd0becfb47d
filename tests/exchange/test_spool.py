"""Values that are put aside come back as they were, however many they are."""

from __future__ import annotations

import gc
import json
import resource
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventstore import CannotOpen, Sessions, StoreFull
from eventstore.exchange import jsonl, spool
from eventstore.exchange.files import import_file
from eventstore.exchange.spool import Spool
from eventstore.exchange.tools import Call, Result

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
) | st.builds(Call, st.text(), st.text(), st.integers())


@given(st.lists(st.tuples(VALUES, st.integers(0, 9)), max_size=12), st.booleans())
def test_what_is_put_aside_comes_back(steps: list[tuple[Any, int]], on_disk: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if on_disk:
            patch.setattr(spool, "IN_MEMORY", 10)
        held, model = Spool(), list[Any]()
        for value, look in steps:
            held.append(value)
            model.append(value)
            assert held[look % len(model)] == model[look % len(model)]  # between two that are added
        assert len(held) == len(model)
        assert [held[at] for at in reversed(range(len(model)))] == model[::-1]


def test_a_file_is_closed_with_its_spool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "IN_MEMORY", 10)
    held = Spool()
    held.append(Result("c", "x" * 100, {"type": "data-x"}))
    assert held[0].output == "x" * 100
    file = held._file
    del held
    gc.collect()
    assert file.closed


def _lines(folder: Path, count: int) -> Path:
    """A file of one conversation, most of which is put aside."""
    path = folder / "session.jsonl"
    said = ({"role": ("user", "assistant")[n % 2], "content": f"words {n} " + "x" * 1_000} for n in range(count))
    path.write_text("".join(json.dumps(each) + "\n" for each in said))
    return path


def _in_an_archive(folder: Path, count: int) -> Path:
    """The same, in an archive."""
    path = folder / "archive.zip"
    with ZipFile(path, "w") as archive:
        archive.write(_lines(folder, count), "session.jsonl")
    return path


def _exported(folder: Path, count: int) -> Path:
    """A file of the store's own, which is read from several places, in an archive: it is put aside whole."""
    path = folder / "export.zip"
    with Sessions() as sessions, ZipFile(path, "w") as archive:
        list(import_file(sessions, _lines(folder, count)))
        with open(folder / "export.jsonl", "wb") as file:
            jsonl.export(sessions, None, file)
        archive.write(file.name)
    return path


@contextmanager
def _full() -> Iterator[None]:
    """No file can grow."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def _without_a_folder() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", "/nowhere")
        yield


@pytest.mark.parametrize("made", [_lines, _in_an_archive, _exported], ids=["lines", "archive", "export"])
@pytest.mark.parametrize(("disk", "error"), [(_full, StoreFull), (_without_a_folder, CannotOpen)], ids=["full", "none"])
def test_where_nothing_can_be_put_aside_the_import_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    made: Callable[[Path, int], Path],
    disk: Callable[[], AbstractContextManager[None]],
    error: type[Exception],
) -> None:
    monkeypatch.setattr(spool, "IN_MEMORY", 10)
    path = made(tmp_path, 500)
    with Sessions() as sessions:
        with disk(), pytest.raises(error, match="TMPDIR"):
            list(import_file(sessions, path))
        gc.collect()  # what the spool still had to write is nobody's trouble
        assert list(sessions.list_sessions()) == []
        assert [report.imported for _, report in import_file(sessions, path)] == [500]
