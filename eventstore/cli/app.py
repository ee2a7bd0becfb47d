"""The command, put together: each of its subcommands is defined in the module of its group."""

from __future__ import annotations

import click

from eventstore import __version__
from eventstore.cli.checking import verify
from eventstore.cli.compacting import compact
from eventstore.cli.demo import demo
from eventstore.cli.frame import App
from eventstore.cli.housekeeping import backup, prune, rebuild, scavenge
from eventstore.cli.reading import sessions, show, tree
from eventstore.cli.recovering import recover
from eventstore.cli.searching import search
from eventstore.cli.tailing import tail
from eventstore.cli.transfer import export, import_files

CARE = (verify, rebuild, backup, prune, scavenge, recover)
COMMANDS = (demo, import_files, export, sessions, tree, show, search, tail, compact, *CARE)


@click.group(cls=App, commands=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "--version", prog_name="eventstore")
def app() -> None:
    """Conversations in a file: look into a store, bring conversations in and out."""
