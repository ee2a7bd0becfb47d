"""The reference page of the command, made from the command.

    python -m tests.docs.command_page > docs/reference/command.md

What each command says of itself is its `--help`; what it prints in the examples is what it prints. Here stand the words
around them, and the shape of what `--json` prints.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal

import attrs
import click
from click.testing import CliRunner

from eventstore import (
    Compaction,
    ImportReport,
    RecoveryReport,
    SearchResult,
    SessionInfo,
    VerifyReport,
)
from eventstore.cli.app import TABLE, app
from eventstore.measuring import FileStats, SessionStats, Share, StoreStats
from eventstore.shape import Shape
from tests.docs.pages import ROOT

PAGE: Final = ROOT / "docs" / "reference" / "command.md"
EXPORT: Final = ROOT / "tests" / "exchange" / "samples" / "three-conversations.json"


def fields(kind: Any) -> tuple[str, ...]:
    """The names of a result's fields."""
    return tuple(field.name for field in attrs.fields(kind))


@attrs.frozen
class Json:
    """What `--json` prints: a line for each of something, or one object; its keys, and what is in them.

    `keys` are in every one; `other` are the keys of another kind that the command prints, too.
    """

    kind: Literal["line", "object"]
    what: str
    keys: tuple[str, ...]
    about: str = ""
    other: tuple[str, ...] = ()


_SHARE = ", ".join(f"`{name}`" for name in fields(Share))

JSON: Final[dict[str, Json]] = {
    "import": Json(
        "line",
        "conversation of a file",
        ("file", "session_id", *fields(ImportReport)),
        "An [ImportReport](messages.md#importreport) with its file and its session. `session_id` is null where it "
        "tells of the files that were left out of a folder or an archive.",
    ),
    "sessions": Json("line", "session", fields(SessionInfo), "A [SessionInfo](messages.md#sessioninfo)."),
    "tree": Json(
        "object",
        "session",
        ("session_id", "active_leaf", "compactions", "messages"),
        "`active_leaf` is an id, or null in an empty session. `compactions` is a list of every summary, as "
        "[Compaction](messages.md#compaction). `messages` is a list of [MessageInfo](messages.md#messageinfo), parents "
        "first, each with `on_active_path`.",
    ),
    "show": Json("line", "message", ("id", "role", "parts"), "A [Message](messages.md#message), with all its keys."),
    "search": Json("line", "message found", fields(SearchResult), "A [SearchResult](messages.md#searchresult)."),
    "stats": Json(
        "object",
        "store",
        fields(StoreStats),
        f"`shape` has {', '.join(f'`{name}`' for name in fields(Shape))}: messages that more than one follows, and the "
        f"messages of the longest path. `roles` and `models` are lists with {_SHARE}, most messages first. `file` has "
        f"the bytes of {', '.join(f'`{name}`' for name in fields(FileStats))}. `retain` is what the store does with "
        "replaced texts.",
        fields(SessionStats),
    ),
    "tail": Json(
        "line",
        "event",
        ("seq", "session_id", "recorded_at", "type"),
        "An [event](events.md#the-kinds), with the fields of its kind.",
    ),
    "select": Json("object", "session", ("session_id", "active_leaf", "active_leaf_before")),
    "delete": Json(
        "object",
        "session",
        ("session_id", "whole_session", "deleted", "messages"),
        "`deleted` is false after a dry run. `messages` is a list of [MessageInfo](messages.md#messageinfo) of "
        "what goes.",
    ),
    "compact": Json(
        "object",
        "session",
        ("session_id", "tokens_before", "tokens_after", "compaction"),
        f"`compaction` has {', '.join(f'`{name}`' for name in fields(Compaction))}: a "
        "[Compaction](messages.md#compaction). It is null when there was nothing to compact.",
    ),
    "verify": Json("object", "store", fields(VerifyReport), "A [VerifyReport](messages.md#verifyreport)."),
    "rebuild": Json("object", "store", ("events",)),
    "backup": Json("object", "copy", ("path", "bytes")),
    "prune": Json("line", "session that goes", fields(SessionInfo), "A [SessionInfo](messages.md#sessioninfo)."),
    "scavenge": Json("object", "store", ("dropped", "bytes_before", "bytes"), "`dropped` counts old versions."),
    "recover": Json("object", "copy", fields(RecoveryReport), "A [RecoveryReport](messages.md#recoveryreport)."),
}
"""The shapes, by command. A test holds them against what the commands print."""

NOTES: Final[dict[str, str]] = {
    "demo": (
        "A conversation about the stars is branched further, a branch is selected, a reply streams in, a list follows, "
        "and the file is opened again. It is told step by step."
    ),
    "import": (
        "See [Bring in conversations from elsewhere](../howto/import.md). A conversation becomes the "
        "session `<kind>:<its id>`; what `export` wrote keeps its name."
    ),
    "export": (
        "See [Take conversations out](../howto/exchange.md#take-conversations-out). In Markdown, what a message says "
        "stands in a quote, or in a fence where it holds HTML; inputs and outputs of tools over 400 characters are "
        "shortened; files are named, without their content; control characters are spelt out. With several sessions, "
        "one document follows the other."
    ),
    "search": (
        "What a query means: [Sessions.search](sessions.md#search). The command makes no index, since it opens the "
        "store read-only: if no program has searched the store lately, each call takes "
        "[the time of making one](../howto/search.md#what-it-costs)."
    ),
    "stats": (
        "Of a store, messages are not read: it takes the sums of its sessions, a step of an index for each message, "
        "and a look at each page of the file. Of a session, its messages are read for their models."
    ),
    "tail": "`--follow` goes on until it is interrupted, which is exit status 130.",
    "delete": (
        "See [Look back, and delete for good](../howto/time.md). `--dry-run` opens the store read-only. A message that "
        "was appended under a branch after it was shown stays, and follows what is left."
    ),
    "compact": (
        "The command runs in a shell, with the [prompt](messages.md#create_compact_function) on its standard input and "
        "the summary on its standard output. A status other than 0, or a blank output, is a failure: nothing is "
        "changed, and `compact` ends with status 1. With nothing to compact it ends with 0."
    ),
    "verify": "See [Check and repair a store](../howto/verify.md).",
    "rebuild": "See [Check and repair a store](../howto/verify.md#the-tables-are-wrong).",
    "backup": "See [Keep a file in order](../howto/housekeeping.md#copy-a-store-that-is-in-use).",
    "prune": "See [Keep a file in order](../howto/housekeeping.md#delete-what-nobody-has-used-for-long).",
    "scavenge": "See [Keep a file in order](../howto/housekeeping.md#stop-keeping-every-version).",
    "recover": "See [Check and repair a store](../howto/verify.md#the-log-is-wrong).",
}

INTRODUCTION: Final = """\
# The command

`eventstore` looks into stores and brings conversations in and out. It comes with
`pip install 'eventstore-sessions[cli]'`.
"""

RULES: Final = """\
**Which store.** Each takes `--db PATH`. Without it the variable `EVENTSTORE_DB` counts, then `conversations.db` in the
working folder. Only `import` and `demo` make a store there; the commands that only look open it read-only.

**Messages** are named by their id, or by how it begins, where only one begins so.

**Exit status.** 0: done. 1: it failed. 2: misused. 130: interrupted by Ctrl-C. After 1 and 2 standard error has a line
that says why, except for faults that `verify` and `recover` find: their output names those. A pipe whose reader has
gone ends a command in silence, with status 1.

**For programs.** `--json` prints JSON in ASCII: a line for each thing of a list, or one object. What isn't JSON is made
safe for a terminal: control characters that a message holds aren't obeyed, but spelt out.

**On a terminal** there are colours (not with `NO_COLOR`), progress on standard error, and lines are cut to its width,
where they hold nothing that the next command needs. In a pipe nothing is cut, unless `COLUMNS` says how wide the reader
is.

**Completion** in a shell: `eval "$(_EVENTSTORE_COMPLETE=bash_source eventstore)"` (or `zsh_source`, `fish_source`).
"""

EXAMPLES: Final = (
    ("A small export, brought in, looked at, and brought in again:", "import conversations.json"),
    ("", "tree chatgpt:garden"),
    ("", "show chatgpt:soup"),
    ("", "import conversations.json --skipped"),
    ("Another branch becomes the active one; one that nobody needs goes:", "select chatgpt:garden autumn"),
    ("", "delete chatgpt:garden --branch yew --dry-run"),
    ("", "verify"),
)


def printed(*words: str) -> str:
    """What a call prints. Raises `AssertionError` if it fails."""
    done = CliRunner().invoke(app, words, prog_name="eventstore", env={"COLUMNS": "100", "EVENTSTORE_DB": None})
    assert done.exit_code == 0, done.output
    return done.stdout


def _text(words: str) -> str:
    """A paragraph in lines."""
    return textwrap.fill(words, 120, break_long_words=False, break_on_hyphens=False) + "\n"


def _block(command: str, text: str) -> Iterator[str]:
    yield f"```sh\neventstore {command}\n```\n"
    yield f"```text\n{text.strip(chr(10))}\n```\n"


def _command(name: str) -> Iterator[str]:
    yield f"## {name}\n"
    if name in NOTES:
        yield _text(NOTES[name])
    yield from _block(f"{name} --help", printed(name, "--help"))
    shape = JSON.get(name)
    if shape is not None:
        each = "a line for each" if shape.kind == "line" else "one object for the"
        keys = ", ".join(f"`{key}`" for key in shape.keys)
        yield _text(f"`--json`: {each} {shape.what}, with {keys}. {shape.about}")
        if shape.other:
            yield _text(f"For a session: {', '.join(f'`{key}`' for key in shape.other)}.")


def _contents() -> Iterator[str]:
    yield "| | command | does |\n| --- | --- | --- |\n" + "".join(
        f"| {purpose if number == 0 else ''} | [{entry.name}](#{entry.name}) | {entry.does} |\n"
        for purpose, entries in TABLE.items()
        for number, entry in enumerate(entries)
    )


def pieces() -> Iterator[str]:
    """The page, a paragraph, table or block at a time, each with its line's end."""
    yield INTRODUCTION
    yield from _contents()
    yield RULES
    yield from _block("--help", printed("--help"))
    for name in app.list_commands(click.Context(app)):
        yield from _command(name)
    yield "## Example\n"
    for words, command in EXAMPLES:
        if words:
            yield f"{words}\n"
        yield from _block(command, printed(*shlex.split(command)))


def page() -> str:
    """The whole page. It is made in a fresh working folder."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(EXPORT, Path(folder) / "conversations.json")
        os.chdir(folder)
        try:
            return "\n".join(pieces())
        finally:
            os.chdir(before)


if __name__ == "__main__":
    sys.stdout.write(page())
