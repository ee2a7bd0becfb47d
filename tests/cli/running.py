"""The command, run in this process and as a process of its own, always with the same environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from eventstore import Sessions
from eventstore.cli.app import app

_OURS = ("EVENTSTORE_DB", "COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "PYTHONIOENCODING")
COMMAND = [sys.executable, "-m", "eventstore.cli"]


def message(message_id: str, text: str = "Hello", role: str = "user") -> dict[str, Any]:
    return {"id": message_id, "role": role, "parts": [{"type": "text", "text": text}]}


def run(*arguments: object, input: bytes | None = None, **environment: str) -> Result:
    """The command in this process. What isn't an end by `sys.exit` is raised here."""
    settings: dict[str, str | None] = dict.fromkeys(_OURS)
    settings.update(environment)
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=input, env=settings)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def json_lines(text: str) -> list[Any]:
    """The values of JSON Lines."""
    return [json.loads(line) for line in text.splitlines()]


def environment(**given: str) -> dict[str, str]:
    """This process's environment, without what would change an output."""
    kept = {key: value for key, value in os.environ.items() if key not in _OURS}
    return {**kept, "PYTHONUTF8": "0", "LC_ALL": "C.UTF-8", "TERM": "xterm", **given}


def process(
    *arguments: object, cwd: Path, given: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """The command as a process, with pipes."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        cwd=cwd,
        env=environment(**(given or {})),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )


def make_store(path: Path, name: str = "chat", messages: Iterable[dict[str, Any]] = ()) -> Path:
    """A store with one session."""
    with Sessions(path, durability="normal") as sessions:
        sessions.session(name).append_messages(messages)
    return path


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
