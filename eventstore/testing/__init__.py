"""For the tests of those who build on a store: hypothesis strategies, invariants and a state machine.

    from eventstore.testing import SessionMachine, check_invariants, writes

`messages()`, `conversations()` and `writes()` draw valid data of every shape, `check_invariants(sessions)` says what
doesn't hold in a store, and `SessionMachine` is a state machine to subclass with invariants of one's own. The store
never imports it: it needs hypothesis, which the extra `[testing]` brings.
"""

try:
    import hypothesis as _hypothesis  # noqa: F401  (asked for first, to say what to install)
except ModuleNotFoundError as error:  # pragma: no cover
    raise ModuleNotFoundError(
        "eventstore.testing needs hypothesis: install eventstore-sessions[testing]", name=error.name
    ) from error

from eventstore.testing.equality import json_text, same_json
from eventstore.testing.invariants import check_invariants
from eventstore.testing.machine import SessionMachine
from eventstore.testing.strategies import conversations, messages
from eventstore.testing.writes import (
    AddCompaction,
    Append,
    AppendMany,
    Clear,
    Delete,
    DeleteBranch,
    Grow,
    Import,
    ImportMany,
    RepeatAppend,
    SelectLeaf,
    SetMetadata,
    Update,
    Upsert,
    Write,
    writes,
)

__all__ = [
    "AddCompaction",
    "Append",
    "AppendMany",
    "Clear",
    "Delete",
    "DeleteBranch",
    "Grow",
    "Import",
    "ImportMany",
    "RepeatAppend",
    "SelectLeaf",
    "SessionMachine",
    "SetMetadata",
    "Update",
    "Upsert",
    "Write",
    "check_invariants",
    "conversations",
    "json_text",
    "messages",
    "same_json",
    "writes",
]
