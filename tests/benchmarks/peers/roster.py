"""Who is compared: the store, the floors, and the peers that are installed."""

from __future__ import annotations

import sqlite3
from importlib import import_module, metadata
from importlib.util import find_spec

import attrs

from tests.benchmarks.peers.contract import Store

_HERE = "tests.benchmarks.peers"


@attrs.frozen
class Entry:
    """A store by its short name: the module and class of its adapter, what it needs, and its heading in a table."""

    name: str
    adapter: str
    heading: str
    distribution: str
    needs: tuple[str, ...] = ()

    def load(self) -> type[Store]:
        """The adapter. Imports the peer."""
        module, _, name = self.adapter.partition(":")
        found: type[Store] = getattr(import_module(f"{_HERE}.{module}"), name)
        return found

    def missing(self) -> str | None:
        """Why it is left out: the module that isn't installed."""
        for module in self.needs:
            try:
                found = find_spec(module)
            except ModuleNotFoundError:
                found = None
            if found is None:
                return f"{module} isn't installed"
        return None

    def version(self) -> str:
        """As it is installed."""
        return metadata.version(self.distribution) if self.distribution else sqlite3.sqlite_version


OURS = Entry("ours", "ours:Ours", "eventstore", "eventstore-sessions")
FLOORS = (
    Entry("apsw", "floors:RawApsw", "raw apsw", "apsw"),
    Entry("sqlite3", "floors:RawSqlite3", "raw sqlite3", ""),
)
PEERS = (
    Entry("openai", "openai_agents:Plain", "OpenAI SQLite-Session", "openai-agents", ("agents",)),
    Entry("openai_advanced", "openai_agents:Advanced", "OpenAI Advanced-SQLite", "openai-agents", ("agents",)),
    Entry(
        "langgraph", "langgraph_saver:Saver", "LangGraph SqliteSaver", "langgraph-checkpoint-sqlite",
        ("langgraph.checkpoint.sqlite",),
    ),
    Entry("adk", "adk:Sqlite", "ADK Sqlite", "google-adk", ("google.adk", "aiosqlite", "sqlalchemy")),
    Entry(
        "adk_database", "adk:Database", "ADK Database", "google-adk",
        ("google.adk", "aiosqlite", "sqlalchemy", "greenlet"),
    ),
    Entry("agno", "agno_db:Runs", "Agno SqliteDb", "agno", ("agno", "sqlalchemy")),
    Entry(
        "langchain", "langchain_history:History", "LangChain SQL history", "langchain-community",
        ("langchain_community", "sqlalchemy"),
    ),
    Entry("llm", "llm_logs:Logs", "llm LogStore", "llm", ("llm", "sqlite_utils")),
    Entry("eventsourcing", "eventsourced:Recorder", "event-sourcing", "eventsourcing", ("eventsourcing",)),
)  # fmt: skip
EVERYONE = (OURS, *FLOORS, *PEERS)


def named(name: str) -> Entry:
    """The entry with this short name. Raises `LookupError`."""
    for entry in EVERYONE:
        if entry.name == name:
            return entry
    raise LookupError(f"nobody is called {name!r}; there are {', '.join(entry.name for entry in EVERYONE)}")
