"""How much there is: of one session, and of the whole store. What the command `stats` tells.

Of a store, messages, bytes and tokens are the sums of its sessions' heads, and no content is read. The shapes of trees
cost a step of an index a message. Only a session's models are asked of the messages themselves.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator

import attrs

from eventstore import driver, heads, log, messages, overviews, paths, replay, schema, tree
from eventstore.driver import Connection, fetch, fetch_one
from eventstore.errors import InvalidArgument
from eventstore.infos import SessionInfo
from eventstore.messages import Stretch
from eventstore.opening import MEMORY
from eventstore.shape import Shape, shape_of
from eventstore.store import Store
from eventstore.types import JsonReady, Message, Progress, check_progress

WINDOW = 100  # messages read at once for their models


@attrs.frozen
class Share(JsonReady):
    """What belongs to one role, or one model."""

    name: str
    messages: int
    bytes: int
    token_estimate: int


@attrs.frozen
class SessionStats(JsonReady):
    """One session. `attachments` counts each content once; `models` are those that messages name in their metadata."""

    session_id: str
    messages: int
    bytes: int
    token_estimate: int
    shape: Shape
    events: int
    compactions: int
    attachments: int
    attachment_bytes: int
    roles: tuple[Share, ...]
    models: tuple[Share, ...]


@attrs.frozen
class FileStats(JsonReady):
    """Where the bytes of a file are. `log` with attachments, `tables` for reads, `index` of search, `free` pages."""

    file: int
    wal: int
    log: int
    tables: int
    index: int
    free: int


@attrs.frozen
class StoreStats(JsonReady):
    """A whole store. `models` are those of its sessions' own metadata, with what those sessions hold."""

    sessions: int
    messages: int
    bytes: int
    token_estimate: int
    shape: Shape
    events: int
    attachments: int
    attachment_bytes: int
    roles: tuple[Share, ...]
    models: tuple[Share, ...]
    retain: str
    file: FileStats


# ---- a session


def measure_session(store: Store, name: str, progress: Progress | None = None) -> SessionStats:
    """The numbers of one session. Raises `InvalidArgument` for one that isn't listed. Its messages are read."""
    check_progress(progress)
    with store.read() as connection:
        session = paths.find_session(connection, name)
        head = None if session is None else heads.load(connection, session)
        if session is None or head is None or head.created_at is None:
            raise InvalidArgument(f"there is no session {name!r}: list_sessions() names those that are there")
        seqs = _seqs(connection, session)
        attachments, attachment_bytes = fetch_one(connection, _ATTACHED.format(_OF_SESSION), (session,))
        found = SessionStats(
            session_id=name,
            messages=head.messages,
            bytes=head.bytes,
            token_estimate=head.tokens,
            shape=shape_of(_chains(connection, session), seqs),
            events=len(replay.session_seqs(connection, name, 0, tree.ENDLESS)),
            compactions=len(overviews.compactions(connection, session)),
            attachments=attachments,
            attachment_bytes=attachment_bytes,
            roles=_roles(connection, "JOIN chain c ON c.key = m.chain WHERE c.session = ?", session),
            models=(),
        )
    return attrs.evolve(found, models=_models(store, seqs, found.messages, progress))


def _chains(connection: Connection, session: int) -> list[tuple[int, int, int]]:
    return fetch(connection, "SELECT key, parent, fork FROM chain WHERE session = ? ORDER BY key", (session,))


def _seqs(connection: Connection, session: int) -> dict[int, list[int]]:
    found: defaultdict[int, list[int]] = defaultdict(list)
    rows = fetch(
        connection,
        "SELECT m.chain, m.seq FROM chain c CROSS JOIN message m ON m.chain = c.key WHERE c.session = ? "
        "ORDER BY m.chain, m.seq",
        (session,),
    )
    for chain, seq in rows:
        found[chain].append(seq)
    return dict(found)


def _models(store: Store, seqs: dict[int, list[int]], total: int, progress: Progress | None) -> tuple[Share, ...]:
    found: dict[str, Share] = {}
    done = 0
    for chain, living in seqs.items():
        for start in range(0, len(living), WINDOW):
            some = living[start : start + WINDOW]
            with store.read() as connection:
                for message, (_, size, tokens) in _with_sizes(connection, Stretch(chain, some[0], some[-1] + 1)):
                    model = model_of(message)
                    if model is not None:
                        _add(found, model, 1, size, tokens)
            done += len(some)
            if progress is not None:
                with driver.calling_out():
                    progress(done, total)
    return _largest_first(found.values())


def _with_sizes(connection: Connection, stretch: Stretch) -> Iterator[tuple[Message, tuple[int, int, int]]]:
    sizes = fetch(
        connection,
        "SELECT seq, bytes, tokens FROM message WHERE chain = ? AND seq >= ? AND seq < ? ORDER BY seq",
        stretch,
    )
    return zip(messages.read(connection, stretch), sizes, strict=True)


def model_of(message: Message) -> str | None:
    """The model that a message names in its metadata."""
    metadata = message.get("metadata")
    model = metadata.get("model") if isinstance(metadata, dict) else None
    return model if isinstance(model, str) and model else None


# ---- a store


def measure_store(store: Store) -> StoreStats:
    """The numbers of a whole store, of one state. No message is read."""
    with store.read() as connection:
        infos = overviews.list_sessions(connection, heads.listed(connection, "", tree.ENDLESS, -1))
        shape = Shape()
        for (session,) in fetch(connection, "SELECT DISTINCT session FROM chain"):
            shape = shape.beside(shape_of(_chains(connection, session), _seqs(connection, session)))
        attachments, attachment_bytes = fetch_one(connection, _ATTACHED.format(""))
        return StoreStats(
            sessions=len(infos),
            messages=sum(info.messages for info in infos),
            bytes=sum(info.bytes for info in infos),
            token_estimate=sum(info.token_estimate for info in infos),
            shape=shape,
            events=fetch_one(connection, "SELECT count(*) FROM event")[0],
            attachments=attachments,
            attachment_bytes=attachment_bytes,
            roles=_roles(connection, ""),
            models=_models_of_sessions(infos),
            retain=log.setting(connection, "retain"),
            file=_file(connection, store.database.path),
        )


def _models_of_sessions(infos: Iterable[SessionInfo]) -> tuple[Share, ...]:
    models: dict[str, Share] = {}
    for info in infos:
        model = info.metadata.get("model")
        if isinstance(model, str) and model:
            _add(models, model, info.messages, info.bytes, info.token_estimate)
    return _largest_first(models.values())


def _add(shares: dict[str, Share], name: str, count: int, size: int, tokens: int) -> None:
    old = shares.get(name, Share(name, 0, 0, 0))
    shares[name] = Share(name, old.messages + count, old.bytes + size, old.token_estimate + tokens)


_ATTACHED = "SELECT count(*), coalesce(sum(bytes), 0) FROM attachment {}"
_OF_SESSION = "WHERE key IN (SELECT attachment FROM piece JOIN event e ON e.seq = event WHERE e.session = ?)"


def _roles(connection: Connection, where: str, *values: int) -> tuple[Share, ...]:
    rows = fetch(
        connection,
        "SELECT coalesce(v.role, a.role) AS name, count(*), sum(m.bytes), sum(m.tokens) "
        f"FROM message m JOIN event a ON a.seq = m.seq LEFT JOIN event v ON v.seq = m.current {where} GROUP BY name",
        values,
    )
    return _largest_first(Share(*row) for row in rows)


def _largest_first(shares: Iterable[Share]) -> tuple[Share, ...]:
    return tuple(sorted(shares, key=lambda share: (-share.messages, share.name)))


def _file(connection: Connection, path: str) -> FileStats:
    """Where the pages are, by the table that they belong to."""
    sizes = {"log": 0, "tables": 0, "index": 0}
    kinds = dict.fromkeys((*schema.READ_TABLES, *schema.READ_INDEXES), "tables")
    rows = fetch(
        connection,
        "SELECT coalesce(s.tbl_name, d.name), sum(d.pgsize) FROM main.dbstat d "
        "LEFT JOIN main.sqlite_schema s ON s.name = d.name WHERE d.aggregate = 1 GROUP BY 1",
    )
    for table, size in rows:
        sizes["index" if table.startswith("search") else kinds.get(table, "log")] += size
    page = fetch_one(connection, "PRAGMA main.page_size")[0]
    pages, free = (fetch_one(connection, f"PRAGMA main.{name}")[0] for name in ("page_count", "freelist_count"))
    on_disk = path != MEMORY
    return FileStats(
        file=_size(path) if on_disk else pages * page,
        wal=_size(f"{path}-wal") if on_disk else 0,
        free=free * page,
        **sizes,
    )


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
