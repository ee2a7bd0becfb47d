"""The law of wrong arguments: whatever is given to a public call, it works, or it is refused by an error of ours that
isn't taken for damage, and then nothing was changed."""

from __future__ import annotations

import inspect
import io
import math
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from eventstore import (
    CompactResult,
    DamagedStore,
    EventStoreError,
    ImportRow,
    InvalidArgument,
    Session,
    Sessions,
    StoreView,
    create_compact_function,
    measuring,
    recover,
)
from eventstore.exchange import files, jsonl
from eventstore.reading import ReadableSession
from projections import follow, mirror
from tests.laws.support import reads
from tests.laws.verbs import WHEN, message, prepare


class Unclear:
    """Neither true nor false."""

    def __bool__(self) -> bool:
        raise ValueError("it is unclear")


async def coroutine_function(*_: object) -> None:
    """What only an event loop can wait for."""


WRONG: tuple[Any, ...] = (
    *(0, 5, -1, 1.5, 2**70, -(2**70), math.nan, math.inf, True, False, None),
    *("", "x", "no", "half \ud83d", "NUL \0", "long" * 1_000, b"bytes", Path("/nowhere/x")),
    *([], {}, (), [5], {"a": 1}, {1}, iter([1]), object(), Unclear()),
    *(datetime(2020, 1, 1), WHEN, timedelta(1), timedelta.max, coroutine_function),
)
RIGHT: dict[str, dict[str, Any]] = {
    "append_message": {"message": message("new")},
    "append_messages": {"messages": [message("new")]},
    "import_message": {"message": message("new"), "parent_id": "m1", "created_at": WHEN},
    "import_messages": {"rows": [ImportRow(message("new"), parent_id=None, created_at=WHEN)]},
    "update_message": {"message": message("m1", "new")},
    "upsert_message": {"message": message("m1", "new")},
    "delete_messages": {"message_ids": ["m1"]},
    "delete_branch": {"message_id": "m1"},
    "select_leaf": {"message_id": "m1"},
    "set_metadata": {"metadata": {"new": 1}},
    "search": {"query": "hello"},
    "on_compaction": {"function": None},
    "compact_after": {"tokens": 5},
    "add_compaction": {"summary": "they met", "from_message_id": "m1", "to_message_id": "m2"},
    "subscribe": {"listener": print},
    "get_message": {"message_id": "m1"},
    "get_message_info": {"message_id": "m1"},
    "get_branches": {"message_id": "m1"},
    "session": {"session_id": "main"},
    "delete_session": {"session_id": "main"},
    "prune": {"idle_for": timedelta(1)},
    "at": {"seq": 1},
    "tail": {"timeout": 0},
}
"""Arguments that a method works with, where it needs some."""
LEFT_OUT = {("tail", "timeout"), ("backup", "path"), ("copy_to", "other")}
"""What would wait for ever, and what has a test of its own."""


@pytest.fixture
def sessions() -> Iterator[Sessions]:
    with Sessions() as store:
        prepare(store.session("main")).on_compaction(lambda _: None)
        yield store


def used(answer: Any) -> None:
    """What a call gives is looked at, and closed."""
    if isinstance(answer, Iterator):
        list(islice(answer, 10))
    elif hasattr(answer, "close"):
        answer.close()


def is_no_harm(call: Callable[[], object], sessions: Sessions) -> bool:
    """Whether a call works; refused, it must have changed nothing."""
    before = sessions.latest_seq
    refused = None
    try:
        used(call())
    except EventStoreError as error:
        refused = error
    assert type(refused) not in (DamagedStore, EventStoreError)
    assert refused is None or sessions.latest_seq == before
    return refused is None


def parameters(cls: type) -> list[tuple[str, str]]:
    """(method, parameter) of all public methods."""
    return [
        (name, parameter)
        for name, method in inspect.getmembers(cls, inspect.isfunction)
        if not name.startswith("_") and name not in ("close", "transaction")
        for parameter in list(inspect.signature(method).parameters)[1:]
        if (name, parameter) not in LEFT_OUT
    ]


@pytest.mark.parametrize(("name", "parameter"), parameters(Session))
def test_of_a_session(sessions: Sessions, name: str, parameter: str) -> None:
    session = sessions.session("main")
    for wrong in WRONG:
        given = {"other": sessions.session("copy")} if name == "copy_to" else RIGHT.get(name, {})
        if is_no_harm(lambda: getattr(session, name)(**{**given, parameter: wrong}), sessions):  # noqa: B023
            sessions.delete_session("copy")
            sessions.delete_session("main")
            prepare(session.compact_after(None))
    assert reads(sessions)


@pytest.mark.parametrize(("name", "parameter"), parameters(Sessions))
def test_of_a_store(sessions: Sessions, tmp_path: Path, name: str, parameter: str) -> None:
    for number, wrong in enumerate(WRONG):
        given = {"path": tmp_path / str(number)} if name == "backup" else RIGHT.get(name, {})
        is_no_harm(lambda: getattr(sessions, name)(**{**given, parameter: wrong}), sessions)  # noqa: B023
    assert sessions.verify().ok


@pytest.mark.parametrize("cls", [StoreView, ReadableSession])
def test_of_what_only_reads(sessions: Sessions, cls: type) -> None:
    view: Any = sessions.at(sessions.latest_seq)
    with view:
        of = view if cls is StoreView else view.session("main")
        for name, parameter in parameters(cls):
            for wrong in WRONG:
                is_no_harm(lambda: getattr(of, name)(**{**RIGHT.get(name, {}), parameter: wrong}), sessions)  # noqa: B023


def _opened(**given: Any) -> None:
    with Sessions(**given) as store:
        if not given.get("read_only"):
            store.session().append_message(message("a"), source="client")


def _compacted(**given: Any) -> None:
    with Sessions() as store:
        session = store.session()
        session.append_messages([message(str(number)) for number in range(30)])
        session.on_compaction(create_compact_function(**given)).compact()


def _result(**given: Any) -> None:
    with Sessions() as store:
        prepare(store.session()).on_compaction(lambda _: CompactResult(**given)).compact()


def _row(**given: Any) -> None:
    with Sessions() as store:
        store.session().import_messages([ImportRow(**given)])


FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[[Sessions, Path], dict[str, Any]]]] = {
    "Sessions": (_opened, lambda _, folder: {
        "path": folder / "opened.db", "reserved_metadata_keys": (), "retain": None, "durability": "full",
        "busy_timeout": 1.0, "read_only": False, "count_tokens": lambda _: 1, "prepare": None,
    }),
    "backup": (lambda sessions, path: sessions.backup(path), lambda s, folder: {"sessions": s, "path": folder / "b"}),
    "copy_to": (lambda session, other: session.copy_to(other), lambda s, _: {"session": s.session("main"), "other": 1}),
    "recover": (recover, lambda _, folder: {"source": folder / "store.db", "target": folder / "t", "progress": None}),
    "export": (jsonl.export, lambda s, _: {"sessions": s, "names": ["main"], "file": io.BytesIO(), "progress": None}),
    "import of our own": (jsonl.import_file, lambda s, folder: {"sessions": s, "path": folder / "e", "progress": None}),
    "import_file": (files.import_file, lambda s, folder: {
        "sessions": s, "path": folder / "e", "progress": None, "reread": False,
    }),
    "recognise": (files.recognise, lambda _, folder: {"path": folder / "e"}),
    "stats": (measuring.measure_session, lambda s, _: {"store": s._store, "name": "main", "progress": None}),
    "compact function": (_compacted, lambda *_: {
        "summarize": lambda _: "they met", "keep_recent_tokens": 0, "count_tokens": lambda _: 1,
    }),
    "result": (_result, lambda *_: {"from_message_id": "m1", "to_message_id": "m2", "summary": "they met"}),
    "row": (_row, lambda *_: {"message": message("a"), "parent_id": None, "created_at": WHEN}),
    "follow": (follow, lambda s, _: {
        "session": s.session("main"), "messages": [], "transform": None, "leaf_id": None, "compacted": True,
        "on_change": None,
    }),
    "mirror": (mirror, lambda s, _: {
        "session": s.session("main"), "messages": [], "after": None, "transform": None, "intercept": None,
        "on_applied": None,
    }),
}  # fmt: skip
OWN = {("copy_to", "session"), ("backup", "sessions"), ("stats", "store"), ("stats", "name")}
"""Parameters of these tests, and not of ours."""


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore:coroutine")
def test_of_a_function(sessions: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    with Sessions("store.db") as store, open("e", "wb") as file:
        prepare(store.session("exported"))
        jsonl.export(store, None, file)
    call, make = FUNCTIONS[name]
    for parameter in make(sessions, tmp_path):
        if (name, parameter) in OWN:
            continue
        for wrong in WRONG:
            is_no_harm(lambda: call(**{**make(sessions, tmp_path), parameter: wrong}), sessions)  # noqa: B023


FLAGS: dict[str, Callable[[Session, Any], object]] = {
    "history, compacted": lambda s, given: s.history(compacted=given),
    "history, newest_first": lambda s, given: s.history(newest_first=given),
    "history_batches": lambda s, given: s.history_batches(compacted=given),
    "get_history": lambda s, given: s.get_history(newest_first=given),
    "get_recent_history": lambda s, given: s.get_recent_history(compacted=given),
    "token_estimate": lambda s, given: s.token_estimate(compacted=given),
    "follow": lambda s, given: follow(s, [], compacted=given),
    "prune": lambda s, given: s.sessions.prune(timedelta(), dry_run=given),
    "scavenge": lambda s, given: s.sessions.scavenge(vacuum=given),
    "read_only": lambda _, given: Sessions("nowhere.db", read_only=given),
}


@pytest.mark.parametrize("call", FLAGS.values(), ids=FLAGS)
@pytest.mark.parametrize("wrong", ["no", 0, None, {}, Unclear()], ids=lambda wrong: type(wrong).__name__)
def test_a_flag_is_true_or_false(sessions: Sessions, call: Callable[[Session, Any], object], wrong: Any) -> None:
    with pytest.raises(InvalidArgument, match="must be True or False, not "):
        call(sessions.session("main"), wrong)


TELLING: dict[str, Callable[[Sessions, Path, Any], object]] = {
    "verify": lambda s, _, given: s.verify(progress=given),
    "rebuild": lambda s, _, given: s.rebuild(progress=given),
    "backup": lambda s, path, given: s.backup(path, progress=given),
    "scavenge": lambda s, _, given: s.scavenge(progress=given),
    "copy_to": lambda s, _, given: s.session("main").copy_to(s.session("copy"), progress=given),
    "import_messages": lambda s, _, given: s.session("main").import_messages([], progress=given),
    "recover": lambda _, path, given: recover(path, path, progress=given),
    "export": lambda s, _, given: jsonl.export(s, None, io.BytesIO(), given),
    "import of our own": lambda s, path, given: next(jsonl.import_file(s, path, given)),
    "import_file": lambda s, path, given: next(files.import_file(s, path, given)),
}


@pytest.mark.parametrize("call", TELLING.values(), ids=TELLING)
@pytest.mark.parametrize("wrong", ["x", 0, [], coroutine_function], ids=lambda wrong: type(wrong).__name__)
def test_progress_is_a_plain_function(
    sessions: Sessions, tmp_path: Path, call: Callable[[Sessions, Path, Any], object], wrong: Any
) -> None:
    before = sessions.latest_seq
    with pytest.raises(InvalidArgument, match="progress must be a"):
        call(sessions, tmp_path / "new", wrong)
    assert sessions.latest_seq == before
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "wrong",
    [5, None, object(), ImportRow(message("a"), parent_id=None, created_at=WHEN)],
    ids=lambda wrong: type(wrong).__name__,
)
def test_rows_are_any_number_of_rows(sessions: Sessions, wrong: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"rows must be an iterable of ImportRow values.* put one in a list"):
        sessions.session("main").import_messages(wrong)
