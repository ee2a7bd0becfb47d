"""What the demo is seen on: two columns that change in place on a terminal, plain text anywhere else.

On the left the tree, read from the store whenever it is drawn; on the right the list as it is.
"""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from eventstore import Message, Session
from eventstore.cli import drawing, render
from eventstore.cli.screen import Screen

READING_SECONDS = 0.7  # before what a caption announces happens
LEAST_SIDE_BY_SIDE = 70  # columns of a terminal: in a narrower one the list stands below
LAST_IN_LIST = 4  # entries shown there
CAPTION_LINES = 3
NEWEST_LINES = 4


class Stage:
    """Shows a session and a list of its messages while both change."""

    def __init__(self, screen: Screen, session: Session, messages: Sequence[Message]) -> None:
        self._screen = screen
        self._session = session
        self._messages = messages
        self._caption = ""
        self._number = 0
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self._screen.is_terminal:
            self._live = Live(console=self._screen.console, auto_refresh=False, vertical_overflow="crop")
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()
        elif error is None:
            self._print_state()

    def scene(self, caption: str) -> None:
        """Ends the scene before, and announces what comes next."""
        if self._live is None and self._number:
            self._print_state()
        self._number += 1
        self._caption = f"{self._number}. {caption}"
        if self._live is None:
            self._screen.print(("\n" if self._number > 1 else "") + self._caption)
        self.draw()
        self.pause(READING_SECONDS)

    def draw(self) -> None:
        """Shows the present state; off a terminal, a scene's last one is printed when it ends."""
        if self._live is None:
            return
        tree, listed = list(self._tree_rows()), list(self._list_rows())
        columns: Table | Group
        if self._screen.console.width < LEAST_SIDE_BY_SIDE:
            columns = Group(_column("tree", tree), _column("list", listed[-LAST_IN_LIST:]))
        else:
            columns = Table.grid(expand=True, padding=(0, 1))
            columns.add_column(ratio=3)
            columns.add_column(ratio=2)
            columns.add_row(_column("tree", tree), _column("list", listed))
        caption = self._of_height(self._caption, CAPTION_LINES, "bold")
        newest = self._of_height(f"messages[-1]: {render.preview(self._messages[-1])}", NEWEST_LINES, "")
        self._live.update(Group(caption, columns, Text(), newest), refresh=True)

    def pause(self, seconds: float) -> None:
        """Gives a person time to see it."""
        if self._live is not None:
            time.sleep(seconds)

    # ---- what is shown

    def _of_height(self, text: str, height: int, style: str) -> Text:
        """A paragraph of always the same height, so that nothing below it jumps."""
        lines = textwrap.wrap(self._screen.one_line(text), self._screen.width or 80)[:height]
        return Text("\n".join(lines + [""] * (height - len(lines))), style=style)

    def _tree_rows(self) -> Iterator[Text]:
        leaf = self._session.get_latest_leaf()
        path = dict.fromkeys(info.id for info in self._session.get_history_row_stats())
        infos = self._session.tree()
        for row in drawing.rows(infos, path, None if leaf is None else leaf["id"]):
            yield render.row_text(self._screen, row, self._session.get_message(row.info.id), len(row.info.id))

    def _list_rows(self) -> Iterator[Text]:
        for position, message in enumerate(self._messages):
            text = Text(f"{position:2} ", style="dim")
            text.append(self._screen.name(message["id"]), style="not dim")
            text.append(f" {render.cut(self._screen, render.preview(message))}", style="not dim")
            yield text

    def _print_state(self) -> None:
        for title, rows in (("the tree", self._tree_rows()), ("the list", self._list_rows())):
            self._screen.print(f"\n{title}:")
            for row in rows:
                line = Text("  ")
                line.append_text(row)
                self._screen.print(line, crop=True)


def _column(title: str, rows: Sequence[Text]) -> Table:
    table = Table(box=None, show_header=True, expand=True, padding=0, header_style="bold underline")
    table.add_column(title, no_wrap=True, overflow="ellipsis")
    for row in rows:
        table.add_row(row)
    return table
