"""One contract, two faces: the async store has the sync one's calls, and gives what that gives."""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from eventstore import (
    LATEST,
    AsyncReadableSession,
    AsyncSession,
    AsyncSessions,
    AsyncStoreView,
    Event,
    ImportRow,
    InvalidArgument,
    InvalidMessage,
    LeafChanged,
    NotSerializable,
    ReadableSession,
    ReadOnlyStore,
    Session,
    Sessions,
    StoreClosed,
    StoreView,
    UnknownMessage,
)
from eventstore.testing import Write, json_text, writes
from tests.aio.face import LOOPS, open_faced
from tests.unit.talk import ids, message

LONG_AGO = datetime(2001, 2, 3, 4, 5, 6, 7, UTC)

# ---- the same calls

PLAIN = {"session", "subscribe", "watch", "changed", "transaction", "on_compaction", "compact_after"}
PAIRS = [
    (Sessions, AsyncSessions),
    (Session, AsyncSession),
    (ReadableSession, AsyncReadableSession),
    (StoreView, AsyncStoreView),
]


def public(owner: type) -> set[str]:
    return {name for name in dir(owner) if not name.startswith("_")}


@pytest.mark.parametrize(("plain", "facing"), PAIRS, ids=lambda each: each.__name__)
def test_both_faces_have_the_same_calls(plain: type, facing: type) -> None:
    assert public(facing) - {"open"} == public(plain)


@pytest.mark.parametrize(
    ("plain", "facing", "name"),
    [(*pair, name) for pair in PAIRS for name in sorted(public(pair[0]) | {"__init__"})],
)
def test_with_the_same_arguments(plain: type, facing: type, name: str) -> None:
    sync, other = inspect.getattr_static(plain, name), inspect.getattr_static(facing, name)
    if isinstance(sync, property):
        return
    if name == "__init__" and plain is not Sessions:
        return
    ours, theirs = inspect.signature(sync), inspect.signature(other)
    assert [(each.name, each.kind, each.default) for each in ours.parameters.values()] == [
        (each.name, each.kind, each.default) for each in theirs.parameters.values()
    ]
    for parameter in ours.parameters.values():
        found = theirs.parameters[parameter.name].annotation
        assert parameter.name in ("self", "listener", "function") or found == as_async(parameter.annotation)
    gives = "None" if name == "__init__" else as_async(ours.return_annotation)
    assert theirs.return_annotation == gives
    is_coroutine = name not in PLAIN | {"__init__"} and "Iterator" not in gives
    assert inspect.iscoroutinefunction(other) == is_coroutine


def as_async(annotation: str) -> str:
    """How an annotation of the sync face reads on the other. (`transaction` is a decorated generator there.)"""
    if annotation == "Iterator[None]":
        return "AbstractAsyncContextManager[None]"
    annotation = annotation.replace("hints.", "")  # the face of a loop is imported late itself
    annotation = re.sub(r"\b(Session|ReadableSession|StoreView)\b", r"Async\1", annotation)
    return annotation if annotation == "Iterable[ImportRow]" else re.sub(r"\bIterator\b", "AsyncIterator", annotation)


# ---- the same answers


@pytest.fixture(params=["sync", *LOOPS])
def opener(request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """Opens stores with one of the faces."""
    closes: list[Callable[[], object]] = []

    def open(path: Any = ":memory:", **options: Any) -> Any:
        if request.param == "sync":
            store: Any = Sessions(path, **options)
        else:
            portal, store = open_faced(request.param, path, **options)
            closes.append(portal.close)
        closes.append(store.close)
        return store

    yield open
    for close in closes[::-1]:
        close()


@pytest.fixture
def store(opener: Callable[..., Any]) -> Any:
    return opener()


@pytest.fixture
def session(store: Any) -> Any:
    """q1 - a1 - q2, and a2 beside a1."""
    session = store.session("talk")
    session.append_messages([message("q1"), message("a1"), message("q2")])
    session.append_message(message("a2"), parent_id="q1")
    return session


def test_handles_are_the_same_each_time(store: Any) -> None:
    inner = getattr(store, "_inner", store)
    assert inner.session("a") is inner.session("a")
    assert inner.session("a").sessions is inner
    assert store.session("a").session_id == "a"
    with pytest.raises(InvalidArgument):
        store.session(5)


def test_a_cursor_that_the_log_has_not_reached(store: Any, session: Any) -> None:
    heard: list[int] = []
    store.subscribe(lambda event: heard.append(event.seq), after=6)
    session.append_messages([message("x"), message("y"), message("z")])
    assert heard == [5, 6, 7]  # whatever is new
    assert [event.seq for event in store.tail(after=6, timeout=0)] == [7]  # what is above it
    assert [event.seq for event in store.tail(after=9, timeout=0)] == []
    assert list(store.events(after=9)) == []


def test_a_compact_function_is_given_something(session: Any) -> None:
    given: list[Any] = []
    session.on_compaction(given.append)
    assert session.compact() is None
    assert [len(each) for each in given] == [2]
    session.clear_messages()
    assert session.compact() is None
    assert len(given) == 1  # an empty history has nothing to compact


def test_writes_answer(session: Any) -> None:
    assert session.append_message(message("a2")).inserted is False
    assert session.append_message(message("x"), expected_leaf="a2").inserted
    with pytest.raises(LeafChanged):
        session.append_message(message("y"), expected_leaf="a2")
    wrong: Any
    for wrong in (3, LATEST, message("x")):
        for append in (session.append_message, lambda given, **options: session.append_messages([given], **options)):
            with pytest.raises(InvalidArgument, match=r"expected_leaf must be .*; not .*: give the id of"):
                append(message("y"), expected_leaf=wrong)
    assert session.get_message("y") is None
    assert session.update_message(message("none")) is None
    assert session.upsert_message(message("x", "new")).inserted is False
    assert session.get_message("x") == message("x", "new")
    assert session.delete_messages(["x", "none"]) == ["x"]
    assert session.delete_branch("a1") == ["a1", "q2"]
    row = ImportRow(message("old"), parent_id="q1", created_at=LONG_AGO)
    assert session.import_message(row.message, parent_id="q1", created_at=LONG_AGO).inserted
    assert session.import_messages([row]).known == 1
    session.select_leaf("a2")
    session.set_metadata({"title": "T"})
    assert session.get_metadata() == {"title": "T"}
    assert ids(session.get_history()) == ["q1", "a2"]
    session.clear_messages()
    assert session.get_history() == []


def test_housekeeping_answers(opener: Callable[..., Any], tmp_path: Path) -> None:
    store = opener(tmp_path / "store.db", retain="all")
    session = store.session("talk")
    session.append_messages([message("a"), message("b"), message("c")])
    session.delete_messages(["b", "c"])
    told: list[tuple[int, int | None]] = []
    assert store.scavenge(vacuum=True, progress=lambda done, total: told.append((done, total))) == 2
    store.backup(tmp_path / "copy.db", progress=lambda done, total: told.append((done, total)))
    assert (4, 4) in told
    assert told[-1][0] == told[-1][1]
    with Sessions(tmp_path / "copy.db") as copy:
        assert ids(copy.session("talk").get_history()) == ["a"]
    assert [info.session_id for info in store.prune(timedelta(), dry_run=True)] == ["talk"]
    assert [info.session_id for info in store.prune(timedelta())] == ["talk"]
    assert list(store.list_sessions()) == []
    with store.transaction():
        for call in (store.scavenge, lambda: store.backup(tmp_path / "other.db")):
            with pytest.raises(InvalidArgument, match="transaction"):
                call()


def test_reads_answer(session: Any, store: Any) -> None:
    assert ids(session.history(leaf_id="q2")) == ["q1", "a1", "q2"]
    assert ids(session.history(newest_first=True)) == ["a2", "q1"]
    assert [ids(batch) for batch in session.history_batches(leaf_id="q2", batch_size=2)] == [["q1", "a1"], ["q2"]]
    assert ids(session.get_recent_history(max_messages=1).messages) == ["a2"]
    assert ids(session.get_history_row_stats(leaf_id="a1")) == ["q1", "a1"]
    assert ids(session.get_branches("q1")) == ["a1", "a2"]
    assert ids(session.get_leaves()) == ["a2", "q2"]
    assert ids(session.tree()) == ["q1", "a1", "q2", "a2"]
    assert session.get_latest_leaf(below="a1")["id"] == "q2"
    assert session.get_message_info("a2").parent_id == "q1"
    assert session.token_estimate() > 0
    assert session.info().messages == 4
    assert [info.session_id for info in store.list_sessions(prefix="ta", limit=1)] == ["talk"]
    assert (store.latest_seq, [event.seq for event in store.events(2)]) == (4, [3, 4])
    assert [event.seq for event in session.tail(3, timeout=0)] == [4]


@pytest.mark.parametrize("count", [0, 49, 50, 51, 270])
def test_windows_have_no_seams(store: Any, count: int) -> None:
    made = [message(f"m{number}") for number in range(count)]
    session = store.session()
    session.append_messages(made)
    expected = [each["id"] for each in made]
    assert ids(session.history()) == ids(session.tree()) == expected
    assert [event.seq for event in store.events()] == list(range(1, count + 1))
    assert [event.seq for event in store.tail(0, timeout=0)] == list(range(1, count + 1))


def test_errors_are_the_same(session: Any, opener: Callable[..., Any], tmp_path: Path) -> None:
    for call, error in (
        (lambda: session.append_message({"id": ""}), InvalidMessage),
        (lambda: session.append_message({**message("x"), "when": LONG_AGO}), NotSerializable),
        (lambda: session.append_message(message("x"), parent_id="none"), UnknownMessage),
        (lambda: session.select_leaf("none"), UnknownMessage),
        (lambda: list(session.history(leaf_id="none")), UnknownMessage),
        (lambda: list(session.history_batches(batch_size=0)), InvalidArgument),
        (lambda: list(session.events(-1)), InvalidArgument),
        (lambda: session.tail(interval=0), InvalidArgument),
        (lambda: session.subscribe(5), InvalidArgument),
        (lambda: session.subscribe(print, after="x"), InvalidArgument),
    ):
        with pytest.raises(error):
            call()
    opener(tmp_path / "s.db").close()
    reader = opener(tmp_path / "s.db", read_only=True)
    with pytest.raises(ReadOnlyStore):
        reader.session().append_message(message("x"))
    reader.close()
    reader.close()
    for call in (reader.poll, reader.session().info, reader.tail, reader.watch, lambda: list(reader.events())):
        with pytest.raises(StoreClosed):
            call()


class RolledBack(Exception):
    """Ends a transaction that leaves nothing."""


def roll_back(store: Any, write: Callable[[], object]) -> None:
    """Writes in a transaction that fails."""
    with suppress(RolledBack), store.transaction():
        write()
        raise RolledBack


def test_a_transaction_is_whole_or_not_at_all(session: Any, store: Any) -> None:
    heard: list[Event] = []
    store.subscribe(heard.append)
    with store.transaction():
        session.append_message(message("t1"))
        roll_back(store, lambda: session.append_message(message("t2")))
        store.session("other").append_message(message("t3"))
        assert ids(session.history()) == ["q1", "a2", "t1"]
        assert (heard, store.poll()) == ([], 0)
        with pytest.raises(InvalidArgument):
            store.close()
    assert [event.seq for event in heard] == [5, 6]
    roll_back(store, session.clear_messages)
    assert ids(session.get_history()) == ["q1", "a2", "t1"]
    assert len(heard) == 2


def test_views_in_time(session: Any, store: Any) -> None:
    with store.at(3) as view:
        assert (view.seq, ids(view.session("talk").get_history())) == (3, ["q1", "a1", "q2"])
        assert ids(view.session("talk").history(newest_first=True)) == ["q2", "a1", "q1"]
        assert [info.messages for info in view.list_sessions()] == [3]
    for call in (view.session("talk").get_history, view.__enter__):
        with pytest.raises(StoreClosed):
            call()


def test_what_can_be_long_tells_how_far_it_is(session: Any, store: Any) -> None:
    told: list[int] = []
    assert store.verify(progress=lambda done, _total: told.append(done)).ok
    store.rebuild(progress=lambda done, _total: told.append(done))
    assert told == [4, 4]

    def stop(_done: int, _total: int | None) -> None:
        raise RolledBack

    with pytest.raises(RolledBack):
        store.rebuild(progress=stop)
    assert len(list(session.tree())) == 4


def test_copies_within_a_store_and_between_two(session: Any, store: Any, opener: Callable[..., Any]) -> None:
    heard: list[Event] = []
    assert session.copy_to(store.session("copy"), leaf_id="q2").imported == 3
    if not hasattr(store, "_inner"):  # two async stores of one copy are on one loop: see the tests of that
        with opener() as other:
            other.subscribe(heard.append)
            assert session.copy_to(other.session()).imported == 4
            assert ids(other.session().get_history()) == ["q1", "a2"]
    assert ids(store.session("copy").get_history()) == ["q1", "a1", "q2"]


def test_listeners_hear_in_order_and_each_its_own(session: Any, store: Any) -> None:
    heard: list[Any] = []
    with store.subscribe(lambda event: heard.append(("store", event.seq))):
        session.subscribe(lambda event: heard.append(("session", event.seq)))
        store.session("other").subscribe(lambda event: heard.append(("other", event.seq)))
        session.subscribe(lambda event: event.message.clear())
        session.subscribe(lambda event: heard.append(event.message["id"]), after=3)
        session.append_messages([message("x"), message("y")])
    session.append_message(message("y"))
    assert heard == [
        "a2", ("store", 5), ("session", 5), "x", ("store", 6), ("session", 6), "y", ("session", 6), "y",
    ]  # fmt: skip


def test_polls_and_watches(opener: Callable[..., Any], tmp_path: Path) -> None:
    store = opener(tmp_path / "s.db")
    heard: list[int] = []
    store.subscribe(lambda event: heard.append(event.seq))
    with Sessions(tmp_path / "s.db") as other:
        other.session().append_messages([message("a"), message("b")])
        assert (store.poll(), store.poll(), heard) == (2, 0, [1, 2])
        other.session().append_message(message("c"))
        store.session().append_message(message("d"))
        assert heard == [1, 2, 3, 4]
        with store.watch(interval=0.001):
            other.session().append_message(message("e"))
            assert [event.seq for event in store.tail(4, timeout=0.2)] == [5]
            end = time.monotonic() + 20
            while len(heard) < 5 and time.monotonic() < end:
                time.sleep(0.005)
        assert heard == [1, 2, 3, 4, 5]


# ---- histories


def reads(session: Any, store: Any) -> str:
    """All that can be read of a session, times apart."""
    infos = [[info.id, info.parent_id, info.role, info.bytes, info.token_estimate, info.seq] for info in session.tree()]
    events = [event.to_dict() for event in store.events()]
    leaves = [info.id for info in session.get_leaves()]
    text = json_text([session.get_history(), infos, leaves, session.get_metadata(), events])
    return re.sub(r'\b(compaction_)?[0-9a-f]{32}\b|_at": ?"[^"]*"', "", text)  # summaries have ids of their own


@pytest.mark.parametrize("loop", LOOPS)
def test_the_same_history_gives_the_same_reads_and_events(loop: str) -> None:
    @settings(max_examples=15)
    @given(writes())
    def check(history: list[Write]) -> None:
        portal, store = open_faced(loop)
        try:
            heard: list[Event] = []
            expected: list[Event] = []
            store.subscribe(heard.append)
            with Sessions() as plain:
                plain.subscribe(expected.append)
                for write in history:
                    write.apply(store.session())
                    write.apply(plain.session())
                assert reads(store.session(), store) == reads(plain.session(), plain)
                assert [(event.type, event.seq) for event in heard] == [(event.type, event.seq) for event in expected]
        finally:
            store.close()
            portal.close()

    check()
