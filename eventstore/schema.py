"""The file format: which tables there are, version by version. `docs/format.md` tells what each column means.

Two kinds of tables. The *log* (`event`, `piece`, `deletion`, `name`, `attachment`, `attachment_slice`) is the truth and
is only ever added to, bodies apart, which retention takes away. The *read tables* are a fold of the log: dropping them
and replaying gives the same rows. A later version changes the log by a migration here, and read tables by a rebuild.
"""

from __future__ import annotations

from collections.abc import Callable

from eventstore.driver import Connection

APPLICATION_ID = 0x45565354  # "EVST", at byte 68 of the file
VERSION = 2
OLDEST_READABLE = 1  # a store of such a version is read as it is, where it can't be migrated
PAGE_SIZE = 2_048  # what costs at an append is pages dirtied per commit: see docs/design.md

LOG_TABLES = (
    """CREATE TABLE event (
        seq INTEGER PRIMARY KEY,
        session INTEGER NOT NULL,
        back INTEGER NOT NULL,
        type INTEGER NOT NULL,
        recorded_at INTEGER NOT NULL,
        id TEXT,
        message INTEGER,
        parent INTEGER,
        touch INTEGER,
        role TEXT,
        bytes INTEGER,
        tokens INTEGER,
        created_at INTEGER,
        base INTEGER,
        digest INTEGER,
        flags INTEGER NOT NULL,
        body TEXT
    )""",
    """CREATE TABLE piece (
        event INTEGER NOT NULL,
        n INTEGER NOT NULL,
        version INTEGER NOT NULL,
        at INTEGER NOT NULL,
        text TEXT,
        attachment INTEGER,
        PRIMARY KEY (event, n)
    ) WITHOUT ROWID""",
    """CREATE TABLE deletion (
        event INTEGER NOT NULL,
        n INTEGER NOT NULL,
        message INTEGER NOT NULL,
        PRIMARY KEY (event, n)
    ) WITHOUT ROWID""",
    "CREATE TABLE name (session INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    "CREATE TABLE attachment (key INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, bytes INTEGER NOT NULL)",
    "CREATE TABLE attachment_slice (number INTEGER PRIMARY KEY, bytes BLOB NOT NULL)",
    "CREATE INDEX piece_attachment ON piece (attachment) WHERE attachment IS NOT NULL",
    "CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
)

READ_TABLES: dict[str, str] = {
    "message": """(
        chain INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        current INTEGER,
        bytes INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        PRIMARY KEY (chain, seq)
    ) WITHOUT ROWID""",
    "identity": """(
        hash INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        chain INTEGER NOT NULL,
        PRIMARY KEY (hash, seq)
    ) WITHOUT ROWID""",
    "chain": """(
        key INTEGER PRIMARY KEY,
        session INTEGER NOT NULL,
        parent INTEGER NOT NULL,
        fork INTEGER NOT NULL
    )""",
    "selection": """(
        session INTEGER NOT NULL,
        message INTEGER NOT NULL,
        chain INTEGER NOT NULL,
        event INTEGER NOT NULL,
        PRIMARY KEY (session, message)
    ) WITHOUT ROWID""",
    "overlay": """(
        session INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        first INTEGER NOT NULL,
        first_chain INTEGER NOT NULL,
        last INTEGER NOT NULL,
        last_chain INTEGER NOT NULL,
        below INTEGER,
        shown INTEGER NOT NULL,
        earlier INTEGER,
        PRIMARY KEY (session, seq)
    ) WITHOUT ROWID""",
    "head": """(
        session INTEGER PRIMARY KEY,
        last INTEGER NOT NULL,
        touch INTEGER,
        leaf INTEGER,
        leaf_chain INTEGER,
        messages INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        metadata INTEGER,
        created_at INTEGER,
        updated_at INTEGER NOT NULL
    )""",
}
READ_INDEXES = {"chain_fork": "chain (session, parent, fork)", "overlay_end": "overlay (last_chain, last, seq)"}


def create_read_tables(connection: Connection, schema: str = "main") -> None:
    """Makes the read tables, empty, in `main`, or in `temp`, where they hide the file's."""
    for table, columns in READ_TABLES.items():
        connection.execute(f"CREATE TABLE {schema}.{table} {columns}")
    for index, columns in READ_INDEXES.items():
        connection.execute(f"CREATE INDEX {schema}.{index} ON {columns}")


def drop_read_tables(connection: Connection, schema: str = "main") -> None:
    """Drops what `create_read_tables` made."""
    for table in READ_TABLES:
        connection.execute(f"DROP TABLE {schema}.{table}")


def prepare_file(connection: Connection) -> None:
    """What must be set before the first table: page size, and freed pages that can be given back later."""
    connection.pragma("page_size", PAGE_SIZE)
    connection.pragma("auto_vacuum", "incremental")


def create(connection: Connection) -> None:
    """Makes an empty store, inside the caller's transaction."""
    for statement in LOG_TABLES:
        connection.execute(statement)
    create_read_tables(connection)
    connection.execute("INSERT INTO setting VALUES ('retain', 'current')")
    connection.pragma("application_id", APPLICATION_ID)
    connection.pragma("user_version", VERSION)


MIGRATIONS: dict[int, Callable[[Connection], None]] = {
    1: lambda _: None,  # rows of parts alone come, and those of whole messages stay
}
"""From version n to n + 1, by n. Each runs inside the opening transaction."""


def migrate(connection: Connection, version: int) -> None:
    """Brings an older store to `VERSION`, inside the caller's transaction."""
    for step in range(version, VERSION):
        MIGRATIONS[step](connection)
    connection.pragma("user_version", VERSION)
