"""Every command in one table, for the laws that hold for all of them: a command without an entry fails the tests.

Arguments are put together over a store with the session `SESSION`, whose messages are `IDS`, the second with a branch
beside it. A word between braces is filled in: `{file}` is an export that can be imported, `{out}` a file's name,
`{new}` another one each time.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any, Literal

import attrs

from eventstore import Sessions

SESSION = "a talk"
IDS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


@attrs.frozen
class Command:
    """How a command is called: rightly, and wrongly. What it does to the file, and whether it knows `--json`."""

    right: tuple[tuple[str, ...], ...]
    wrong: tuple[tuple[str, ...], ...] = ()
    file: Literal["reads", "writes", "makes"] = "reads"
    json: Literal["lines", "object", None] = "lines"
    names_session: bool = True  # its first argument is a session
    silent: tuple[tuple[str, ...], ...] = ()  # right calls that print nothing with `--json`
    tells_damage: bool = False  # a damaged file is what it is for: what it finds is its output, and status 1
    mends: bool = False  # it may read a file that no other command opens


COMMANDS: dict[str, Command] = {
    "import": Command((("{file}",),), ((),), file="makes", names_session=False),
    "export": Command(
        ((SESSION,), (SESSION, "--format", "messages"), (SESSION, "--format", "markdown"), (SESSION, "-o", "{out}")),
        (
            (),
            (SESSION, "--all"),
            (SESSION, "--format", "pdf"),
            (SESSION, "--compacted"),
            (SESSION, "--leaf", "first"),
            ("--all", "--format", "messages"),
            ("--all", "--format", "markdown", "--leaf", "first"),
        ),
        json=None,
    ),
    "demo": Command(((),), (("too", "many"),), file="makes", json=None, names_session=False),
    "sessions": Command(((),), ((SESSION,),), names_session=False),
    "tree": Command(((SESSION,),), ((),), json="object"),
    "show": Command(
        ((SESSION,), (SESSION, "--all"), (SESSION, "--compacted"), (SESSION, "--leaf", "second")),
        ((), (SESSION, "--all", "--compacted"), (SESSION, "--all", "--leaf", "first")),
    ),
    "search": Command(
        (("text",), ("nowhere",)),
        ((), ("text", "--limit", "-1")),
        names_session=False,
        silent=(("nowhere",),),
    ),
    "stats": Command(((), (SESSION,)), ((SESSION, SESSION),), json="object"),
    "tail": Command(((), ("--after", "0")), (("--after", "x"), ("--after", "-1")), names_session=False),
    "select": Command(((SESSION, "second"),), ((), (SESSION,)), file="writes", json="object"),
    "delete": Command(
        (
            (SESSION, "--dry-run"),
            (SESSION, "--branch", "second", "--dry-run"),
            (SESSION, "third", "--yes"),
            (SESSION, "--branch", "second", "--yes"),
            (SESSION, "--yes"),
        ),
        ((), (SESSION,), (SESSION, "first", "--branch", "second", "--yes")),
        file="writes",
        json="object",
    ),
    "compact": Command(
        ((SESSION, "--with", "echo shorter", "--keep", "0"),),
        ((), (SESSION,), (SESSION, "--with", "cat", "--keep", "-1")),
        file="writes",
        json="object",
    ),
    "verify": Command(((),), ((SESSION,),), json="object", names_session=False, tells_damage=True),
    "rebuild": Command(((),), ((SESSION,),), file="writes", json="object", names_session=False),
    "backup": Command((("{new}",),), ((),), json="object", names_session=False),
    "prune": Command(
        (("--idle", "0s", "--dry-run"), ("--idle", "90d", "--yes"), ("--idle", "0s", "--yes")),
        ((), ("--idle", "0s"), ("--idle", "soon", "--yes")),
        file="writes",
        names_session=False,
        silent=(("--idle", "90d", "--yes"),),
    ),
    "scavenge": Command(((),), ((SESSION,),), file="writes", json="object", names_session=False),
    "recover": Command((("{new}",),), ((),), json="object", names_session=False, tells_damage=True, mends=True),
}

CALLS: tuple[tuple[str, ...], ...] = tuple(
    (name, *arguments) for name, command in COMMANDS.items() for arguments in command.right
)
JSON_CALLS = tuple((*call, "--json") for call in CALLS if COMMANDS[call[0]].json is not None)


_NUMBERS = count()


def fill(folder: Path, words: tuple[str, ...]) -> list[str]:
    """The words with what stands between braces filled in."""
    names = {"file": "file.jsonl", "out": "out", "new": f"new-{next(_NUMBERS)}"}
    filled = {key: folder / name for key, name in names.items()}
    return [word.format(**filled) if "{" in word else word for word in words]


def needs_a_file(call: tuple[str, ...]) -> bool:
    """Whether a call reads or makes a file beside the store."""
    return any("{" in word for word in call)


def prints(call: tuple[str, ...]) -> bool:
    """Whether a call prints anything."""
    silent = "--json" in call and call[1:-1] in COMMANDS[call[0]].silent
    return "{out}" not in call and not silent


def talk(path: Path, texts: tuple[str, ...] = ("text",)) -> None:
    """A store with the session, and every kind of part in it; the texts stand wherever a text can."""
    with Sessions(path, durability="normal") as sessions:
        session = sessions.session(SESSION)
        for number, message_id in enumerate(IDS):
            session.append_message(_message(message_id, texts[number % len(texts)]))
        session.append_message(_message("beside", texts[0]), parent_id="first")
        session.select_leaf("tenth")
        session.set_metadata({"title": texts[0], "model": texts[-1]})
        session.add_compaction((texts[0].strip() and texts[0]) or "summary", "second", "third")


def _message(message_id: str, text: str) -> dict[str, Any]:
    return {
        "id": message_id,
        "role": "assistant",
        "parts": [
            {"type": "text", "text": text},
            {"type": "reasoning", "text": text},
            {"type": f"tool-{text}", "input": {"text": text}, "output": text, "errorText": text},
            {"type": "dynamic-tool", "toolName": text, "input": text},
            {"type": "file", "filename": text, "mediaType": f"image/{text}", "url": text},
            {"type": f"data-{text}", text or "key": text},
        ],
        "metadata": {"model": text},
    }
