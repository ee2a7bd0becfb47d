"""Claude Code's transcripts: JSON Lines, a row each, one file or several for a session; or `{"loglines": [rows]}`.

**A row of type `user` or `assistant` becomes a message**, its id its `uuid`; other rows hold none and are left out.

- Its parent is `parentUuid`. Rewinds are branches. In a session where no row names a parent the rows follow each
  other; where some do, a row without that field hangs on the one before it. Agents' side chains are branches of the
  session, from roots of their own, and are never the current one.
- **An answer in several rows** (one `message.id`, each row hanging on the one before) is one message, with the id of
  its first row. When a later import finds more rows of it, it is brought up to date.
- A tool's result comes in a row of its own and stays a message of its own, with the role `tool`: the next row hangs on
  it, a rewind may part there, and a session that is imported while a tool runs gets its result later. Its part repeats
  the call's `input`. Results of parallel calls, which the file hangs side by side, follow each other.
- **Compactions become summaries** from the first message of the path to the last one before: a `compact_boundary` with
  the row marked `isCompactSummary`, which isn't a message then; or a row of type `summary` in the tree, or behind the
  row that its `leafUuid` names, if the conversation goes on after it (otherwise it is a title). What follows hangs on
  what was there before. Messages that the compaction preserved aren't covered.
- Times are the rows' `timestamp`. The metadata has the `model`, and under `claude-code` all else that the row says;
  `cwd`, `version` and the like only where they differ from the session's.

The session is `claude-code:<sessionId>`; its title the person's, else the generated one, else the summary. A file may
hold rows of several sessions. A fork repeats the rows of another session in a file of its own, with the same ids: it is
a session of its own with messages of its own. Files of one session are read together, agents' last; a row that is in
several of them is one message.

A message without an id gets one (`identities`). Named in `skipped`: damaged lines and values that are no rows; rows
that hold no message; an id that comes twice with different contents, of which the second gets another; and what
`conversation` and `tools` mend. The current branch ends at the last row that is no agent's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import attrs

from eventstore.exchange.claude_code_files import first_session, reading, transcripts
from eventstore.exchange.claude_code_rows import FORMAT
from eventstore.exchange.claude_code_tree import conversation
from eventstore.exchange.conversation import Conversation, Found
from eventstore.exchange.elements import first_objects
from eventstore.exchange.sources import digest_of

__all__ = ["FORMAT", "GATHERS", "find", "read", "recognises"]

GATHERS = True
"""Several files may belong to one session."""

_MARKS = ("uuid", "sessionId", "timestamp", "parentUuid")


def recognises(head: bytes) -> bool:
    """Whether a file that begins with `head` looks like such a transcript."""
    return any(_is_row(found) for found in first_objects(head))


def _is_row(found: dict[str, Any]) -> bool:
    kind = found.get("type")
    if kind in ("user", "assistant"):
        return "message" in found and any(mark in found for mark in _MARKS)
    return (
        ("loglines" in found and found["loglines"] != [])
        or (kind == "summary" and "leafUuid" in found)
        or (isinstance(kind, str) and "sessionId" in found and any(mark in found for mark in ("uuid", "parentUuid")))
    )


def read(path: str | os.PathLike[str]) -> Iterator[Conversation]:
    """The sessions of one file. Raises `CannotOpen` if it can't be read, `InvalidExport` if an archive is damaged."""
    for found in find([path]):
        yield from found.read()


def find(paths: Sequence[str | os.PathLike[str]]) -> Iterator[Found]:
    """The sessions of several files, unread; the files of one session are put together. Raises as `read`."""
    groups: dict[str, list[tuple[bool, int]]] = {}
    for number, path in enumerate(paths):
        session, is_agents = first_session(path)
        groups.setdefault(f"#{number}" if session is None else session, []).append((is_agents, number))
    for session, group in groups.items():
        chosen = [paths[number] for _, number in sorted(group)]
        digest = digest_of(chosen)
        session_id = None if session.startswith("#") else f"{FORMAT}:{session}"
        yield Found(session_id, (digest,), partial(_conversations, chosen, digest))


def _conversations(paths: Sequence[str | os.PathLike[str]], digest: str) -> Iterator[Conversation]:
    with reading(paths) as files:
        sessions = transcripts(paths, files)
        for transcript in sessions:
            yield attrs.evolve(conversation(transcript), digest=digest if len(sessions) == 1 else None)
