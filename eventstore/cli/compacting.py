"""The command `compact`, and where summaries stand for those that show them."""

from __future__ import annotations

import shlex
import subprocess

import attrs
import click

from eventstore import Message, Session, create_compact_function
from eventstore.cli import render
from eventstore.cli.frame import (
    Failure,
    as_json,
    at_store,
    database,
    find_message,
    open_to_write,
    require_session,
)
from eventstore.cli.screen import Screen


@click.command()
@click.argument("session_id", metavar="SESSION")
@click.option(
    "--with",
    "command",
    required=True,
    metavar="CMD",
    help="What writes the summary: a shell command, given the prompt on its standard input.",
)
@click.option(
    "--keep",
    "keep",
    type=click.IntRange(min=0),
    default=20_000,
    show_default=True,
    metavar="TOKENS",
    help="Leave so much at the end as it is.",
)
@click.option("--leaf", "leaf", metavar="ID", help="Compact the path to this message.")
@database()
@as_json
def compact(session_id: str, command: str, keep: int, leaf: str | None, path: str, as_json: bool) -> None:
    """Let a summary stand for the middle of a session.

    For those who read it compacted; no message is deleted. The first three messages stay, the end stays, and earlier
    summaries are carried on. The command's output is the summary; when it fails, or says nothing, nothing is changed.
    With --json it is one object.
    """
    screen = Screen()
    with open_to_write(path) as store:
        session = require_session(store, path, session_id)
        leaf_id = None if leaf is None else find_message(session, leaf)
        session.on_compaction(create_compact_function(lambda prompt: _run(command, prompt), keep_recent_tokens=keep))
        before = session.token_estimate(leaf_id=leaf_id)
        done = session.compact(leaf_id=leaf_id)
        after = session.token_estimate(leaf_id=leaf_id)
        if as_json:
            compaction = None if done is None else done.to_dict()
            about = {"session_id": session_id, "tokens_before": before, "tokens_after": after}
            screen.json({**about, "compaction": compaction})
        elif done is None:
            screen.print("Nothing to compact.")
            screen.hint(f"The first three messages and some {keep:,} tokens at the end stay: see --keep.")
        else:
            ends = f"{screen.name(done.from_message_id)} to {screen.name(done.to_message_id)}"
            screen.print(f"Compacted {ends}: about {before:,} tokens became {after:,}.")
            name = screen.name(shlex.quote(session_id))
            screen.hint(f"Next: eventstore show {name} --compacted{at_store(path)}")


def _run(command: str, prompt: str) -> str:
    """What a shell command answers to a prompt."""
    # The shell is what the caller asked for: the command is their own.
    ended = subprocess.run(command, shell=True, input=prompt.encode(), stdout=subprocess.PIPE, check=False)  # noqa: S602
    if ended.returncode:
        raise Failure(f"the command ended with status {ended.returncode}; nothing was changed: {command}")
    summary = ended.stdout.decode(errors="replace").strip()
    if not summary:
        raise Failure(f"the command said nothing; nothing was changed: {command}")
    return summary


@attrs.frozen
class Covered:
    """A summary that the active path shows, and the messages of it that are left."""

    summary: Message
    message_ids: tuple[str, ...]

    def line(self, screen: Screen) -> str:
        """What it says, in short."""
        about = render.count(len(self.message_ids), "message")
        return f"{screen.pick('▤', '#')} summary of {about}: {render.cut(screen, render.preview(self.summary))}"


def covered(session: Session) -> list[Covered]:
    """The summaries of the active path, in order. Others may write between two reads: what is new isn't counted."""
    places = {info.id: place for place, info in enumerate(session.get_history_row_stats())}
    ids = list(places)
    shown = session.get_history()
    ends = {f"compaction_{each.id}": places.get(each.to_message_id) for each in session.get_compactions()}
    found: list[Covered] = []
    at = 0
    for index, message in enumerate(shown):
        if message["id"] in places:
            at = places[message["id"]] + 1
        elif message["id"] in ends:
            following = (places[each["id"]] for each in shown[index + 1 :] if each["id"] in places)
            # Several in a row may cover what lies there: then each up to its own end.
            end = next(following, len(ids))
            last = ends[message["id"]]
            own = ids[at : end if last is None else min(end, last + 1)]
            at += len(own)
            if own:
                found.append(Covered(message, tuple(own)))
    return found
