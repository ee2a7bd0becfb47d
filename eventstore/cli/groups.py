"""The group that holds the subcommands: found by a table, loaded when they are run, listed by purpose.

A command is imported only when it is asked for, so that `eventstore --help`, and every command, loads no other's
libraries. How a command ends is decided here too: see `endings`.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import click

from eventstore.cli.endings import told

NARROW = 52  # columns of a terminal
LEAST_WIDTH = 20


class Entry(NamedTuple):
    """A subcommand before it is loaded: its name, where it is defined (`module:attribute`), and what it does."""

    name: str
    place: str
    does: str


class Group(click.Group):
    """Subcommands by a table: purpose -> entries."""

    def __init__(self, *arguments: Any, table: Mapping[str, Sequence[Entry]], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._table = table
        self._entries = {entry.name: entry for entries in table.values() for entry in entries}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names, purpose by purpose."""
        return list(self._entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A subcommand, loaded now."""
        entry = self._entries.get(cmd_name)
        if entry is None:
            return None
        module, _, attribute = entry.place.partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """A section for each purpose."""
        width = max(map(len, self._entries))
        for purpose, entries in self._table.items():
            with formatter.section(purpose):
                formatter.write_dl([(entry.name.ljust(width), entry.does) for entry in entries])

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Reads the arguments in front of the subcommand's name."""
        columns = shutil.get_terminal_size().columns
        if columns < NARROW:  # click wraps at 50 columns and no less
            options.setdefault("terminal_width", max(columns - 1, LEAST_WIDTH))
        with told():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the subcommand. What can't be written is told here, and not when the process has ended."""
        with told():
            found = super().invoke(ctx)
            sys.stdout.flush()
            return found
