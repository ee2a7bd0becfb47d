"""Our own export: sessions as JSON Lines, which an import reads back as equal ones.

A session is a header, a line for each of its steps, and an end, all in UTF-8:

    {"eventstore":1,"session":"trip"}
    {"type":"import","seq":3,"at":"2026-01-17T18:05:00.000000+00:00","id":"m1","role":"user","bytes":43,"tokens":6,⏎
     "body":{"id":"m1","role":"user","parts":[…]}}                                        (⏎: one line in the file)
    {"type":"select","seq":9,"at":"2026-01-17T18:09:12.250000+00:00","message":3}
    {"type":"end","steps":2}

The steps are those of `copying`: the session's log since its last clear, without the content of what was replaced or
deleted, and last its metadata. A message is named by the `seq` of its import, which `parent`, `message` and `deleted`
refer to. A file may hold any number of sessions, one behind the other.

A session is imported whole or not at all; those before a fault in the file stay. Into a session that holds nothing, and
held nothing since it was cleared, the steps are replayed: every read is then the same. Into any other they are merged:
see `jsonl_merge`. Both directions stream: memory holds the ids of one session, and one message.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from typing import Any, Final, Protocol

from eventstore import copying, driver, heads, log, overviews, tree
from eventstore.copying import Step
from eventstore.driver import Connection
from eventstore.errors import InvalidArgument
from eventstore.exchange.elements import first_keys
from eventstore.exchange.jsonl_lines import end_line, header_line, step_line
from eventstore.exchange.jsonl_merge import merge_into
from eventstore.exchange.jsonl_reader import REPORT_EVERY, Exported, read
from eventstore.infos import SessionInfo
from eventstore.names import check_session_id
from eventstore.reports import ImportReport
from eventstore.sessions import Sessions
from eventstore.store import Store
from eventstore.types import Progress, check_progress

__all__ = ["FORMAT", "Exported", "export", "import_file", "read", "recognises"]

FORMAT: Final = "eventstore"


def recognises(head: bytes) -> bool:
    """Whether a file that begins with `head` looks like this export."""
    return "eventstore" in first_keys(head)[:2]


# ---- out of a store


class Writable(Protocol):
    """What an export is written to."""

    def write(self, data: bytes, /) -> object:
        """Takes the next lines."""


def export(
    sessions: Sessions, names: Iterable[str] | None, file: Writable, progress: Progress | None = None
) -> list[str]:
    """Writes sessions to `file`, all of one state, and returns their names. `None` means every one that is listed.

    `progress` is told the messages passed and how many there are. One read transaction stays open until the end.
    Raises `InvalidArgument`, before anything is written, for a name that isn't listed and a file that takes no
    bytes; and what `file` raises.
    """
    check_store(sessions)
    if not callable(getattr(file, "write", None)) or isinstance(file, io.TextIOBase):
        raise InvalidArgument(f"file must be one that is open for writing bytes, not {file!r}")
    check_progress(progress)
    names = _checked(names)
    with sessions._store.read() as connection:
        infos = _listed(connection, names)
        done, total = 0, sum(info.messages for info in infos)
        for info in infos:
            _write(file, header_line(info.session_id))
            count = 0
            for step in _steps(connection, info.session_id):
                _write(file, step_line(step))
                count += 1
                done += step.type == "import"
                if progress is not None and count % REPORT_EVERY == 0:
                    with driver.calling_out():
                        progress(min(done, total), total)
            _write(file, end_line(count))
        return [info.session_id for info in infos]


def _write(file: Writable, data: bytes) -> None:
    with driver.calling_out():  # a file that was closed, or is open for text, is no damage of the store's
        file.write(data)


def _checked(names: object) -> list[str] | None:
    """The names, each once. Raises `InvalidArgument` for what are none."""
    if names is None:
        return None
    if isinstance(names, (str, bytes)) or not isinstance(names, Iterable):
        raise InvalidArgument(f"names must be a list of sessions' names, or None for all; not {names!r}")
    listed = list(names)
    for name in listed:
        check_session_id(name)
    return list(dict.fromkeys(listed))


def check_store(sessions: object) -> None:
    """Raises `InvalidArgument` for what isn't a store that files can be read into, or written from."""
    if not isinstance(sessions, Sessions):
        raise InvalidArgument(
            f"wanted a Sessions, not {sessions!r}; beside an AsyncSessions open one on the same file, in a thread"
        )


def _listed(connection: Connection, names: list[str] | None) -> list[SessionInfo]:
    """The sessions to export. All of them come in the order of their activity, so that an import lists them alike."""
    if names is None:
        return overviews.list_sessions(connection, heads.listed(connection, "", tree.ENDLESS, -1)[::-1])
    infos = []
    for name in names:
        if not _is_listed(connection, name):
            raise InvalidArgument(f"there is no session {name!r}: list_sessions() names those that are there")
        infos.append(overviews.session_info(connection, name))
    return infos


def _is_listed(connection: Connection, name: str) -> bool:
    key = log.session_key(connection, name)
    head = None if key is None else heads.load(connection, key)
    return head is not None and head.created_at is not None


def _steps(connection: Connection, name: str) -> Iterator[Step]:
    key = log.session_key(connection, name)
    return iter(()) if key is None else copying.steps(connection, key)


# ---- into a store


def import_file(
    sessions: Sessions, path: str | os.PathLike[str], progress: Progress | None = None
) -> Iterator[tuple[str, ImportReport]]:
    """Stores the sessions of the file at `path`, and gives (name, report) of each when it is committed.

    `progress` is told the bytes that are read and how many there are. Raises `InvalidExport` where the file makes no
    sense: nothing of the session that it then speaks of was written. `CannotOpen` if it can't be read at all.
    """
    check_store(sessions)
    check_progress(progress)
    for exported in read(path):
        yield exported.session, _import(sessions, exported, progress)


def _import(sessions: Sessions, exported: Exported, progress: Progress | None) -> ImportReport:
    store, name = sessions._store, exported.session
    metadata: dict[str, Any] = {}
    with sessions.transaction():
        given = _without_metadata(exported.steps(progress), metadata)
        if _is_blank(store, name):
            report = copying.replay_into(store, name, given, None)
        else:
            deleted = frozenset(seq for step in exported.steps() for seq in step.deleted)
            report = merge_into(store, name, given, deleted)
        _describe(sessions, name, metadata.get("metadata"))
    return report


def _without_metadata(given: Iterable[Step], found: dict[str, Any]) -> Iterator[Step]:
    """The steps about messages. Metadata is put into `found` instead: an equal one is not to be written again."""
    for step in given:
        if step.type != "metadata":
            yield step
        elif step.body is not None:
            found["metadata"] = step.body.value


def _is_blank(store: Store, name: str) -> bool:
    """Whether a session has nothing that a replay could meet: neither messages nor traces of deleted ones."""
    with store.read() as connection:
        if _is_listed(connection, name) and overviews.session_info(connection, name).messages:
            return False
        return all(step.type == "metadata" for step in _steps(connection, name))


def _describe(sessions: Sessions, name: str, metadata: dict[str, Any] | None) -> None:
    """Metadata of the session's own stays beside the export's, which win where both have a key.

    An exported session that holds nothing at all is listed too.
    """
    session = sessions.session(name)
    if metadata is not None:
        session.set_metadata(session.get_metadata() | metadata)
        return
    with sessions._store.read() as connection:
        listed = _is_listed(connection, name)
    if not listed:
        session.set_metadata({})
