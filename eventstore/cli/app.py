"""The command, put together: which subcommands there are, what they are for, and where each is defined."""

from __future__ import annotations

from typing import Final

import click

from eventstore import __version__
from eventstore.cli.groups import Entry, Group

TABLE: Final[dict[str, tuple[Entry, ...]]] = {
    "Bring in, take out": (
        Entry("import", "eventstore.cli.transfer:import_files", "Bring conversations in."),
        Entry("export", "eventstore.cli.exporting:export", "Write sessions to a file or to standard output."),
        Entry("demo", "eventstore.cli.demo:demo", "See a conversation branch, stream and be followed."),
    ),
    "Look": (
        Entry("sessions", "eventstore.cli.reading:sessions", "List the sessions of a store."),
        Entry("tree", "eventstore.cli.reading:tree", "Draw the branches of a session."),
        Entry("show", "eventstore.cli.reading:show", "Show the messages of a session."),
        Entry("search", "eventstore.cli.searching:search", "Find messages by the words in their text."),
        Entry("stats", "eventstore.cli.counting:stats", "Count what a store or a session holds."),
        Entry("tail", "eventstore.cli.tailing:tail", "Show the events of a store."),
    ),
    "Change": (
        Entry("select", "eventstore.cli.changing:select", "Make the path to a message the active one."),
        Entry("delete", "eventstore.cli.changing:delete", "Delete a session, a branch, or messages."),
        Entry("compact", "eventstore.cli.compacting:compact", "Let a summary stand for the middle of a session."),
    ),
    "Take care of the file": (
        Entry("verify", "eventstore.cli.checking:verify", "Check a store against itself."),
        Entry("rebuild", "eventstore.cli.housekeeping:rebuild", "Make the tables that reads use anew from the log."),
        Entry("backup", "eventstore.cli.housekeeping:backup", "Copy a store into a new file, while others use it."),
        Entry("prune", "eventstore.cli.housekeeping:prune", "Delete the sessions that nobody has written to for long."),
        Entry(
            "scavenge",
            "eventstore.cli.housekeeping:scavenge",
            "Take away all that was replaced or deleted and is still kept.",
        ),
        Entry(
            "recover",
            "eventstore.cli.recovering:recover",
            "Write what can be read of a damaged store into a new file.",
        ),
    ),
}
"""The subcommands by what they are for. A test holds the words here against each command's own."""


@click.group("eventstore", cls=Group, table=TABLE, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "--version", prog_name="eventstore")
def app() -> None:
    """Conversations in a file: look into a store, bring conversations in and out.

    Each command takes --db PATH; without it EVENTSTORE_DB counts, then conversations.db in the working folder.
    """
