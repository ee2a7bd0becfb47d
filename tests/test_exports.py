"""The public names: sorted, all there, all explained, and what the surface promises of each."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any, get_args

import attrs
import pytest

import eventstore
import projections
from eventstore import Event, EventStoreError, InvalidArgument, Session, Sessions, errors, events, hints

PACKAGES = (
    eventstore,
    projections,
    importlib.import_module("eventstore.testing"),
    importlib.import_module("eventstore.exchange"),
)

VALUES = {"LATEST", "UNCHECKED"}
RESULTS = {
    "AppendResult",
    "Compaction",
    "ImportReport",
    "ImportRow",
    "MessageInfo",
    "RecentHistory",
    "SearchResult",
    "SessionInfo",
    "VerifyReport",
}


def classes(module: object, root: type) -> set[str]:
    """The names of a module's classes below `root`, and of `root`."""
    return {name for name, value in vars(module).items() if isinstance(value, type) and issubclass(value, root)}


ERRORS = classes(errors, EventStoreError)
EVENTS = classes(events, Event)
HANDLES = {"CompactResult", "Sessions", "Session", "StoreView", "Subscription"}
ALIASES = {"Message", "MessageLike", "Source", "Progress", "CompactFunction", "AsyncCompactFunction"}
FUNCTIONS = {"create_compact_function", "estimate_tokens"}

SIGNATURES = {
    (
        Sessions,
        "__init__",
    ): ("path *reserved_metadata_keys *retain *durability *busy_timeout *read_only *count_tokens *prepare"),
    (Sessions, "session"): "session_id",
    (Sessions, "delete_session"): "session_id",
    (Sessions, "list_sessions"): "*prefix *limit",
    (Sessions, "search"): "query *limit *role *since *until",
    (Sessions, "subscribe"): "listener *after",
    (Sessions, "events"): "after",
    (Sessions, "poll"): "",
    (Sessions, "watch"): "*interval",
    (Sessions, "tail"): "after *interval *timeout",
    (Sessions, "transaction"): "",
    (Sessions, "at"): "seq",
    (Sessions, "verify"): "*progress",
    (Sessions, "rebuild"): "*progress",
    (Sessions, "prune"): "idle_for *dry_run",
    (Sessions, "backup"): "path *progress",
    (Sessions, "scavenge"): "*vacuum *progress",
    (Sessions, "close"): "",
    (Session, "append_message"): "message *parent_id *expected_leaf *source",
    (Session, "append_messages"): "messages *parent_id *expected_leaf *source",
    (Session, "update_message"): "message *source",
    (Session, "upsert_message"): "message *parent_id *source",
    (Session, "delete_messages"): "message_ids",
    (Session, "delete_branch"): "message_id",
    (Session, "clear_messages"): "",
    (Session, "import_message"): "message *parent_id *created_at",
    (Session, "import_messages"): "rows *progress",
    (Session, "copy_to"): "other *leaf_id *progress",
    (Session, "info"): "",
    (Session, "get_metadata"): "",
    (Session, "set_metadata"): "metadata",
    (Session, "select_leaf"): "message_id",
    (Session, "history"): "*leaf_id *newest_first *compacted *before",
    (Session, "history_batches"): "*batch_size *max_batch_bytes *leaf_id *newest_first *before *compacted",
    (Session, "get_history"): "*leaf_id *newest_first *compacted *before",
    (Session, "get_recent_history"): "max_bytes *max_messages *leaf_id *compacted *before",
    (Session, "get_history_row_stats"): "*leaf_id",
    (Session, "get_message"): "message_id",
    (Session, "get_message_info"): "message_id",
    (Session, "get_branches"): "message_id",
    (Session, "tree"): "",
    (Session, "get_leaves"): "",
    (Session, "get_latest_leaf"): "*below",
    (Session, "get_compactions"): "",
    (Session, "on_compaction"): "function",
    (Session, "compact_after"): "tokens",
    (Session, "compact"): "*leaf_id",
    (Session, "add_compaction"): "summary from_message_id to_message_id *created_at",
    (Session, "token_estimate"): "*leaf_id *compacted",
    (Session, "search"): "query *limit *role *since *until",
    (Session, "subscribe"): "listener *after",
    (Session, "events"): "after",
    (Session, "tail"): "after *interval *timeout",
}
"""The parameters of each call, in any order where they are named; `*` marks those that must be."""


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: str(package.__name__))
def test_the_list_of_names_is_sorted_and_true(package: Any) -> None:
    names: list[str] = package.__all__
    assert names == sorted(names, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert len(names) == len(set(names))
    for name in names:
        assert getattr(package, name) is not None


def test_nothing_public_is_left_out_of_the_list() -> None:
    for name in eventstore.__all__:
        getattr(eventstore, name)  # some are imported when they are asked for
    found = {
        name for name, value in vars(eventstore).items() if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert found - {"TYPE_CHECKING"} == set(eventstore.__all__)


def test_a_name_that_is_not_there_is_said_to_be_missing() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        eventstore.nothing  # type: ignore[attr-defined]  # noqa: B018 - a type checker says so, too


LATER = {
    "aio", "backup", "checking", "compacting", "copying", "deleting", "describing", "events", "importing",
    "index", "infos", "linking", "measuring", "overlays", "overviews", "prepare", "pruning", "recovering",
    "replay", "reports", "scavenging", "searching", "summarizing", "tailing", "texts", "tokenizing", "updating",
    "views", "words",
}  # fmt: skip
"""Modules of ours that a process without listeners pays for at its first call that isn't an append or a read."""

LIBRARIES = {
    "apsw.unicode", "array", "asyncio", "bisect", "hashlib", "logging", "pybase64", "secrets", "struct", "urllib.parse",
}  # fmt: skip
"""What takes long to load, and few calls need."""


def test_an_import_brings_what_an_append_and_a_read_need_and_no_more() -> None:
    code = """
import eventstore, sys
session = eventstore.Sessions().session()
session.append_message({"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Hello"}]})
assert session.get_recent_history(1000).messages == session.get_history() != []
print(*sys.modules)
"""
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert not set(loaded) & (LIBRARIES | {f"eventstore.{name}" for name in LATER})
    assert {f"eventstore.{name}" for name in LATER} <= {
        module.name for module in pkgutil.iter_modules(eventstore.__path__, "eventstore.")
    }
    assert set(eventstore.__all__) <= set(dir(eventstore))


def test_all_that_was_promised_is_there() -> None:
    assert set(eventstore.__all__) >= VALUES | RESULTS | ERRORS | EVENTS | HANDLES | ALIASES | FUNCTIONS
    assert set(projections.__all__) >= {"mirror"}


@pytest.mark.parametrize(("owner", "method"), SIGNATURES, ids=lambda value: getattr(value, "__name__", value))
def test_calls_take_what_was_promised(owner: type, method: str) -> None:
    parameters = list(inspect.signature(getattr(owner, method)).parameters.values())[1:]
    found = {("*" if each.kind is each.KEYWORD_ONLY else "") + each.name for each in parameters}
    assert found == set(SIGNATURES[owner, method].split())
    for each in parameters:
        assert each.annotation is not each.empty
    assert inspect.getdoc(getattr(owner, method))


def test_annotations_of_public_calls_can_be_resolved() -> None:
    """In a process that has used none of what they speak of: as frameworks do with what they are given to call."""
    code = """
import inspect, typing
import eventstore, projections
from eventstore import *
for package in (eventstore, projections):
    for value in [getattr(package, name) for name in package.__all__]:
        calls = [value]
        if inspect.isclass(value):
            calls = [value.__init__, *(each for name, each in inspect.getmembers(value) if name[0] != "_")]
        for call in calls:
            call = call.fget if isinstance(call, property) else call
            if inspect.isfunction(call):
                typing.get_type_hints(call)
                inspect.signature(call, eval_str=True)
assert typing.get_type_hints(Session.search)["return"] == list[SearchResult]
assert typing.get_type_hints(Sessions.at)["return"] is StoreView
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_names_that_annotations_speak_of_are_the_packages_own() -> None:
    assert set(hints.HOMES) == set(eventstore.__all__)
    for name in hints.HOMES:
        assert getattr(hints, name) is getattr(eventstore, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        hints.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_what_is_offered_is_what_is_public() -> None:
    """`dir()`, and so the completion of shells and notebooks: no module of ours, nothing that another module lent."""
    code = """
import eventstore, eventstore.testing
shown = {name for name in dir(eventstore) if not name.startswith("__")}
assert shown - {"exchange"} == {*eventstore.__all__, "testing"}, shown ^ set(eventstore.__all__)
assert "__version__" in dir(eventstore)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_handles_show_what_they_are() -> None:
    with Sessions() as store:
        session = store.session("support")
        session.append_message({"id": "m1", "role": "user", "parts": []})
        subscription, following = store.subscribe(print), projections.follow(session, [])
        with store.at(1) as view:
            shown = [store, session, view, view.session("support"), subscription, following]
            assert [repr(each) for each in shown] == [
                "<Sessions ':memory:'>",
                "<Session 'support'>",
                "<StoreView at 1>",
                "<ReadableSession 'support'>",
                "<Subscription, open>",
                "<Following, open>",
            ]
        subscription.close()
        assert repr(subscription) == "<Subscription, closed>"


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps], ids=lambda copied: str(copied.__name__))
def test_handles_stay_in_their_process(copied: Callable[[object], object]) -> None:
    with Sessions() as store:
        store.session().append_message({"id": "m1", "role": "user", "parts": []})
        with store.at(1) as view:
            other = eventstore.AsyncSessions()
            for handle in (store, store.session(), view, view.session(), other, other.session()):
                with pytest.raises(InvalidArgument, match=r"open the file there, with Sessions\(path\)"):
                    copied(handle)


def test_every_public_call_is_in_the_table() -> None:
    for owner in (Sessions, Session):
        methods = {name for name, value in inspect.getmembers(owner, inspect.isfunction) if not name.startswith("_")}
        assert methods <= {name for of, name in SIGNATURES if of is owner}


def test_every_public_class_and_function_says_what_it_is() -> None:
    for package in PACKAGES:
        for name in package.__all__:
            value = getattr(package, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                assert (value.__doc__ or "").strip(), name


@pytest.mark.parametrize("name", sorted(RESULTS | EVENTS))
def test_results_and_events_are_frozen(name: str) -> None:
    kind: Any = getattr(eventstore, name)
    assert attrs.has(kind)
    assert kind.__setattr__ is not object.__setattr__
    assert hasattr(kind, "to_dict") or name == "ImportRow"


@pytest.mark.parametrize("name", sorted(RESULTS | EVENTS | {"CompactResult", "RecoveryReport"}))
def test_results_and_events_compare_and_show_as_attrs_has_it(name: str) -> None:
    kind: Any = getattr(eventstore, name)
    values = {field.name: f"some {field.name}" for field in attrs.fields(kind)}
    twin = attrs.make_class(name, list(values), frozen=True)(**values)
    one = kind(**values)
    assert one == kind(**values)
    assert hash(one) == hash(kind(**values))
    assert repr(one) == repr(twin)
    assert attrs.asdict(one) == values
    assert one != twin
    for field in values:
        assert attrs.evolve(one, **{field: "another"}) != one
        with pytest.raises(TypeError, match="unhashable"):
            hash(attrs.evolve(one, **{field: []}))


def test_event_types_are_the_promised_words() -> None:
    words = sorted(word for name in EVENTS - {"Event"} for word in get_args(get_type(getattr(eventstore, name))))
    assert " ".join(words) == "append clear compact compaction delete delete_session import metadata select update"


def get_type(kind: type) -> Any:
    return attrs.fields_dict(attrs.resolve_types(kind))["type"].type


PARENTS: dict[str, type[Exception]] = {
    "InvalidMessage": ValueError,
    "NotSerializable": TypeError,
    "InvalidArgument": ValueError,
    "InvalidCompaction": ValueError,
    "UnknownMessage": LookupError,
    "LeafChanged": EventStoreError,
    "StoreBusy": TimeoutError,
    "StoreClosed": RuntimeError,
    "StoreForked": eventstore.StoreClosed,
    "StoreFull": OSError,
    "CannotOpen": OSError,
    "NotAStore": eventstore.CannotOpen,
    "NewerStore": eventstore.CannotOpen,
    "ReadOnlyStore": eventstore.CannotOpen,
    "DamagedStore": eventstore.CannotOpen,
}


def test_every_error_is_ours_and_the_builtin_that_it_stands_for() -> None:
    assert set(PARENTS) | {"EventStoreError"} == ERRORS
    for name, parent in PARENTS.items():
        assert issubclass(getattr(eventstore, name), EventStoreError)
        assert issubclass(getattr(eventstore, name), parent)


@pytest.mark.parametrize(
    "error",
    [
        eventstore.NotSerializable("parts[2].input.when", "JSON has no datetime"),
        eventstore.UnknownMessage(["a", "b"], "s", "parent_id"),
        eventstore.UnknownMessage([f"m{n}" for n in range(100)], "s"),
        eventstore.LeafChanged("a", None),
        eventstore.StoreBusy("busy"),
        eventstore.InvalidMessage("wrong"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_come_through_pickling_with_their_facts(error: EventStoreError) -> None:
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is type(error)
    assert str(copied) == str(error)
    assert vars(copied) == vars(error)
    assert 0 < len(str(error)) < 300


def test_type_checkers_see_the_types() -> None:
    for package in (eventstore, projections):
        assert (Path(str(package.__file__)).parent / "py.typed").exists()
    assert metadata.version("eventstore-sessions") == eventstore.__version__
