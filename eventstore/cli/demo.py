"""The command `demo`: a conversation that ships with the package, branched further, streamed, and followed by a list.

It never changes a session that was there: without a store named, it makes one in a temporary folder and removes it;
in a store that is named, each run makes a session of its own, `demo`, `demo-2`, …
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from importlib.resources import files
from typing import Any

import click

from eventstore import ImportRow, Message, Session, Sessions
from eventstore.cli import render
from eventstore.cli.frame import at_store, database
from eventstore.cli.screen import Screen
from eventstore.cli.stage import Stage
from eventstore.exchange.conversation import Conversation
from eventstore.exchange.store import store

QUESTION: Message = {
    "id": "sky-14",
    "role": "user",
    "parts": [{"type": "text", "text": "Found it! Three dots! And what are the dark stripes on Jupiter?"}],
}
ANSWER = (
    "Through binoculars you won't see them, but they are there: belts of cloud, each as wide as the Earth, racing "
    "around the planet in opposite directions. A small telescope shows two of them. Until then: a striped sock over a "
    "tennis ball is a fair model."
)
WORDS_AT_ONCE = 2


@click.command()
@database("Run it in this store, in a new session, instead of a temporary one.", default=None)
def demo(path: str | None) -> None:
    """See a conversation branch, stream and be followed.

    Without --db the store is a temporary one. With it, each run adds a session of its own (demo, demo-2, ...) and
    touches no other.
    """
    screen = Screen()
    with ExitStack() as stack:
        if path is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="eventstore-demo-"))
            file = os.path.join(folder, "demo.db")
        else:
            file = path
        name = _perform(file, screen)
        _reopen(file, name, screen)
    for line in _what_next(path, name):
        screen.print(line)


def conversation(name: str) -> Conversation:
    """The conversation that ships with the package."""
    found: dict[str, Any] = json.loads((files("eventstore.cli") / "demo.json").read_text("utf-8"))
    rows = tuple(
        ImportRow(row["message"], parent_id=row["parent"], created_at=datetime.fromisoformat(row["at"]))
        for row in found["messages"]
    )
    return Conversation(name, {"title": found["title"]}, rows, found["current"])


def _free_name(sessions: Sessions) -> str:
    taken = {info.session_id for info in sessions.list_sessions(prefix="demo")}
    number = 1
    while (name := f"demo-{number}" if number > 1 else "demo") in taken:
        number += 1
    return name


def _perform(file: str, screen: Screen) -> str:
    # The one place where `eventstore` knows `projections`: this command shows both packages at work, and is no part of
    # what anything else stands on. Inside the function, so that importing the command doesn't load it.
    from projections import mirror

    with Sessions(file) as sessions:
        name = _free_name(sessions)
        store(sessions, conversation(name))
        session = sessions.session(name)
        messages = session.get_history()
        with (
            Stage(screen, session, messages) as stage,
            mirror(session, messages, on_applied=lambda *_: stage.draw()),
        ):
            stage.scene("A conversation with two branch points, and a list of its active path that a mirror follows.")
            stage.scene("Branch: append_message(question, parent_id='sky-06'). The list gets what is appended.")
            session.append_message(QUESTION, parent_id="sky-06")
            stage.pause(0.6)
            stage.scene("A reply streams in: upsert_message(reply), again and again while it grows.")
            for growing in _growing_answer():
                session.upsert_message(growing)
                stage.pause(0.03)
            stage.scene(
                "Back to the first branch: select_leaf('sky-13'). A mirror repeats writes and not selections, so the "
                "list is filled again: messages[:] = session.get_history()."
            )
            session.select_leaf("sky-13")
            messages[:] = session.get_history()
            stage.draw()
            stage.pause(0.6)
        return name


def _growing_answer() -> Iterator[dict[str, Any]]:
    words = ANSWER.split(" ")
    for end in range(0, len(words) + WORDS_AT_ONCE, WORDS_AT_ONCE):
        state = "done" if end >= len(words) else "streaming"
        part = {"type": "text", "text": " ".join(words[:end]), "state": state}
        yield {"id": "sky-15", "role": "assistant", "parts": [part]}


def _reopen(file: str, name: str, screen: Screen) -> None:
    with Sessions(file, read_only=True) as sessions:
        session = sessions.session(name)
        report = sessions.verify()
        events = list(session.events())
        imported = [event for event in events if event.type == "import"]
        with sessions.at(imported[-1].seq) as past:
            before = past.session(name).info().messages
        screen.print()
        screen.print("Closed and opened again: it is all there.", crop=False)
        for line in (
            f"{_counted(session)}, from {render.count(len(events), 'event')} in its log",
            f"the store as it was before the branch: {render.count(before, 'message')}",
            f"checked against itself: {'no problems' if report.ok else '; '.join(report.problems)}",
        ):
            screen.print(f"  {line}")


def _counted(session: Session) -> str:
    leaves = render.count(len(session.get_leaves()), "leaf", "leaves")
    return f"{render.count(session.info().messages, 'message')}, {leaves}"


def _what_next(path: str | None, name: str) -> Iterator[str]:
    yield ""
    if path is None:
        yield "That store was a temporary one, and is gone. To keep one and look around in it:"
        yield "  eventstore demo --db demo.db"
        db = " --db demo.db"
    else:
        yield "To look around in it:"
        db = at_store(path)
    yield f"  eventstore tree {name}{db}"
    yield f"  eventstore show {name} --leaf sky-15{db}"
    yield f"  eventstore search grape{db}"
    yield f"  eventstore import FILE{db}  # your export of ChatGPT, Claude.ai, ..."
