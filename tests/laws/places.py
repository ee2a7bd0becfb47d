"""The table of all places where a caller's code runs inside a call.

A new place gets its line here, and with it all laws of `test_callers`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import attrs

from eventstore import (
    CompactResult,
    Event,
    Sessions,
    copying,
    create_compact_function,
    importing,
    measuring,
    reading,
    recover,
    scavenging,
    sessions,
)
from eventstore.exchange import files, jsonl, jsonl_reader
from projections import follow, mirror
from tests.laws.callers import CallersFile, CallersList, World
from tests.laws.verbs import WHEN, message

FEW = {
    copying: "REPORT_EVERY",
    jsonl: "REPORT_EVERY",
    jsonl_reader: "REPORT_EVERY",
    importing: "BATCH_ROWS",
    scavenging: "EMPTYINGS",
    reading: "TREE_WINDOW",
    sessions: "LIST_WINDOW",
}
"""After how much a caller's function is called, how much is read at once, how often something is tried: here, 2."""


@attrs.frozen
class Place:
    """One place where a caller's code runs."""

    run: Callable[[World], Any]
    """The call. It may be done again and again, also after a success."""
    options: Callable[[World], dict[str, Any]] = lambda _: {}
    """What the store is opened with."""
    keeps: bool = False
    """Whether what was done before it raised stays: parts of an import, what a listener hears of."""
    reported: bool = False
    """Whether an `Exception` that it raises is logged, and goes no further."""


def _counting(world: World) -> dict[str, Any]:
    return {"count_tokens": world.giving(1)}


def _preparing(world: World) -> dict[str, Any]:
    return {"prepare": world.same}


def _file(world: World) -> CallersFile:
    file = CallersFile()
    file.world = world
    return file


def _import_file(world: World) -> object:
    return list(files.import_file(world.sessions, world.exported(), world.here))


def _import_messages(world: World) -> object:
    path = world.new_path()
    path.write_text(json.dumps([message(world.new()) for _ in range(5)]))
    return list(files.import_file(world.sessions, path, world.here))


def _hearing(subscribe: Callable[[World], Any]) -> Callable[[World], None]:
    """What a subscription hears of a few writes."""

    def run(world: World) -> None:
        with subscribe(world):
            new = world.new()
            world.session.append_messages([message(new), message(world.new())])
            world.session.update_message(message(new, "changed"))
            world.session.delete_messages([new])

    return run


def _quietly(world: World, subscribe: Callable[[], Any]) -> Any:
    """Subscribes without a call of the caller's code: what it does as it begins has a line of its own."""
    act, world.act = world.act, None
    try:
        return subscribe()
    finally:
        world.arm(act, world.at)


def _connected(world: World) -> Any:
    """Of the signal itself."""
    signal = world.sessions.changed

    def receiver(_sender: object, event: Event) -> None:
        world.here(event)

    return signal.connected_to(receiver)


def _compacting(world: World, function: Any) -> object:
    """Something is there to be summarised, each time."""
    world.session.on_compaction(function)
    return world.session.compact()


def _summarizing(world: World, summarize: Callable[[str], str], **given: Any) -> object:
    """Something new is there to be summarised, each time."""
    world.session.append_messages([message(world.new()) for _ in range(8)])
    return _compacting(world, create_compact_function(summarize, keep_recent_tokens=0, **given))


def _auto(world: World) -> None:
    world.session.on_compaction(world.giving(CompactResult("m1", "m2", "they met")))
    try:
        world.session.compact_after(1).append_message(message(world.new()))
    finally:
        world.session.compact_after(None)


def _followed(world: World, **given: Any) -> Any:
    return follow(world.session, given.pop("messages", []), **given)


def _mirrored(world: World, **given: Any) -> Any:
    return mirror(world.session, given.pop("messages", []), **given)


def _reassigned(world: World) -> Any:
    held: list[list[Any]] = [[]]

    def get() -> list[Any]:
        world.here()
        return held[0]

    def put(entries: list[Any]) -> None:
        world.here()
        held[0] = entries

    return mirror(world.session, get=get, set=put)


WRITTEN: dict[str, Callable[[World], Any]] = {
    "append": lambda w: w.session.append_message(message(w.new())),
    "append by a client": lambda w: w.session.append_message(message(w.new()), source="client"),
    "append many": lambda w: w.session.append_messages([message(w.new()) for _ in range(3)]),
    "append a mapping": lambda w: w.session.append_message(w.mapping()),
    "update": lambda w: w.session.update_message(message("m2", w.new())),
    "update by a client": lambda w: w.session.update_message(message("m2", w.new()), source="client"),
    "upsert": lambda w: w.session.upsert_message(message(w.new())),
    "upsert by a client": lambda w: w.session.upsert_message(message("m2", w.new()), source="client"),
}
COUNTED = WRITTEN | {
    "import": lambda w: w.session.import_message(message(w.new()), parent_id=None, created_at=WHEN),
    "add a compaction": lambda w: w.session.add_compaction("they met", "m1", "m2"),
    "compact": lambda w: _compacting(w, lambda _: CompactResult("m1", "m2", "they met")),
}
LISTENING: dict[str, Callable[[World], Any]] = {
    "subscribe": lambda w: w.sessions.subscribe(w.here),
    "subscribe to a session": lambda w: w.session.subscribe(w.here),
    "subscribe after 0": lambda w: w.session.subscribe(w.here, after=0),
    "changed": _connected,
    "mirror, transform": lambda w: _mirrored(w, transform=w.same),
    "mirror, intercept": lambda w: _mirrored(w, intercept=w.giving(False)),
    "mirror, on_applied": lambda w: _mirrored(w, on_applied=w.here),
    "mirror, get and set": _reassigned,
    "mirror, list": lambda w: _mirrored(w, messages=CallersList(w)),
    "follow, transform": lambda w: _quietly(w, lambda: _followed(w, transform=w.same)),
    "follow, on_change": lambda w: _quietly(w, lambda: _followed(w, on_change=w.here)),
    "follow, list": lambda w: _quietly(w, lambda: _followed(w, messages=CallersList(w))),
}
GIVEN: dict[str, Callable[[World], Any]] = {
    "append_messages": lambda w: w.session.append_messages(w.each([message(w.new()), message(w.new())])),
    "delete_messages": lambda w: w.session.delete_messages(w.each(["m4", "nobody"])),
    "reserved_metadata_keys": lambda w: Sessions(w.path, reserved_metadata_keys=w.each(["a", "b"])).close(),
    "names of an export": lambda w: jsonl.export(w.sessions, w.each([w.session.session_id]), io.BytesIO()),
    "append_message": lambda w: w.session.append_message(w.mapping()),
    "append_message of a client": lambda w: w.session.append_message(w.mapping(), source="client"),
    "append_messages of mappings": lambda w: w.session.append_messages([w.mapping(), w.mapping()]),
    "update_message": lambda w: w.session.update_message(w.mapping("m2")),
    "update_message of a client": lambda w: w.session.update_message(w.mapping("m2"), source="client"),
    "upsert_message": lambda w: w.session.upsert_message(w.mapping()),
    "a mapping inside": lambda w: w.session.append_message(message(w.new()) | {"x": w.mapping()}),
    "import_message": lambda w: w.session.import_message(w.mapping(), parent_id=None, created_at=WHEN),
    "set_metadata": lambda w: w.session.set_metadata(w.mapping()),
}
TOLD: dict[str, Callable[[World], Any]] = {
    "verify": lambda w: w.sessions.verify(progress=w.here),
    "rebuild": lambda w: w.sessions.rebuild(progress=w.here),
    "backup": lambda w: w.sessions.backup(w.new_path(), progress=w.here),
    "scavenge": lambda w: w.sessions.scavenge(vacuum=True, progress=w.here),
    "copy_to": lambda w: w.session.copy_to(w.other(), progress=w.here),
    "copy_to of a path": lambda w: w.session.copy_to(w.other(), leaf_id="m3", progress=w.here),
    "recover": lambda w: recover(w.path, w.new_path(), progress=w.here),
    "export": lambda w: jsonl.export(w.sessions, [w.session.session_id], io.BytesIO(), w.here),
    "stats": lambda w: measuring.measure_session(w.sessions._store, w.session.session_id, w.here),
}

PLACES: dict[str, Place] = {
    **{f"count_tokens: {name}": Place(run, _counting) for name, run in COUNTED.items()},
    **{f"prepare: {name}": Place(run, _preparing) for name, run in WRITTEN.items()},
    **{f"progress: {name}": Place(run) for name, run in TOLD.items()},
    **{f"given: {name}": Place(run) for name, run in GIVEN.items()},
    **{f"heard: {name}": Place(_hearing(made), keeps=True, reported=True) for name, made in LISTENING.items()},
    "count_tokens: import many": Place(lambda w: w.session.import_messages(w.rows()), _counting, keeps=True),
    "progress: import many": Place(lambda w: w.session.import_messages(w.rows(), progress=w.here), keeps=True),
    "given: import_messages": Place(lambda w: w.session.import_messages(w.each(w.rows())), keeps=True),
    "progress: import_file": Place(_import_file, keeps=True),
    "progress: import_file of another format": Place(_import_messages, keeps=True),
    "write: export": Place(lambda w: jsonl.export(w.sessions, [w.session.session_id], _file(w))),
    "a compact function": Place(lambda w: _compacting(w, w.giving(CompactResult("m1", "m2", "they met")))),
    "summarize": Place(lambda w: _summarizing(w, w.giving("they met")), keeps=True),
    "count_tokens: summarize": Place(lambda w: _summarizing(w, lambda _: "met", count_tokens=w.giving(1)), keeps=True),
    "compact_after": Place(_auto, keeps=True, reported=True),
    "fill: follow, transform": Place(lambda w: _followed(w, transform=w.same).close()),
    "fill: follow, on_change": Place(lambda w: _followed(w, on_change=w.here).close()),
    "fill: follow, list": Place(lambda w: _followed(w, messages=CallersList(w)).close()),
}
"""Every place, by its name."""

ITERATORS: dict[str, Callable[[World], Iterator[object]]] = {
    "history": lambda w: w.session.history(),
    "history, newest first": lambda w: w.session.history(newest_first=True),
    "history_batches": lambda w: w.session.history_batches(batch_size=2),
    "tree": lambda w: w.session.tree(),
    "events": lambda w: w.sessions.events(w.sessions.latest_seq - 10),
    "events of a session": lambda w: w.session.events(),
    "list_sessions": lambda w: w.sessions.list_sessions(limit=10),
    "import_file": lambda w: files.import_file(w.sessions, w.exported()),
}
"""What a caller loops over, with code of his own between two things."""
